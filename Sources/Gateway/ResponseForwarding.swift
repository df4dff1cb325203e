internal import HTTP1
internal import Policy

/// The response head as the client shall see it.
struct ResponseForwarding {
  /// Everything of the exchange that the answer depends on.
  struct Context {
    var route: Route
    var snapshot: Snapshot
    /// The request's canonical path, as the client sees it.
    var path: [UInt8]
    /// The keyring wrote a credential for this request.
    var injected: Bool
    var isNavigation: Bool
    var closes: Bool
    /// The client speaks HTTP/1.0 and asked to keep the connection.
    var saysKeepAlive: Bool
  }

  /// Appends the head; nil, or the refusal that is to be sent in its stead (nothing is appended then).
  static func write(
    _ head: ResponseHead, framing: BodyLength, options: ConnectionOptions, context: Context, to output: inout [UInt8]
  ) -> Refusal? {
    let start = output.count
    let isRejected = context.injected && (head.status == 401 || head.status == 407)
    MessageWriter.statusLine(head.status, reason: head.bytes.span.extracting(head.reason), to: &output)
    for field in head.fields {
      switch field.known {
      case .connection, .keepAlive, .proxyConnection, .te, .trailer, .transferEncoding, .upgrade, .contentLength,
        .proxyAuthenticate, .proxyAuthenticationInfo:
        continue
      case .wwwAuthenticate, .authenticationInfo:
        if context.injected { continue }
        MessageWriter.field(field, of: head.bytes, to: &output)
      case .setCookie:
        if context.route.credential == .pass || context.snapshot.headers(of: context.route).cookies == .pass {
          CookieRewriting.write(field, of: head.bytes, context: context, to: &output)
        }
      case .location, .contentLocation, .refresh, .link:
        guard PlaceRewriting.write(field, of: head.bytes, context: context, to: &output) else {
          output.removeSubrange(start...)
          return .redirectToSelf
        }
      default:
        if !options.nominated.isEmpty, options.names(field.name, of: head.bytes) { continue }
        if OriginHygiene.isStripped(head.bytes, field.name) { continue }
        MessageWriter.field(field, of: head.bytes, to: &output)
      }
    }
    MessageWriter.framing(framing, to: &output)
    if isRejected { writeRejection(head.status, to: &output) }
    if context.isNavigation { output.append(contentsOf: "Content-Security-Policy: sandbox\r\n".utf8) }
    if context.closes {
      output.append(contentsOf: "Connection: close\r\n".utf8)
    } else if context.saysKeepAlive {
      output.append(contentsOf: "Connection: keep-alive\r\n".utf8)
    }
    output.append(contentsOf: "\r\n".utf8)
    return nil
  }

  /// The upstream's challenge asks for a password that is not the client's to give (T36): a neutral one takes its place.
  private static func writeRejection(_ status: Int, to output: inout [UInt8]) {
    if status == 401 {
      output.append(contentsOf: "WWW-Authenticate: bearerd-credential-rejected\r\n".utf8)
    } else {
      output.append(contentsOf: "Proxy-Authenticate: bearerd-credential-rejected\r\n".utf8)
    }
    output.append(contentsOf: "Proxy-Status: bearerd; received-status=".utf8)
    output.append(decimal: UInt64(status))
    output.append(contentsOf: "; details=\"credential-rejected\"\r\n".utf8)
  }
}

/// Fields of an answer that would let one upstream speak for `http://localhost` as a whole (T2, T35).
enum OriginHygiene {
  static func isStripped(_ bytes: [UInt8], _ name: Range<Int>) -> Bool {
    guard name.count >= 3 else { return false }
    let span = bytes.span
    // Nearly every field is told apart by its first letter.
    switch span[name.lowerBound] | 0x20 {
    case UInt8(ascii: "a"):
      return FieldName.resembles(name, of: span, prefix: "access-control-")
        || FieldName.resembles(name, of: span, "alt-svc")
    case UInt8(ascii: "c"): return FieldName.resembles(name, of: span, "clear-site-data")
    case UInt8(ascii: "n"): return FieldName.resembles(name, of: span, "nel")
    case UInt8(ascii: "p"): return FieldName.resembles(name, of: span, prefix: "public-key-pins")
    case UInt8(ascii: "r"):
      return FieldName.resembles(name, of: span, "report-to")
        || FieldName.resembles(name, of: span, "reporting-endpoints")
    case UInt8(ascii: "s"):
      return FieldName.resembles(name, of: span, "strict-transport-security")
        || FieldName.resembles(name, of: span, "service-worker-allowed")
    default: return false
    }
  }
}
