internal import HTTP1
internal import Policy
internal import Primitives

/// Writes the head of a response for the client: which fields of the upstream pass, and which are added.
struct ResponseForwarding {
  struct Context {
    var route: Route
    var snapshot: Snapshot
    /// The request's canonical path, before the mount is replaced.
    var path: [UInt8]
    /// The host and port in the client's request. Empty if the client sent none.
    var authority: ArraySlice<UInt8>
    /// Whether the keyring added a credential to this request.
    var injected: Bool
    /// The protocol that the connection switches to. `nil` if it does not switch.
    var upgrade: UpgradeProtocol?
    var tunneledPort: UInt16?

    /// Whether a URL with this port and a name of this machine leads the client to bearerd.
    func isOwnPort(_ port: UInt16) -> Bool { snapshot.ownPorts.contains(port) || port == tunneledPort }
    var body = BodyTreatment.asItIs
    var challenges: ChallengeTreatment
  }

  /// Writes the response head for the client, without its framing, or returns a refusal.
  /// - Parameter dropped: gets the fields that are not forwarded.
  @inline(__always)  // The context would otherwise be copied for the call.
  static func write(
    _ head: ResponseHead, options: ConnectionOptions, context: Context,
    admitted: AdmittedRequest?, dropped: inout DroppedFields, to output: inout OutgoingResponse
  ) -> Refusal? {
    begin(head, &output)
    if let upgrade = context.upgrade { output.upgrade = upgrade }
    return writeFields(head, options, context, admitted, &dropped, to: &output.fields)
  }

  @inline(__always)
  private static func writeFields(
    _ head: ResponseHead, _ options: ConnectionOptions, _ context: Context, _ admitted: AdmittedRequest?,
    _ dropped: inout DroppedFields, to output: inout ByteBuffer
  ) -> Refusal? {
    var (unchanged, room) = (PassthroughRun(), RewriteBudget())
    var privacy = CachePrivacy(isNeeded: context.injected && context.upgrade == nil)
    for field in head.fields {
      if endsHere(field, of: head.bytes, options, head) { continue }
      if case .setCookie = field.known {
        unchanged.flush(head.bytes.span, to: &output)
        if passesCookies(context), !isCredential(field, of: head.bytes, context) {
          let isKept = CookieRewriting.write(field, of: head.bytes, context: context, to: &output)
          if !isKept { dropped.insert(.setCookie) }
        } else if !context.injected || !context.snapshot.keepsCookies(of: context.route) {
          dropped.insert(.setCookie)
        }
      } else if privacy.concerns(field, of: head.bytes.span) {
        unchanged.flush(head.bytes.span, to: &output)
        privacy.hold(field, of: head.bytes.span, to: &output)
      } else if !writeField(field, of: head.bytes, context, &unchanged, &room, &dropped, to: &output) {
        return .plain(.redirectToSelf)
      }
    }
    unchanged.flush(head.bytes.span, to: &output)
    privacy.finish(head.bytes.span, to: &output)
    switch context.challenges {
    case .passes, .dropped: break
    case .replaced: writeRejection(head.status, to: &output)
    case .promptless:
      // RFC 9110 sections 15.5.2 and 15.5.8 require a challenge.
      if ChallengeTreatment.removesAll(of: head) {
        output.append(head.status == 401 ? "WWW-Authenticate: " : "Proxy-Authenticate: ")
        output.append("bearerd-challenge-withheld\r\n")
      }
    }
    if context.body == .replaced { Problem.writeEncodedAnswerFields(head.status, to: &output) }
    if let admitted { CrossOrigin.write(for: admitted, to: &output) }
    return nil
  }

  /// Writes the head of a 1xx response, without cookies.
  /// - Returns: `false` if a URL leads to one of bearerd's listeners.
  static func writeInterim(
    _ head: ResponseHead, options: ConnectionOptions, context: Context, room: inout RewriteBudget,
    dropped: inout DroppedFields, to output: inout OutgoingResponse
  ) -> Bool {
    begin(head, &output)
    var unchanged = PassthroughRun()
    for field in head.fields where !endsHere(field, of: head.bytes, options, head) {
      guard writeField(field, of: head.bytes, context, &unchanged, &room, &dropped, to: &output.fields) else {
        dropped.insert(.interim)
        return false
      }
    }
    unchanged.flush(head.bytes.span, to: &output.fields)
    return true
  }

  /// Appends the trailers, under the same rules as the fields of the head.
  static func writeTrailers(
    _ trailers: Trailers, after head: ResponseHead, options: ConnectionOptions, context: Context,
    dropped: inout DroppedFields, to output: inout ByteBuffer
  ) {
    let bytes = trailers.bytes
    var (unchanged, room) = (PassthroughRun(), RewriteBudget())
    for field in trailers.fields where !endsHere(field, of: bytes, options, head) {
      if context.body == .decoded, AboutBody(field, of: bytes.span).describesCoding { continue }
      if case .proxyAuthenticate = field.known { continue }
      if !writeField(field, of: bytes, context, &unchanged, &room, &dropped, to: &output) { dropped.insert(.trailer) }
    }
    unchanged.flush(bytes.span, to: &output)
  }

  private static func begin(_ head: ResponseHead, _ output: inout OutgoingResponse) {
    output.begin(head.status)
    output.reason.append(head.bytes.span.extracting(head.reason))
  }

  /// Whether the field is hop-by-hop (RFC 9110 §7.6.1), or part of the framing, which bearerd writes itself.
  private static func endsHere(
    _ field: Field, of bytes: [UInt8], _ options: ConnectionOptions, _ head: ResponseHead
  ) -> Bool {
    switch field.known {
    case .connection, .keepAlive, .proxyConnection, .te, .trailer, .transferEncoding, .upgrade, .contentLength,
      .proxyAuthorization, .proxyAuthenticationInfo:
      true
    // Only meaningful in a 407, like WWW-Authenticate in a 401.
    case .proxyAuthenticate: head.status != 407
    default:
      !options.nominated.isEmpty && options.names(field.name, of: bytes, nominatedIn: head.bytes)
    }
  }

  /// Whether the field sets the cookie that is the request's credential (T34).
  private static func isCredential(_ field: Field, of bytes: [UInt8], _ context: Context) -> Bool {
    guard context.injected, let name = context.snapshot.rules.grant(of: context.route)?.cookie else { return false }
    return CredentialCookie.isSet(by: field, of: bytes, name: name)
  }

  private static func passesCookies(_ context: Context) -> Bool {
    context.route.credential == .pass || context.snapshot.options(of: context.route).cookies == .pass
  }

  /// Appends one field, unchanged or rewritten, or drops it.
  /// - Returns: `false` if a URL leads to one of bearerd's listeners.
  private static func writeField(
    _ field: Field, of bytes: [UInt8], _ context: Context, _ unchanged: inout PassthroughRun,
    _ room: inout RewriteBudget, _ dropped: inout DroppedFields,
    to output: inout ByteBuffer
  ) -> Bool {
    let hasURLs: Bool
    var isURL = false
    switch field.known {
    case .setCookie: return true
    case .authenticationInfo:
      if context.injected { return true }
      hasURLs = true
    case .wwwAuthenticate, .proxyAuthenticate:
      switch context.challenges {
      case .dropped, .replaced: return true
      case .passes, .promptless: hasURLs = true
      }
    case .location, .contentLocation, .refresh, .link:
      unchanged.flush(bytes.span, to: &output)
      switch ReferenceRewriting.write(field, of: bytes, context: context, room: &room, to: &output) {
      case .passes: return true
      case .dropped:
        dropped.insert(DroppedFields(field.known))
        return true
      case .ours: return false
      }
    case .other:
      if OriginHeaders.isStripped(bytes, field.name) {
        dropped.insert(.originHeader)
        return true
      }
      if isForgedStatus(field, of: bytes) {
        dropped.insert(.proxyStatus)
        return true
      }
      hasURLs = URLFields.contain(bytes.span.extracting(field.name))
      isURL = hasURLs && URLFields.areURLs(bytes.span.extracting(field.name))
    default: hasURLs = false
    }
    if hasURLs {
      switch SelfReferenceCheck.verdict(on: field, of: bytes, context, &room) {
      case .passes: break
      case .dropped:
        dropped.insert(.urlField)
        return true
      case .ours: return false
      }
      if isURL, let url = ReferenceRewriting.ownURL(field, of: bytes, context: context, room: &room) {
        unchanged.flush(bytes.span, to: &output)
        FieldWriter.field(name: bytes.span.extracting(field.name), value: url.span, to: &output)
        return true
      }
    }
    if case .promptless = context.challenges, field.known == .wwwAuthenticate || field.known == .proxyAuthenticate {
      unchanged.flush(bytes.span, to: &output)
      if !ChallengeTreatment.writePromptless(field, of: bytes.span, to: &output) { dropped.insert(.challenge) }
    } else {
      unchanged.add(field, of: bytes.span, to: &output)
    }
    return true
  }

  /// Whether an upstream's Proxy-Status field pretends to be from bearerd.
  private static func isForgedStatus(_ field: Field, of bytes: [UInt8]) -> Bool {
    guard field.name.count == 12, FieldName.matches(field.name, of: bytes.span, "proxy-status") else { return false }
    var elements = ListElements(field.value)
    while let element = elements.next(in: bytes.span) {
      let name = bytes[element].drop { $0 == UInt8(ascii: "\"") }
      if name.starts(with: "bearerd".utf8) { return true }
    }
    return false
  }

  /// Appends a neutral challenge and Proxy-Status (T36).
  private static func writeRejection(_ status: Int, to output: inout ByteBuffer) {
    output.append(status == 401 ? "WWW-Authenticate: " : "Proxy-Authenticate: ")
    output.append("bearerd-credential-rejected\r\nProxy-Status: bearerd; received-status=")
    output.append(decimal: UInt64(status))
    output.append("; details=\"credential-rejected\"\r\n")
  }
}
