package import HTTP1
internal import Primitives

/// A request-target in its one canonical form, with the other readings that an upstream might take of it.
/// Plain `.` segments removed (RFC 3986 §5.2.4, as browsers do), unreserved characters decoded, remaining escapes in upper case
/// (§6.2.2), bytes that a URL only has in escaped form percent-encoded, nothing else changed.
package struct CanonicalTarget: Sendable {
  /// Matched, logged and sent; begins with `/`. Empty for `*` (OPTIONS).
  package private(set) var path: [UInt8] = []
  /// The query with its `?`, as it came but for bytes that are percent-encoded. Empty if the target has no query.
  package private(set) var query: [UInt8] = []
  /// Other paths that an upstream might read (see `PathReading`). Empty for plain paths, which take the fast path.
  package private(set) var readings: [[UInt8]] = []

  package init() {}

  /// Reads the origin-form (RFC 9112 §3.2.1), the asterisk-form, or what follows the authority of an absolute-form: there
  /// an empty path means `/`. Keeps its storage; after an error the value means nothing.
  ///
  /// Encodes bytes outside ASCII and `[ ] { } | ^` and the backquote, which no server reads in two ways. In a query, `"`, `<`,
  /// `>` and the backslash are encoded as well: nothing there separates segments.
  ///
  /// Refuses `..` segments, and in any reading those of dots that are escaped (twice as well: cheap, and no honest path has
  /// them) or have parameters; control bytes (plain or escaped), blanks, bad escapes and fragments; `\`, `"`, `<` and `>` in a
  /// path; and paths with more readings than anybody needs.
  package mutating func read(_ target: Span<UInt8>) throws(PolicyRefusal) {
    if !query.isEmpty { query.removeAll(keepingCapacity: true) }
    if !readings.isEmpty { readings.removeAll(keepingCapacity: true) }
    if target.count == 1, target[0] == UInt8(ascii: "*") { return path.removeAll(keepingCapacity: true) }

    let (end, isPlain) = try Self.scanPath(target)
    if end < target.count {
      if try Self.isPlainQuery(target, from: end) {
        query.append(target.extracting(end...))
      } else {
        appendQuery(target.extracting(end...))
      }
    }
    if end == 0 {
      path = [UInt8(ascii: "/")]
    } else if isPlain {
      path.replaceAll(with: target.extracting(..<end))
    } else {
      path.removeAll(keepingCapacity: true)
      try canonicalise(target.extracting(..<end))
      if PathReading.hasDotSegment(path) { throw .dotSegment }
      readings = try PathReading.others(of: path)
    }
  }

  /// As new, but for its storage: the path is zeros, as many as there were bytes.
  package mutating func forget() {
    path.wipe()
    if !query.isEmpty { query = [] }
    if !readings.isEmpty { readings = [] }
  }

  /// Keeps a target that was refused, up to its query, for those who look for it: no rule may ever see it.
  package mutating func keep(unreadable target: Span<UInt8>) {
    path.removeAll(keepingCapacity: true)
    query.removeAll(keepingCapacity: true)
    readings.removeAll(keepingCapacity: true)
    for index in target.indices {
      if target[index] == UInt8(ascii: "?") || target[index] == UInt8(ascii: "#") { return }
      path.append(target[index])
    }
  }

  /// The end of the path, and whether it has only one reading: no escape, no `;`, no `//`, no segment that may be `.` or `..`.
  private static func scanPath(_ target: Span<UInt8>) throws(PolicyRefusal) -> (end: Int, isPlain: Bool) {
    guard target.count > 0 else { return (0, true) }
    guard target[0] == UInt8(ascii: "/") || target[0] == UInt8(ascii: "?") else { throw .badPath }
    var isPlain = true
    var previous: UInt8 = 0
    for index in target.indices {
      let byte = target[index]
      switch byte {
      case UInt8(ascii: "/"), UInt8(ascii: "."):
        // A dot that opens a segment is rare enough to be looked at slowly, `.well-known` included.
        if previous == UInt8(ascii: "/") { isPlain = false }
      case UInt8(ascii: "%"), UInt8(ascii: ";"):
        isPlain = false
      case UInt8(ascii: "?"):
        return (index, isPlain)
      case UInt8(ascii: "#"):
        throw .fragment
      default:
        if ByteClass.isPathCharacter(byte) { break }
        if !ByteClass.isEncodedInPaths(byte) { throw .forbiddenCharacter }
        isPlain = false
      }
      previous = byte
    }
    return (target.count, isPlain)
  }

  /// Whether a query has no byte that is to be encoded.
  private static func isPlainQuery(_ target: Span<UInt8>, from start: Int) throws(PolicyRefusal) -> Bool {
    var isPlain = true
    for index in start..<target.count {
      let byte = target[index]
      if ByteClass.isQueryCharacter(byte) { continue }
      if byte == UInt8(ascii: "#") { throw .fragment }
      if byte <= 0x20 || byte == 0x7f { throw .forbiddenCharacter }
      isPlain = false
    }
    return isPlain
  }

  private mutating func appendQuery(_ text: Span<UInt8>) {
    for index in text.indices {
      if ByteClass.isQueryCharacter(text[index]) {
        query.append(text[index])
      } else {
        EscapedByte.write(text[index], to: &query)
      }
    }
  }

  /// A plain `.` and nothing else. Its meaning is not in doubt: without it the path means the same place to every server.
  private static func isDotSegment(at index: Int, of text: Span<UInt8>) -> Bool {
    guard text[index] == UInt8(ascii: "."), index > 0, text[index - 1] == UInt8(ascii: "/") else { return false }
    return index + 1 == text.count || text[index + 1] == UInt8(ascii: "/")
  }

  private mutating func canonicalise(_ text: Span<UInt8>) throws(PolicyRefusal) {
    var index = 0
    while index < text.count {
      if Self.isDotSegment(at: index, of: text) {
        // With the slash behind it; the one before it stays.
        index += 2
        continue
      }
      guard text[index] == UInt8(ascii: "%") else {
        if ByteClass.isEncodedInPaths(text[index]) {
          EscapedByte.write(text[index], to: &path)
        } else {
          path.append(text[index])
        }
        index += 1
        continue
      }
      guard let byte = EscapedByte.at(index, in: text) else { throw .badEscape }
      if ByteClass.isControl(byte) { throw .forbiddenCharacter }
      if ByteClass.isUnreserved(byte) { path.append(byte) } else { EscapedByte.write(byte, to: &path) }
      index += 3
    }
  }
}

extension CanonicalTarget {
  /// Returns the first byte for which `read` refuses a target as `forbiddenCharacter`, or `nil` if there is none.
  package static func forbiddenCharacter(in target: Span<UInt8>) -> TargetCharacter? {
    var isQuery = false
    for index in target.indices {
      let byte = target[index]
      if byte == UInt8(ascii: "?") { isQuery = true }
      if byte <= 0x20 || byte == 0x7f { return TargetCharacter(byte, at: index + 1) }
      if isQuery || byte == UInt8(ascii: "/") || ByteClass.isPathCharacter(byte) || ByteClass.isEncodedInPaths(byte) {
        continue
      }
      guard byte == UInt8(ascii: "%") else { return TargetCharacter(byte, at: index + 1) }
      if let escaped = EscapedByte.at(index, in: target), ByteClass.isControl(escaped) {
        return TargetCharacter(escaped, at: index + 1, isEscaped: true)
      }
    }
    return nil
  }
}

/// `%` and two hexadecimal digits (RFC 3986 §2.1).
package enum EscapedByte {
  /// The byte that the escape at `index` stands for; nil when there is none.
  static func at(_ index: Int, in text: Span<UInt8>) -> UInt8? {
    guard text.count - index >= 3, text[index] == UInt8(ascii: "%"),
      let high = ASCII.hexValue(text[index + 1]), let low = ASCII.hexValue(text[index + 2])
    else { return nil }
    return high << 4 | low
  }

  /// Appends the escape that stands for a byte, in upper case.
  package static func write(_ byte: UInt8, to text: inout [UInt8]) {
    text.append(UInt8(ascii: "%"))
    text.append(ASCII.uppercaseHexDigit(byte >> 4))
    text.append(ASCII.uppercaseHexDigit(byte))
  }
}
