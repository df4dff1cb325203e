internal import HTTP1
internal import Policy
internal import Primitives

/// The URLs in the fields `Destination` and `If` of a WebDAV request (RFC 4918 §10.3, §10.4).
struct WebDAVReferences {
  /// The rewritten field values, each with the range of the original value.
  private var values: [(field: Range<Int>, text: [UInt8])] = []

  /// Returns the rewritten value of a field. `nil` if the field is forwarded unchanged.
  func value(of field: Field) -> [UInt8]? {
    for value in values where value.field == field.value { return value.text }
    return nil
  }

  /// Checks and rewrites the URLs in the fields of a request.
  mutating func read(
    _ head: RequestHead, admitted: AdmittedRequest, target: CanonicalTarget, route: Route, snapshot: Snapshot
  ) throws(RefusalCode) {
    if !values.isEmpty { values.removeAll(keepingCapacity: true) }
    // Most requests have none, and need no validator.
    guard head.fields.contains(where: { WebDAVReferences.names($0.known) }) else { return }
    var validator = ReferenceValidator(
      head: head, admitted: admitted, target: target, route: route, snapshot: snapshot)
    try rewrite(head, &validator)
  }

  @inline(never)
  private mutating func rewrite(_ head: RequestHead, _ validator: inout ReferenceValidator) throws(RefusalCode) {
    var hasDestination = false
    for field in head.fields where WebDAVReferences.names(field.known) {
      if case .if = field.known {
        values.append((field.value, try WebDAVReferences.conditions(head.bytes[field.value], &validator)))
      } else if head.method == .other {
        // Two fields: it is unknown which one the upstream uses.
        if hasDestination { throw .badDestination }
        hasDestination = true
        values.append((field.value, try validator.rewrite(Array(head.bytes[field.value]))))
      }
    }
  }

  private static func names(_ field: KnownField) -> Bool {
    if case .destination = field { return true }
    if case .if = field { return true }
    return false
  }

  /// Rewrites the URLs in an If value such as `<tag> (["etag"] Not <urn:uuid:…>)`.
  private static func conditions(
    _ text: ArraySlice<UInt8>, _ validator: inout ReferenceValidator
  ) throws(RefusalCode) -> [UInt8] {
    var result: [UInt8] = []
    var rest = text
    var isList = false
    while let byte = rest.first {
      switch (byte, isList) {
      case (UInt8(ascii: "<"), _):
        guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { throw .badDestination }
        let inner = rest[(rest.startIndex + 1)..<end]
        result.append(byte)
        result.append(contentsOf: isList ? Array(inner) : try validator.rewrite(Array(inner)))
        rest = rest[end...]
      case (UInt8(ascii: "["), true):
        guard let end = endOfEntityTag(rest) else { throw .badDestination }
        result.append(contentsOf: rest[..<end])
        rest = rest[end...]
        if rest.first != UInt8(ascii: "]") { throw .badDestination }
      case (UInt8(ascii: "("), false): isList = true
      case (UInt8(ascii: ")"), true): isList = false
      case (UInt8(ascii: " "), _), (UInt8(ascii: "\t"), _): break
      // `Not`
      case (_, true) where (byte | 0x20) &- UInt8(ascii: "a") < 26: break
      default: throw .badDestination
      }
      result.append(rest[rest.startIndex])
      rest = rest.dropFirst()
    }
    if isList { throw .badDestination }
    return result
  }

  /// Returns the index after the closing quotation mark of `["etag"` or `[W/"etag"` (RFC 9110 §8.8.3).
  private static func endOfEntityTag(_ text: ArraySlice<UInt8>) -> Int? {
    guard let opening = text.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
    return text[(opening + 1)...].firstIndex(of: UInt8(ascii: "\"")).map { $0 + 1 }
  }
}

private struct ReferenceValidator {
  let head: RequestHead
  let admitted: AdmittedRequest
  let target: CanonicalTarget
  let route: Route
  let snapshot: Snapshot
  /// The listener's origin, from the authority in the client's request. `nil` if it cannot be parsed.
  private let ownOrigin: Origin?
  /// Remaining number of URLs.
  private var references = ReferenceValidator.maximumReferences
  private var bytes = ReferenceValidator.maximumBytes

  /// Maximum number of directories in the request's path against which a relative reference is resolved.
  private static let maximumLevels = 32
  /// Maximum number of URLs in the fields of a request (T60).
  private static let maximumReferences = 32
  /// Maximum cost of checking the paths, in bytes (see `RewriteBudget.cost(of:)`).
  private static let maximumBytes = 65_536

  init(head: RequestHead, admitted: AdmittedRequest, target: CanonicalTarget, route: Route, snapshot: Snapshot) {
    (self.head, self.admitted, self.target, self.route, self.snapshot) = (head, admitted, target, route, snapshot)
    ownOrigin = (head.absoluteAuthority ?? head.host).flatMap { authority in
      try? Origin(parsing: "http://\(String(decoding: head.bytes[authority], as: UTF8.self))")
    }
  }

  mutating func rewrite(_ text: [UInt8]) throws(RefusalCode) -> [UInt8] {
    references -= 1
    guard references >= 0 else { throw .badDestination }
    var written = ByteBuffer()
    switch Reference(text, scheme: .http) {
    case .absolute(let origin, let path):
      guard origin == ownOrigin else { throw .destinationDenied }
      written.append(snapshot.rules.services[route.service].upstream.origin.description)
      write(try allowed(path), to: &written)
    case .absolutePath:
      write(try allowed(text), to: &written)
    case .relative:
      try resolve(text, to: &written)
    case .unreadable, .otherScheme: throw .destinationDenied
    case .odd: throw .badDestination
    }
    return Array(written.contents)
  }

  /// Checks and rewrites a relative reference (RFC 3986 §5.2).
  private mutating func resolve(_ text: [UInt8], to output: inout ByteBuffer) throws(RefusalCode) {
    if Reference.endOfPath(text) == 0 { throw .badDestination }
    var levels = 0
    // Some upstreams, such as CouchDB, resolve the reference against a directory above.
    for (index, byte) in target.path.enumerated() where byte == UInt8(ascii: "/") && index >= route.pathStart {
      guard index + text.count < bytes else { throw .badDestination }
      let resolved = try allowed(Array(target.path[...index]) + text)
      levels += 1
      if levels > ReferenceValidator.maximumLevels { throw .badDestination }
      if levels > 1 { continue }
      var notes = ForwardingNotes()
      output.append(contentsOf: resolved.path.dropFirst(index + 1))
      RequestForwarding.writeQuery(
        of: resolved, plan: snapshot.plans[route.service], route: route, to: &output, notes: &notes)
    }
    if levels == 0 { throw .badDestination }
  }

  /// Returns the canonical form of a path. Throws unless a request to it would get the same service, credential and
  /// headers.
  private mutating func allowed(_ text: [UInt8]) throws(RefusalCode) -> CanonicalTarget {
    guard text.count <= bytes else { throw .badDestination }
    var resolved = CanonicalTarget()
    do throws(PolicyRefusal) { try resolved.read(text.span) } catch { throw .badDestination }
    bytes -= text.count + RewriteBudget.cost(of: resolved.readings)
    guard bytes >= 0 else { throw .badDestination }
    var trace: [RuleVerdict]?
    let name = head.bytes.span.extracting(head.methodRange)
    let decided = try? snapshot.rules.decide(
      admitted, method: head.method, methodName: name, target: resolved, trace: &trace)
    guard let decided, decided.service == route.service, decided.credential == route.credential,
      snapshot.headers(of: decided) == snapshot.headers(of: route)
    else { throw .destinationDenied }
    return resolved
  }

  private func write(_ target: CanonicalTarget, to output: inout ByteBuffer) {
    var notes = ForwardingNotes()
    RequestForwarding.writeTarget(
      target, plan: snapshot.plans[route.service], route: route, to: &output, notes: &notes)
  }
}
