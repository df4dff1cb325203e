internal import HTTP1
internal import Policy
internal import Primitives

/// The places that a WebDAV request names beside its target: `UpstreamPool` (RFC 4918 §10.3) and the tags of `If` (§10.4).
///
/// Each is judged as if it were the target: same service, same rules, same credential and headers, in every reading. So a
/// MOVE gets no further than its method could by itself, and what goes up is the canonical form, as the upstream knows it.
struct WebDAVReferences {
  /// By the field's value, what goes up in its stead.
  private var values: [(field: Range<Int>, text: [UInt8])] = []

  /// nil: the field goes on as it came.
  func value(of field: Field) -> [UInt8]? {
    for value in values where value.field == field.value { return value.text }
    return nil
  }

  /// Takes the place of what an earlier request named.
  mutating func read(
    _ head: RequestHead, admitted: AdmittedRequest, target: CanonicalTarget, route: Route, snapshot: Snapshot
  ) throws(RefusalCode) {
    if !values.isEmpty { values.removeAll(keepingCapacity: true) }
    var hasDestination = false
    var judge: PlaceJudge?
    for field in head.fields where WebDAVReferences.names(field.known) {
      var judging =
        judge ?? PlaceJudge(head: head, admitted: admitted, target: target, route: route, snapshot: snapshot)
      defer { judge = judging }
      if case .if = field.known {
        values.append((field.value, try WebDAVReferences.conditions(head.bytes[field.value], &judging)))
      } else if head.method == .other {
        // Two fields: it is unknown which one the upstream takes.
        if hasDestination { throw .badDestination }
        hasDestination = true
        values.append((field.value, try judging.place(Array(head.bytes[field.value]))))
      }
    }
  }

  private static func names(_ field: KnownField) -> Bool {
    if case .destination = field { return true }
    if case .if = field { return true }
    return false
  }

  /// `<tag> (["etag"] Not <urn:uuid:…>) …`: what stands between angle brackets outside of parentheses is a place.
  private static func conditions(_ text: ArraySlice<UInt8>, _ judge: inout PlaceJudge) throws(RefusalCode) -> [UInt8] {
    var result: [UInt8] = []
    var rest = text
    var isList = false
    while let byte = rest.first {
      switch (byte, isList) {
      case (UInt8(ascii: "<"), _):
        guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { throw .badDestination }
        let inner = rest[(rest.startIndex + 1)..<end]
        result.append(byte)
        result.append(contentsOf: isList ? Array(inner) : try judge.place(Array(inner)))
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

  /// Behind the closing quotation mark of `["etag"` or `[W/"etag"`, which knows no escapes (RFC 9110 §8.8.3).
  private static func endOfEntityTag(_ text: ArraySlice<UInt8>) -> Int? {
    guard let opening = text.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
    return text[(opening + 1)...].firstIndex(of: UInt8(ascii: "\"")).map { $0 + 1 }
  }
}

/// Judges which places a request may name, and knows how the upstream calls them.
private struct PlaceJudge {
  let head: RequestHead
  let admitted: AdmittedRequest
  let target: CanonicalTarget
  let route: Route
  let snapshot: Snapshot
  /// The origin by which the client calls this listener: the URL that it made the place of has the same authority.
  private let ownOrigin: Origin?
  /// How many places may still be named, and how many bytes of paths judged for them, in all readings.
  private var places = PlaceJudge.mostPlaces
  private var bytes = PlaceJudge.mostBytes

  /// More than any database's path has; each costs a decision.
  private static let maximumLevels = 32
  /// Programs name the one or two that they hold a lock on (T60).
  private static let mostPlaces = 32
  /// As much as a head has by default, so that only relative places of many levels and strange ones of many readings find an end
  /// here: each byte is decided by all rules.
  private static let mostBytes = 65_536

  init(head: RequestHead, admitted: AdmittedRequest, target: CanonicalTarget, route: Route, snapshot: Snapshot) {
    (self.head, self.admitted, self.target, self.route, self.snapshot) = (head, admitted, target, route, snapshot)
    ownOrigin = (head.absoluteAuthority ?? head.host).flatMap { authority in
      try? Origin(parsing: "http://\(String(decoding: head.bytes[authority], as: UTF8.self))")
    }
  }

  /// A URL of this listener becomes one of the upstream, a path stays a path, a relative reference stays one.
  mutating func place(_ text: [UInt8]) throws(RefusalCode) -> [UInt8] {
    places -= 1
    guard places >= 0 else { throw .badDestination }
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

  /// Upstreams resolve a relative one against the request (RFC 3986 §5.2), or against a level above it, as CouchDB does with
  /// a document's name: the rules must allow it on every level.
  private mutating func resolve(_ text: [UInt8], to output: inout ByteBuffer) throws(RefusalCode) {
    if Reference.endOfPath(text) == 0 { throw .badDestination }
    var levels = 0
    for (index, byte) in target.path.enumerated() where byte == UInt8(ascii: "/") && index >= route.pathStart {
      guard index + text.count < bytes else { throw .badDestination }
      let place = try allowed(Array(target.path[...index]) + text)
      levels += 1
      if levels > PlaceJudge.maximumLevels { throw .badDestination }
      if levels > 1 { continue }
      var notes = ForwardingNotes()
      output.append(contentsOf: place.path.dropFirst(index + 1))
      RequestForwarding.writeQuery(
        of: place, plan: snapshot.plans[route.service], route: route, to: &output, notes: &notes)
    }
    if levels == 0 { throw .badDestination }
  }

  /// The canonical form of what this request could have had as its target, with the same effect.
  private mutating func allowed(_ text: [UInt8]) throws(RefusalCode) -> CanonicalTarget {
    guard text.count <= bytes else { throw .badDestination }
    var place = CanonicalTarget()
    do throws(PolicyRefusal) { try place.read(text.span) } catch { throw .badDestination }
    bytes -= text.count + RewriteBudget.cost(of: place.readings)
    guard bytes >= 0 else { throw .badDestination }
    let decided: Route
    do throws(PolicyRefusal) {
      var trace: [RuleVerdict]?
      let name = head.bytes.span.extracting(head.methodRange)
      decided = try snapshot.rules.decide(
        admitted, method: head.method, methodName: name, target: place, trace: &trace)
    } catch {
      throw .destinationDenied
    }
    guard decided.service == route.service, decided.credential == route.credential,
      snapshot.headers(of: decided) == snapshot.headers(of: route)
    else { throw .destinationDenied }
    return place
  }

  private func write(_ place: CanonicalTarget, to output: inout ByteBuffer) {
    var notes = ForwardingNotes()
    RequestForwarding.writeTarget(
      place, plan: snapshot.plans[route.service], route: route, to: &output, notes: &notes)
  }
}
