internal import HTTP1
internal import Policy

/// Detects NTLM and Negotiate, which authenticate a connection and not a request (T25, RFC 4559).
enum ConnectionLogin {
  static func isAttempted(by head: RequestHead) -> Bool {
    let bytes = head.bytes.span
    for field in head.fields {
      guard case .authorization = field.known else { continue }
      var end = field.value.lowerBound
      while end < field.value.upperBound, bytes[end] != UInt8(ascii: " "), bytes[end] != UInt8(ascii: "\t") {
        end &+= 1
      }
      if isScheme(field.value.lowerBound..<end, of: bytes) { return true }
    }
    return false
  }

  /// Whether a response has a challenge for NTLM or Negotiate, or challenges that cannot be read.
  static func isOffered(by head: ResponseHead) -> Bool {
    let bytes = head.bytes.span
    guard let challenges = Challenge.all(in: head) else { return true }
    return challenges.contains { isScheme($0.scheme, of: bytes) }
  }

  private static func isScheme(_ name: Range<Int>, of bytes: Span<UInt8>) -> Bool {
    FieldName.matches(name, of: bytes, "ntlm") || FieldName.matches(name, of: bytes, "negotiate")
  }
}

extension Exchange {
  /// The actions that release, reserve or close the connection after an exchange.
  var releaseActions: Actions {
    mutating get {
      // After a login, the upstream treats all requests on the connection as requests of this client.
      guard session.hasLogin else { return .releaseUpstream }
      guard let route, let snapshot, route.credential == .pass,
        snapshot.options(of: route).dedicatedConnections
      else { return .dropUpstream }
      return [.dedicateUpstream, .releaseUpstream]
    }
  }
}
