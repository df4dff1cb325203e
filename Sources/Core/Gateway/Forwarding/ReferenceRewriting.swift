internal import HTTP1
internal import Policy
internal import Primitives

/// Fields that name places: resolved against the upstream; inside the service they become local, elsewhere absolute, so that
/// the client follows them without our help (T32).
enum ReferenceRewriting {
  /// Appends the field, unless its place cannot be read or is one of our own listeners.
  static func write(
    _ field: Field, of bytes: [UInt8], context: ResponseForwarding.Context, room: inout RewriteBudget,
    to output: inout ByteBuffer
  ) -> OwnPlaces.Verdict {
    let value = Array(bytes[field.value])
    let place =
      switch field.known {
      case .refresh: refresh(value, context, &room)
      case .link: links(value, context, &room)
      default: RewrittenReference(value, context, &room)
      }
    switch place {
    case .reference(let rewritten):
      MessageWriter.field(name: bytes.span.extracting(field.name), value: rewritten.span, to: &output)
      return .passes
    case .dropped: return .dropped
    case .ours: return .ours
    }
  }

  /// Returns what a field says to this client whose whole value is a URL of the upstream: the URL of the same place here, in full,
  /// because clients do not resolve such fields. `nil` if the field goes on as it is.
  static func ownURL(
    _ field: Field, of bytes: [UInt8], context: ResponseForwarding.Context, room: inout RewriteBudget
  ) -> [UInt8]? {
    guard room.spendReference(field.value.count) else { return nil }
    let origin = context.snapshot.rules.services[context.route.service].upstream.origin
    let value = CleanReference.bytes(of: Array(bytes[field.value]), scheme: origin.scheme)
    guard case .absolute(let other, let path) = Reference(value, scheme: origin.scheme) else { return nil }
    let isInClear = RewrittenReference.isOwnInClear(other, origin)
    guard other == origin || isInClear else { return nil }
    if let local = RewrittenReference.local(path, context.snapshot.plans[context.route.service], &room) {
      return context.authority.isEmpty ? local : Array("http://".utf8) + context.authority + local
    }
    return isInClear ? Array(origin.description.utf8) + path : nil
  }

  /// `5; url=/next`, and as browsers read it (HTML, "shared declarative refresh steps"): `5,/next`, `5;URL = "/next"`.
  private static func refresh(
    _ value: [UInt8], _ context: ResponseForwarding.Context, _ room: inout RewriteBudget
  ) -> RewrittenReference {
    var rest = value.drop { ASCII.isDigit($0) || $0 == UInt8(ascii: ".") }
    if rest.startIndex == value.startIndex { return .dropped }
    let seconds = value[..<rest.startIndex]
    rest = rest.drop(while: isBlank)
    if rest.isEmpty { return .reference(value) }
    if rest.first == UInt8(ascii: ";") || rest.first == UInt8(ascii: ",") { rest = rest.dropFirst() }
    rest = rest.drop(while: isBlank)
    if rest.isEmpty { return .reference(value) }
    if let after = skipURLWord(rest) { rest = after }
    if let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
      rest = rest.dropFirst().prefix { $0 != quote }
    }
    let place = RewrittenReference(Array(rest), context, &room)
    guard case .reference(let reference) = place else { return place }
    return .reference(seconds + Array("; url=".utf8) + reference)
  }

  /// The text behind `url =`.
  private static func skipURLWord(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard text.prefix(3).map({ $0 | 0x20 }).elementsEqual("url".utf8) else { return nil }
    let rest = text.dropFirst(3).drop(while: isBlank)
    guard rest.first == UInt8(ascii: "=") else { return nil }
    return rest.dropFirst().drop(while: isBlank)
  }

  /// `</next>; rel="next", <…>` (RFC 8288 §3): what stands between angle brackets, outside quoted strings.
  private static func links(
    _ value: [UInt8], _ context: ResponseForwarding.Context, _ room: inout RewriteBudget
  ) -> RewrittenReference {
    var result: [UInt8] = []
    var index = 0
    var isQuoted = false
    // Behind it none is closed any more: the next one need not be searched for that again.
    let lastEnd = value.lastIndex(of: UInt8(ascii: ">")) ?? -1
    while index < value.count {
      let byte = value[index]
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      if isQuoted, byte == UInt8(ascii: "\\"), index + 1 < value.count {
        result.append(byte)
        index += 1
      }
      result.append(value[index])
      index += 1
      guard byte == UInt8(ascii: "<"), !isQuoted, index <= lastEnd,
        let end = value[index...].firstIndex(of: UInt8(ascii: ">"))
      else { continue }
      let place = RewrittenReference(Array(value[index..<end]), context, &room)
      guard case .reference(let reference) = place else { return place }
      result.append(contentsOf: reference)
      index = end
    }
    return .reference(result)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
