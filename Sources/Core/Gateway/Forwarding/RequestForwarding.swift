internal import HTTP1
internal import Policy
internal import Primitives

/// Writes the request head for the upstream: without hop-by-hop fields and the client's credentials, with a new Host.
struct RequestForwarding {
  private(set) var options = ConnectionOptions()
  private var injection = Injection.none
  /// The protocol that the upstream is asked to switch to. `nil` if there is none.
  private(set) var upgrade: UpgradeProtocol?
  /// How often the request may still be forwarded, including by bearerd. `nil` if there is no limit.
  private(set) var maxForwards: UInt64?
  /// Whether the upstream's connection closes after this request.
  private(set) var isLast = false
  private var isFromPage = false
  private(set) var cookies = ServiceOptions.Cookies.strip
  private var webDAVReferences = WebDAVReferences()
  /// Whether the caller was identified by a client token, which must not be forwarded.
  private(set) var hasClientToken = false

  private enum Injection {
    /// The request has no credential, or keeps the client's own.
    case none
    case credential
    /// The keyring adds the rule's credential and cookies from the jar.
    case credentialAndCookies
  }

  var injects: Bool { injection != .none }
  var keepsCookies: Bool { injection == .credentialAndCookies }

  mutating func readOptions(of head: RequestHead) {
    options.read(head.fields, of: head.bytes, isNeeded: head.hasConnectionOptions)
  }

  /// Checks the request's fields before a connection is opened. Returns `nil` if they are valid.
  mutating func check(
    _ head: RequestHead, admitted: AdmittedRequest, target: CanonicalTarget, route: Route,
    snapshot: Snapshot
  ) -> Refusal? {
    if let refusal = checkFields(head, admitted: admitted, target: target, route: route, snapshot: snapshot) {
      return refusal
    }
    guard hasClientToken, forwardsClientToken(head, target: target, route: route, snapshot: snapshot) else {
      return nil
    }
    return .plain(.clientTokenLeft)
  }

  private mutating func checkFields(
    _ head: RequestHead, admitted: AdmittedRequest, target: CanonicalTarget, route: Route,
    snapshot: Snapshot
  ) -> Refusal? {
    injection = .none
    isFromPage = admitted.page != nil
    cookies = snapshot.options(of: route).cookies
    hasClientToken = admitted.caller.client != nil
    isLast = UnreadBody.isPossible(of: head, to: snapshot.rules.services[route.service])
    // Connection must contain `close` then, and servers that switch protocols expect no other option.
    upgrade =
      isLast
      ? nil : UpgradeNegotiation.request(head, options: options, of: snapshot.rules.services[route.service].upgrades)
    if options.nominatesReservedField { return .plain(.reservedFieldInConnection) }
    do throws(Refusal) { maxForwards = try MaxForwards.read(head) } catch { return error }
    do throws(RefusalCode) {
      try webDAVReferences.read(head, admitted: admitted, target: target, route: route, snapshot: snapshot)
    } catch {
      return .plain(error)
    }
    guard case .inject(let index) = route.credential else { return nil }
    let headers = snapshot.sharedHeaders(of: route)
    let onClientHeader = headers.value.onClientHeader
    if nominates(snapshot.rules.grants[index].fieldNames, head) { return .plain(.reservedFieldInConnection) }
    let own =
      if case .replace = onClientHeader { 0 } else { maximumFieldCount(of: snapshot.rules.grants[index], in: head) }
    switch (onClientHeader, own) {
    case (.replace, _), (_, 0):
      injection = if case .jar = cookies { .credentialAndCookies } else { .credential }
      return nil
    case (.keep, 1): return nil
    // Two fields: it is unknown which one the upstream uses.
    case (.keep, _), (.reject, _): return .plain(.clientCredentialField)
    }
  }

  private func nominates(_ names: [String], _ head: RequestHead) -> Bool {
    for nomination in options.nominated {
      for name in names where FieldName.resembles(nomination, of: head.bytes.span, name) { return true }
    }
    return false
  }

  /// Returns the largest number of credentials that the client has sent under one field name of the grant.
  private func maximumFieldCount(of grant: Grant, in head: RequestHead) -> Int {
    let span = head.bytes.span
    var maximum = 0
    for name in grant.fieldNames {
      var count = 0
      for field in head.fields where FieldName.resembles(field.name, of: span, name) {
        if hasClientToken && ClientToken.isCarried(by: field, of: head.bytes) { continue }
        if CredentialCookie.isCarried(by: field, of: head.bytes, grant) { count += 1 }
      }
      maximum = max(maximum, count)
    }
    return maximum
  }

  /// Writes the request for the upstream into an empty buffer.
  /// - Parameter clientProtocol: the protocol in which the request was received.
  func write(
    _ head: RequestHead, over clientProtocol: ApplicationProtocol, target: CanonicalTarget, route: Route,
    snapshot: Snapshot, to request: inout OutgoingRequest, notes: inout ForwardingNotes
  ) {
    let plan = snapshot.plans[route.service]
    request.begin(method: head.bytes.span.extracting(head.methodRange), authority: plan.authority)
    RequestForwarding.writeTarget(target, plan: plan, route: route, to: &request.line, notes: &notes)
    request.upgrade = upgrade?.text
    request.isLast = isLast
    request.bodyLength = head.bodyLength
    request.acceptsTrailers = writeFields(
      of: head, plan, route: route, snapshot: snapshot, to: &request.fields, notes: &notes)
    if snapshot.options(of: route).via {
      writeVia(head, over: clientProtocol, to: &request.fields)
      notes.changes?.added.append("Via")
    }
    writeOtherCookies(head, route: route, snapshot: snapshot, to: &request.cookie)
    if injects { notes.changes?.added.append(contentsOf: fieldNames(of: route, snapshot: snapshot)) }
  }

  /// Appends the fields to forward and the configured fields. Returns whether the client accepts trailers.
  private func writeFields(
    of head: RequestHead, _ plan: ForwardingPlan, route: Route, snapshot: Snapshot, to output: inout ByteBuffer,
    notes: inout ForwardingNotes
  ) -> Bool {
    let headers = snapshot.sharedHeaders(of: route)
    let credentialFields = fieldNames(of: route, snapshot: snapshot)
    var (sendsTrailers, redactsAll, unchanged) = (false, false, PassthroughRun())
    var codings = OfferedCodings.all
    if injects {
      switch snapshot.options(of: route).redact {
      case .all: redactsAll = true
      case .errors: codings = OfferedCodings(head)
      case .headers, .off: break
      }
    }
    for field in head.fields {
      if redactsAll, let row = searchBlocker(field, of: head.bytes) {
        if let row { notes.removed.insert(row) }
        notes.changes?.removed.append(String(decoding: head.bytes[field.name], as: UTF8.self))
        continue
      }
      if case .te = field.known, listsTrailers(field, of: head.bytes) { sendsTrailers = true }
      switch treatment(of: field, of: head.bytes, head, route, headers, credentialFields) {
      case .forwarded:
        if codings != .all, OfferedCodings.concerns(field, of: head.bytes.span) {
          unchanged.flush(head.bytes.span, to: &output)
          write(codings, field, of: head.bytes.span, to: &output, notes: &notes)
        } else {
          write(field, of: head.bytes, plan, &unchanged, to: &output)
        }
      case .filtered:
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
    where !redactsAll || (setting.lowercasedName != "accept-encoding" && setting.lowercasedName != "a-im") {
      FieldWriter.field(name: setting.name, value: setting.value.span, to: &output)
      notes.changes?.added.append(setting.name)
    }
    if redactsAll {
      output.append("Accept-Encoding: identity\r\n")
      notes.changes?.added.append("Accept-Encoding")
    }
    return sendsTrailers
  }

  /// Appends Via with the version in which the request was received (RFC 9110 section 7.6.3).
  private func writeVia(_ head: RequestHead, over clientProtocol: ApplicationProtocol, to output: inout ByteBuffer) {
    switch clientProtocol {
    // HTTP/2 has no minor version. RFC 9110 section 2.5 then implies 0, and most proxies write it.
    case .http2: output.append("Via: 2.0 bearerd\r\n")
    case .http1: output.append(head.version == .http10 ? "Via: 1.0 bearerd\r\n" : "Via: 1.1 bearerd\r\n")
    }
  }

  /// Appends Accept-Encoding with only the codings that can be searched, or with `identity` if there are none.
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

  /// Returns the name, for the log, of a request field that allows responses that cannot be searched for secrets.
  /// `.some(nil)` if the field is not logged, `nil` for other fields.
  private func searchBlocker(_ field: Field, of bytes: [UInt8]) -> CredentialField?? {
    if FieldName.resembles(field.name, of: bytes.span, "accept-encoding") { return .some(nil) }
    if FieldName.resembles(field.name, of: bytes.span, "grpc-accept-encoding") { return .some(nil) }
    if FieldName.resembles(field.name, of: bytes.span, "a-im") { return CredentialField(.aim) }
    guard FieldName.resembles(field.name, of: bytes.span, "sec-websocket-extensions") else { return nil }
    return CredentialField(.webSocketExtensions)
  }

  private func write(
    _ field: Field, of bytes: [UInt8], _ plan: ForwardingPlan, _ unchanged: inout PassthroughRun,
    to output: inout ByteBuffer
  ) {
    if isFromPage, field.known == .origin || field.known == .referer {
      unchanged.flush(bytes.span, to: &output)
      let value = field.known == .origin ? plan.origin : plan.referer
      FieldWriter.field(name: bytes.span.extracting(field.name), value: value.span, to: &output)
    } else if let maxForwards, field.known == .maxForwards {
      unchanged.flush(bytes.span, to: &output)
      output.append("Max-Forwards: ")
      output.append(decimal: maxForwards &- 1)
      output.append("\r\n")
    } else if let value = webDAVReferences.value(of: field) {
      unchanged.flush(bytes.span, to: &output)
      FieldWriter.field(name: bytes.span.extracting(field.name), value: value.span, to: &output)
    } else {
      unchanged.add(field, of: bytes.span, to: &output)
    }
  }

  func fieldNames(of route: Route, snapshot: Snapshot) -> [String] {
    guard case .inject(let index) = route.credential else { return [] }
    return snapshot.rules.grants[index].fieldNames
  }

  enum FieldTreatment: Equatable {
    case forwarded, endsHere, removed
    /// Removed because its name is in the table of credential fields.
    case listed(CredentialField)
    /// Removed by the configuration. The value is an index of `HeaderPolicy.removedNames`.
    case configured(Int)
    /// Forwarded without some entries of its list, or removed if no entry remains.
    case filtered
  }

  func treatment(
    of field: Field, of bytes: [UInt8], _ head: RequestHead, _ route: Route,
    _ headers: Shared<HeaderPolicy>, _ credentialFields: [String]
  ) -> FieldTreatment {
    switch field.known {
    case .host, .contentLength, .transferEncoding, .connection, .keepAlive, .proxyConnection, .te, .trailer, .upgrade,
      .proxyAuthenticate, .proxyAuthenticationInfo:
      return .endsHere
    case .proxyAuthorization: return removed(field, of: bytes)
    // The field describes the page's relation to bearerd, and contradicts the Origin that the upstream gets.
    case .secFetchSite where isFromPage: return .listed(CredentialField(.secFetchSite))
    // RFC 9110 §10.1.1: an HTTP/1.0 client does not know that it may have to wait.
    case .expect where !head.expectsContinue: return .endsHere
    case .other:
      if let unwanted = UnwantedField(resembling: field.name, of: bytes.span) {
        return .listed(CredentialField(unwanted))
      }
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
      if FieldName.resembles(field.name, of: span, setting.lowercasedName) { return .configured(index) }
      index += 1
    }
    for name in credentialFields where FieldName.resembles(field.name, of: span, name) {
      return injects ? .removed : .forwarded
    }
    if field.name.count == 22, CredentialSubprotocol.isSubprotocolField(field, of: bytes) {
      return mustRemoveSubprotocols(field, of: head, route, headers) ? .filtered : .forwarded
    }
    if route.credential == .pass { return .forwarded }
    guard let row = CredentialFields.row(name: bytes, range: field.name) else { return .forwarded }
    if case .jar = cookies, field.known == .cookie { return .listed(row) }
    let allowed = headers.value.allowClientHeaders
    for name in allowed where FieldName.resembles(field.name, of: span, name) { return .forwarded }
    return field.known == .cookie && cookies == .pass ? .forwarded : .listed(row)
  }

  private func removed(_ field: Field, of bytes: [UInt8]) -> FieldTreatment {
    CredentialFields.row(name: bytes, range: field.name).map { .listed($0) } ?? .removed
  }

  func trailers(
    _ trailers: Trailers, of head: RequestHead, route: Route, snapshot: Snapshot, removed: inout RemovedNames
  ) -> [Field] {
    let headers = snapshot.sharedHeaders(of: route)
    let credentialFields = fieldNames(of: route, snapshot: snapshot)
    return trailers.fields.filter { field in
      // Useless in trailers, and the field in the head was checked without it.
      if CredentialSubprotocol.isSubprotocolField(field, of: trailers.bytes) {
        removed.insert(CredentialField(.subprotocols))
        return false
      }
      let line = field.name.lowerBound..<field.value.upperBound
      let treatment = treatment(of: field, of: trailers.bytes, head, route, headers, credentialFields)
      switch treatment {
      case .listed(let row): removed.insert(row)
      case .configured(let index): removed.insert(configured: index)
      case .forwarded, .endsHere, .removed, .filtered: break
      }
      if hasClientToken, ClientToken.isIn(trailers.bytes.span.extracting(line)) { return false }
      for name in credentialFields where FieldName.resembles(field.name, of: trailers.bytes.span, name) {
        return false
      }
      return treatment == .forwarded
    }
  }

  static func writeTarget(
    _ target: CanonicalTarget, plan: ForwardingPlan, route: Route, to output: inout ByteBuffer,
    notes: inout ForwardingNotes
  ) {
    if target.path.isEmpty {
      output.append(UInt8(ascii: "*"))
      return
    }
    // Both the base and the mount end with a slash, so the path continues after it.
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
