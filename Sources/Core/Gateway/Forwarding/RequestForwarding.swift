internal import HTTP1
internal import Policy
internal import Primitives

/// The request head as the upstream shall see it: hop-by-hop fields off, the client's own credentials off, Host set.
struct RequestForwarding {
  /// The options of the client's Connection field.
  private(set) var options = ConnectionOptions()
  private var injection = Injection.none
  /// To what the upstream is asked to switch.
  private(set) var upgrade: UpgradeProtocol?
  /// How often the request may still be passed on, by us as well; nil: as often as it takes.
  private(set) var maxForwards: UInt64?
  /// The upstream's connection serves nothing after this request, and is told so.
  private(set) var isLast = false
  private var isFromPage = false
  private var places = WebDAVReferences()
  /// A client token came with it, which is for us alone.
  private(set) var hasClientToken = false

  private enum Injection {
    /// Nothing is added, or the client's own credential is kept instead.
    case none
    /// The keyring writes the rule's credential.
    case credential
    /// A credential is added, and the request's cookies come from the jar, where those of the answer go.
    case credentialAndCookies
  }

  /// Whether the rule's credential is written by the keyring.
  var injects: Bool { injection != .none }
  var keepsCookies: Bool { injection == .credentialAndCookies }

  mutating func readOptions(of head: RequestHead) {
    options.read(head.fields, of: head.bytes, isNeeded: head.hasConnectionOptions)
  }

  /// Judges a request by the places that it names, by `on_client_header` and by client tokens that would go up, before a
  /// connection is opened for it.
  mutating func judge(
    _ head: RequestHead, admitted: AdmittedRequest, target: CanonicalTarget, route: Route,
    snapshot: Snapshot
  ) -> Refusal? {
    if let refusal = judgeFields(head, admitted: admitted, target: target, route: route, snapshot: snapshot) {
      return refusal
    }
    guard hasClientToken, leavesClientToken(head, target: target, route: route, snapshot: snapshot) else { return nil }
    return .plain(.clientTokenLeft)
  }

  private mutating func judgeFields(
    _ head: RequestHead, admitted: AdmittedRequest, target: CanonicalTarget, route: Route,
    snapshot: Snapshot
  ) -> Refusal? {
    injection = .none
    isFromPage = admitted.page != nil
    hasClientToken = admitted.caller.client != nil
    isLast = UnreadBody.isPossible(of: head, to: snapshot.rules.services[route.service])
    // Connection has to say close then, and servers that switch look for one that says nothing else.
    upgrade =
      isLast
      ? nil : UpgradeNegotiation.request(head, options: options, of: snapshot.rules.services[route.service].upgrades)
    if options.nominatesReservedField { return .plain(.reservedFieldInConnection) }
    do throws(Refusal) { maxForwards = try MaxForwards.read(head) } catch { return error }
    do throws(RefusalCode) {
      try places.read(head, admitted: admitted, target: target, route: route, snapshot: snapshot)
    } catch {
      return .plain(error)
    }
    guard case .inject(let index) = route.credential else { return nil }
    let headers = snapshot.sharedHeaders(of: route)
    let onClientHeader = headers.value.onClientHeader
    if nominates(snapshot.rules.grants[index].fieldNames, head) { return .plain(.reservedFieldInConnection) }
    let own =
      if case .replace = onClientHeader { 0 } else { most(of: snapshot.rules.grants[index], in: head) }
    switch (onClientHeader, own) {
    case (.replace, _), (_, 0):
      injection = if case .jar = headers.value.cookies { .credentialAndCookies } else { .credential }
      return nil
    case (.keep, 1): return nil
    // Two lines: it is unknown which one the upstream takes.
    case (.keep, _), (.reject, _): return .plain(.clientCredentialField)
    }
  }

  /// Whether Connection names a field that the credential sets (T15).
  private func nominates(_ names: [String], _ head: RequestHead) -> Bool {
    for nomination in options.nominated {
      for name in names where FieldName.resembles(nomination, of: head.bytes.span, name) { return true }
    }
    return false
  }

  /// How many lines the client sent under one of the names, at most. One with a client token is none of them.
  private func most(of grant: Grant, in head: RequestHead) -> Int {
    let span = head.bytes.span
    var most = 0
    for name in grant.fieldNames {
      var count = 0
      for field in head.fields where FieldName.resembles(field.name, of: span, name) {
        if hasClientToken && ClientToken.isCarried(by: field, of: head.bytes) { continue }
        if CredentialCookie.isIn(field, of: head.bytes, grant) { count += 1 }
      }
      most = max(most, count)
    }
    return most
  }

  /// Appends the head without its closing empty line: the keyring, or the caller, adds what is missing.
  func write(
    _ head: RequestHead, target: CanonicalTarget, route: Route, snapshot: Snapshot,
    to output: inout ByteBuffer, notes: inout ForwardingNotes
  ) {
    let plan = snapshot.plans[route.service]
    let headers = snapshot.sharedHeaders(of: route)

    output.append(head.bytes.span.extracting(head.methodRange))
    output.append(UInt8(ascii: " "))
    RequestForwarding.writeTarget(target, plan: plan, route: route, to: &output, notes: &notes)
    output.append(contentsOf: plan.hostLine)

    let credentialFields = fieldNames(of: route, snapshot: snapshot)
    var (sendsTrailers, redactsAll, unchanged) = (false, false, PassthroughRun())
    var codings = OfferedCodings.all
    if injects {
      switch snapshot.rules.services[route.service].redact {
      case .all: redactsAll = true
      case .errors: codings = OfferedCodings(head)
      case .headers, .off: break
      }
    }
    for field in head.fields {
      if redactsAll, let hiding = hidesFromSearch(field, of: head.bytes) {
        if let row = hiding.row { notes.removed.insert(row) }
        notes.changes?.removed.append(String(decoding: head.bytes[field.name], as: UTF8.self))
        continue
      }
      if case .te = field.known, mentionsTrailers(field, of: head.bytes) { sendsTrailers = true }
      switch fate(of: field, of: head.bytes, head, route, headers, credentialFields) {
      case .goesOn:
        if codings != .all, OfferedCodings.concerns(field, of: head.bytes.span) {
          unchanged.flush(head.bytes.span, to: &output)
          write(codings, field, of: head.bytes.span, to: &output, notes: &notes)
        } else {
          write(field, of: head.bytes, plan, &unchanged, to: &output)
        }
      case .thinned:
        unchanged.flush(head.bytes.span, to: &output)
        writeSubprotocols(field, of: head, route, headers, to: &output, notes: &notes)
      case .endsHere:
        if case .upgrade = field.known, upgrade == nil { notes.note(CredentialField(.upgrade), as: "Upgrade") }
      case .removed: notes.changes?.removed.append(String(decoding: head.bytes[field.name], as: UTF8.self))
      case .listed(let row): notes.note(row, as: String(decoding: head.bytes[field.name], as: UTF8.self))
      case .configured(let index):
        notes.removed.insert(configured: index)
        notes.changes?.removed.append(String(decoding: head.bytes[field.name], as: UTF8.self))
      }
    }
    unchanged.flush(head.bytes.span, to: &output)
    for setting in headers.value.set
    where !redactsAll || (setting.folded != "accept-encoding" && setting.folded != "a-im") {
      MessageWriter.field(name: setting.name, value: setting.value.span, to: &output)
      notes.changes?.added.append(setting.name)
    }
    if redactsAll {
      output.append("Accept-Encoding: identity\r\n")
      notes.changes?.added.append("Accept-Encoding")
    }
    if let upgrade {
      UpgradeNegotiation.write(upgrade, to: &output)  // servers that switch look for one Connection line
    } else if sendsTrailers {
      output.append(isLast ? "TE: trailers\r\nConnection: TE, close\r\n" : "TE: trailers\r\nConnection: TE\r\n")
    } else if isLast {
      output.append("Connection: close\r\n")
    }
    if headers.value.via {
      output.append(head.version == .http10 ? "Via: 1.0 bearerd\r\n" : "Via: 1.1 bearerd\r\n")
      notes.changes?.added.append("Via")
    }
    MessageWriter.framing(head.bodyLength, to: &output)
    writeOtherCookies(head, route: route, snapshot: snapshot, to: &output)
    if injects { notes.changes?.added.append(contentsOf: credentialFields) }
  }

  /// Appends Accept-Encoding with what of it can be searched; without anything, that the body is wanted as it is.
  private func write(
    _ codings: OfferedCodings, _ field: Field, of bytes: Span<UInt8>, to output: inout ByteBuffer,
    notes: inout ForwardingNotes
  ) {
    notes.changes?.limitsCodings = true
    switch codings {
    case .all, .searchable: OfferedCodings.writeSearchable(field, of: bytes, to: &output)
    case .none:
      output.append(bytes.extracting(field.name))
      output.append(": identity\r\n")
    }
  }

  /// A field that asks for an answer that cannot be searched: coded, cut up (RFC 3229), or compressed by a WebSocket's extension.
  private struct HidingField {
    /// The name for the log. `nil` for Accept-Encoding, which goes on with another value.
    let row: CredentialField?
  }

  /// Returns `nil` if the field asks for no such answer.
  private func hidesFromSearch(_ field: Field, of bytes: [UInt8]) -> HidingField? {
    if FieldName.resembles(field.name, of: bytes.span, "accept-encoding") { return HidingField(row: nil) }
    if FieldName.resembles(field.name, of: bytes.span, "a-im") { return HidingField(row: CredentialField(.aim)) }
    guard FieldName.resembles(field.name, of: bytes.span, "sec-websocket-extensions") else { return nil }
    return HidingField(row: CredentialField(.webSocketExtensions))
  }

  private func write(
    _ field: Field, of bytes: [UInt8], _ plan: ForwardingPlan, _ unchanged: inout PassthroughRun,
    to output: inout ByteBuffer
  ) {
    if isFromPage, field.known == .origin || field.known == .referer {
      unchanged.flush(bytes.span, to: &output)
      let value = field.known == .origin ? plan.origin : plan.referer
      MessageWriter.field(name: bytes.span.extracting(field.name), value: value.span, to: &output)
    } else if let maxForwards, field.known == .maxForwards {
      unchanged.flush(bytes.span, to: &output)
      output.append("Max-Forwards: ")
      output.append(decimal: maxForwards &- 1)
      output.append("\r\n")
    } else if let value = places.value(of: field) {
      unchanged.flush(bytes.span, to: &output)
      MessageWriter.field(name: bytes.span.extracting(field.name), value: value.span, to: &output)
    } else {
      unchanged.add(field, of: bytes.span, to: &output)
    }
  }

  /// The fields that the route's credential sets.
  func fieldNames(of route: Route, snapshot: Snapshot) -> [String] {
    guard case .inject(let index) = route.credential else { return [] }
    return snapshot.rules.grants[index].fieldNames
  }

  enum Fate: Equatable {
    case goesOn, endsHere, removed
    /// Removed, because the table of names has it.
    case listed(CredentialField)
    /// Removed by the configuration, by an index of `HeaderPolicy.removedNames`.
    case configured(Int)
    /// Goes on without some entries of its list, or not at all if there are no others.
    case thinned
  }

  func fate(
    of field: Field, of bytes: [UInt8], _ head: RequestHead, _ route: Route,
    _ headers: Shared<HeaderPolicy>, _ credentialFields: [String]
  ) -> Fate {
    switch field.known {
    case .host, .contentLength, .transferEncoding, .connection, .keepAlive, .proxyConnection, .te, .trailer, .upgrade,
      .proxyAuthenticate, .proxyAuthenticationInfo:
      return .endsHere
    case .proxyAuthorization: return removed(field, of: bytes)
    // The field says how the page stands to us, and contradicts the Origin that the upstream gets.
    case .secFetchSite where isFromPage: return .listed(CredentialField(.secFetchSite))
    // RFC 9110 §10.1.1: an HTTP/1.0 client does not know that it could have to wait.
    case .expect where !head.expectsContinue: return .endsHere
    case .other:
      if let look = UnwantedField(resembling: field.name, of: bytes.span) { return .listed(CredentialField(look)) }
      if FieldName.resembles(field.name, of: bytes.span, "proxy-authorization") { return removed(field, of: bytes) }
    default: break
    }
    if hasClientToken, ClientToken.isCarried(by: field, of: bytes) { return removed(field, of: bytes) }
    let span = bytes.span
    if !options.nominated.isEmpty, options.names(field.name, of: bytes, nominatedIn: head.bytes) { return .removed }
    var index = 0
    for name in headers.value.remove {
      if FieldName.resembles(field.name, of: span, name) { return .configured(index) }
      index += 1
    }
    for setting in headers.value.set {
      if FieldName.resembles(field.name, of: span, setting.folded) { return .configured(index) }
      index += 1
    }
    for name in credentialFields where FieldName.resembles(field.name, of: span, name) {
      return injects ? .removed : .goesOn
    }
    if field.name.count == 22, CredentialSubprotocol.names(field, of: bytes) {
      return losesSubprotocols(field, of: head, route, headers) ? .thinned : .goesOn
    }
    if route.credential == .pass { return .goesOn }
    guard let row = CredentialFields.row(name: bytes, range: field.name) else { return .goesOn }
    if case .jar = headers.value.cookies, field.known == .cookie { return .listed(row) }
    let allowed = headers.value.allowClientHeaders
    for name in allowed where FieldName.resembles(field.name, of: span, name) { return .goesOn }
    return field.known == .cookie && headers.value.cookies == .pass ? .goesOn : .listed(row)
  }

  private func removed(_ field: Field, of bytes: [UInt8]) -> Fate {
    CredentialFields.row(name: bytes, range: field.name).map { .listed($0) } ?? .removed
  }

  /// The trailers that would go on if they stood in the head.
  func trailers(
    _ body: BodyReader, of head: RequestHead, route: Route, snapshot: Snapshot, removed: inout RemovedNames
  ) -> [Field] {
    let headers = snapshot.sharedHeaders(of: route)
    let credentialFields = fieldNames(of: route, snapshot: snapshot)
    return body.trailers.filter { field in
      // Of no use behind the head, and other lines of the list were judged without it.
      if CredentialSubprotocol.names(field, of: body.trailerBytes) {
        removed.insert(CredentialField(.subprotocols))
        return false
      }
      let line = field.name.lowerBound..<field.value.upperBound
      let fate = fate(of: field, of: body.trailerBytes, head, route, headers, credentialFields)
      switch fate {
      case .listed(let row): removed.insert(row)
      case .configured(let index): removed.insert(configured: index)
      case .goesOn, .endsHere, .removed, .thinned: break
      }
      if hasClientToken, ClientToken.isIn(body.trailerBytes.span.extracting(line)) { return false }
      for name in credentialFields where FieldName.resembles(field.name, of: body.trailerBytes.span, name) {
        return false
      }
      return fate == .goesOn
    }
  }

  /// A target, or another place of the same service, as the upstream calls it.
  static func writeTarget(
    _ target: CanonicalTarget, plan: ForwardingPlan, route: Route, to output: inout ByteBuffer,
    notes: inout ForwardingNotes
  ) {
    if target.path.isEmpty {
      output.append(UInt8(ascii: "*"))
      return
    }
    // The base ends with a slash and so does the mount: the path goes on after it.
    output.append(contentsOf: plan.basePath)
    output.append(target.path.span.extracting((route.pathStart + 1)...))
    writeQuery(of: target, plan: plan, route: route, to: &output, notes: &notes)
  }

  static func writeQuery(
    of target: CanonicalTarget, plan: ForwardingPlan, route: Route, to output: inout ByteBuffer,
    notes: inout ForwardingNotes
  ) {
    guard !target.query.isEmpty else { return }
    let headers = plan.headers(of: route)
    QueryFilter.write(
      target.query, removing: headers.value.removeParameters, firstIndex: headers.value.firstRemovedParameter,
      keepsCredentials: route.credential == .pass, to: &output, notes: &notes)
  }
}
