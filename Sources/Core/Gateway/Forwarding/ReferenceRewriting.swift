internal import HTTP1
internal import Policy
internal import Primitives

/// Rewrites URLs in response fields (T32).
enum ReferenceRewriting {
  /// Appends the rewritten field, or nothing if its URL cannot be parsed or leads to one of bearerd's listeners.
  static func write(
    _ field: Field, of bytes: [UInt8], context: ResponseForwarding.Context, room: inout RewriteBudget,
    to output: inout ByteBuffer
  ) -> SelfReferenceCheck.Verdict {
    let value = Array(bytes[field.value])
    let result =
      switch field.known {
      case .refresh: refresh(value, context, &room)
      case .link: links(value, context, &room)
      default: RewrittenReference(value, context, &room)
      }
    switch result {
    case .reference(let rewritten):
      FieldWriter.field(name: bytes.span.extracting(field.name), value: rewritten.span, to: &output)
      return .passes
    case .dropped: return .dropped
    case .ours: return .ours
    }
  }

  /// Returns the new value of a field whose whole value is one URL. `nil` if the field is forwarded unchanged.
  static func ownURL(
    _ field: Field, of bytes: [UInt8], context: ResponseForwarding.Context, room: inout RewriteBudget
  ) -> [UInt8]? {
    guard room.spendReference(field.value.count) else { return nil }
    let upstream = context.snapshot.rules.services[context.route.service].upstream
    let origin = upstream.origin
    let value = CleanReference.bytes(of: Array(bytes[field.value]), scheme: origin.scheme)
    guard case .absolute(let other, let path) = Reference(value, scheme: origin.scheme) else { return nil }
    let isInClear = RewrittenReference.isOwnInClear(other, origin)
    guard upstream.isReached(by: other) || isInClear else { return nil }
    if let local = RewrittenReference.local(path, context.snapshot.plans[context.route.service], &room) {
      return context.authority.isEmpty ? local : Array("http://".utf8) + context.authority + local
    }
    return isInClear ? Array(origin.description.utf8) + path : nil
  }

  /// Rewrites a Refresh value such as `5; url=/next`.
  private static func refresh(
    _ value: [UInt8], _ context: ResponseForwarding.Context, _ room: inout RewriteBudget
  ) -> RewrittenReference {
    var rest = value.drop { ASCII.isDigit($0) || $0 == UInt8(ascii: ".") }
    if rest.startIndex == value.startIndex { return .dropped }
    let seconds = value[..<rest.startIndex]
    rest = rest.drop(while: ASCII.isBlank)
    if rest.isEmpty { return .reference(value) }
    if rest.first == UInt8(ascii: ";") || rest.first == UInt8(ascii: ",") { rest = rest.dropFirst() }
    rest = rest.drop(while: ASCII.isBlank)
    if rest.isEmpty { return .reference(value) }
    if let after = skipURLWord(rest) { rest = after }
    if let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
      rest = rest.dropFirst().prefix { $0 != quote }
    }
    let target = RewrittenReference(Array(rest), context, &room)
    guard case .reference(let reference) = target else { return target }
    return .reference(seconds + Array("; url=".utf8) + reference)
  }

  private static func skipURLWord(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard text.prefix(3).map({ $0 | 0x20 }).elementsEqual("url".utf8) else { return nil }
    let rest = text.dropFirst(3).drop(while: ASCII.isBlank)
    guard rest.first == UInt8(ascii: "=") else { return nil }
    return rest.dropFirst().drop(while: ASCII.isBlank)
  }

  /// Rewrites the URLs in a Link value such as `</next>; rel="next"` (RFC 8288 §3).
  private static func links(
    _ value: [UInt8], _ context: ResponseForwarding.Context, _ room: inout RewriteBudget
  ) -> RewrittenReference {
    var result: [UInt8] = []
    var index = 0
    var isQuoted = false
    // No bracket closes after this index, so the search need not be repeated.
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
      let target = RewrittenReference(Array(value[index..<end]), context, &room)
      guard case .reference(let reference) = target else { return target }
      result.append(contentsOf: reference)
      index = end
    }
    return .reference(result)
  }
}
