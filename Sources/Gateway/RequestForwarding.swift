internal import HTTP1
internal import Policy

/// What forwarding did to a request's fields, for `explain`. Names only.
package struct ForwardingNotes: Sendable, Equatable {
  package var removed: [String] = []
  package var added: [String] = []
  package var removedParameters: [String] = []
  package init() {}
}

/// The request head as the upstream shall see it: hop-by-hop fields off, the client's own credentials off, Host set.
struct RequestForwarding {
  /// Whether the rule's credential is written by the keyring: false when the client's own is kept instead.
  private(set) var injects = false

  /// What `on_client_header` says of this request, before a connection is opened for it.
  mutating func judge(
    _ head: RequestHead, options: ConnectionOptions, route: Route, snapshot: Snapshot
  ) -> Refusal? {
    injects = false
    if options.nominatesReservedField { return .reservedFieldInConnection }
    guard case .inject(let index) = route.credential else { return nil }
    injects = true
    let headers = snapshot.headers(of: route)
    if headers.onClientHeader == .replace { return nil }
    let names = snapshot.rules.grants[index].fieldNames
    guard
      head.fields.contains(where: { field in names.contains { FieldName.resembles(field.name, of: head.bytes.span, $0) }
      })
    else {
      return nil
    }
    if headers.onClientHeader == .reject { return .clientCredentialField }
    injects = false
    return nil
  }

  /// Appends the head without its closing empty line: the keyring, or the caller, adds what is missing.
  func write(
    _ head: RequestHead, target: CanonicalTarget, options: ConnectionOptions, route: Route, snapshot: Snapshot,
    to output: inout [UInt8], notes: inout ForwardingNotes?
  ) {
    let plan = snapshot.plans[route.service]
    let headers = snapshot.headers(of: route)

    output.append(contentsOf: head.bytes[head.methodRange])
    output.append(UInt8(ascii: " "))
    writeTarget(target, plan: plan, route: route, to: &output, notes: &notes)
    output.append(contentsOf: " HTTP/1.1\r\n".utf8)
    output.append(contentsOf: plan.hostLine)

    let credentialFields = fieldNames(of: route, snapshot: snapshot)
    var sendsTrailers = false
    for field in head.fields {
      if field.known == .te, mentionsTrailers(field, of: head.bytes) { sendsTrailers = true }
      switch fate(of: field, head: head, options: options, route: route, headers: headers, credentialFields) {
      case .goesOn: MessageWriter.field(field, of: head.bytes, to: &output)
      case .endsHere: break
      case .removed: notes?.removed.append(String(decoding: head.bytes[field.name], as: UTF8.self))
      }
    }
    for setting in headers.set {
      MessageWriter.field(name: setting.name, value: setting.value.span, to: &output)
      notes?.added.append(setting.name)
    }
    if sendsTrailers { output.append(contentsOf: "TE: trailers\r\nConnection: TE\r\n".utf8) }
    if headers.via { output.append(contentsOf: "Via: 1.1 bearerd\r\n".utf8) }
    MessageWriter.framing(head.bodyLength, to: &output)
    if injects { notes?.added.append(contentsOf: credentialFields) }
  }

  /// The fields that the route's credential sets.
  private func fieldNames(of route: Route, snapshot: Snapshot) -> [String] {
    guard case .inject(let index) = route.credential else { return [] }
    return snapshot.rules.grants[index].fieldNames
  }

  private enum Fate { case goesOn, endsHere, removed }

  private func fate(
    of field: Field, head: RequestHead, options: ConnectionOptions, route: Route, headers: HeaderPolicy,
    _ credentialFields: [String]
  ) -> Fate {
    switch field.known {
    case .host, .contentLength, .transferEncoding, .connection, .keepAlive, .proxyConnection, .te, .trailer, .upgrade,
      .proxyAuthenticate, .proxyAuthorization, .proxyAuthenticationInfo:
      return .endsHere
    default: break
    }
    if !options.nominated.isEmpty, options.names(field.name, of: head.bytes) { return .endsHere }
    for name in headers.remove where FieldName.resembles(field.name, of: head.bytes.span, name) { return .removed }
    for setting in headers.set where FieldName.resembles(field.name, of: head.bytes.span, setting.folded) {
      return .removed
    }
    for name in credentialFields where FieldName.resembles(field.name, of: head.bytes.span, name) {
      return injects ? .removed : .goesOn
    }
    if route.credential == .pass { return .goesOn }
    guard
      CredentialFields.isCredentialLike(name: head.bytes, range: field.name)
        || CredentialFields.isImpersonation(name: head.bytes, range: field.name)
    else { return .goesOn }
    for name in headers.allowClientHeaders where FieldName.resembles(field.name, of: head.bytes.span, name) {
      return .goesOn
    }
    return field.known == .cookie && headers.cookies == .pass ? .goesOn : .removed
  }

  private func mentionsTrailers(_ field: Field, of bytes: [UInt8]) -> Bool {
    var elements = ListElements(field.value)
    while let token = elements.next(in: bytes.span) {
      if FieldName.matches(token, of: bytes.span, "trailers") { return true }
    }
    return false
  }

  private func writeTarget(
    _ target: CanonicalTarget, plan: ForwardingPlan, route: Route, to output: inout [UInt8],
    notes: inout ForwardingNotes?
  ) {
    if target.path.isEmpty {
      output.append(UInt8(ascii: "*"))
      return
    }
    // The base ends with a slash and so does the mount: the path goes on after it.
    output.append(contentsOf: plan.basePath)
    output.append(contentsOf: target.path[(route.pathStart + 1)...])
    guard !target.query.isEmpty else { return }
    if route.credential == .pass {
      output.append(contentsOf: target.query)
    } else {
      QueryFilter.write(target.query, to: &output, notes: &notes)
    }
  }
}
