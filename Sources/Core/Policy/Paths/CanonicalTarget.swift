// Called by `Exchange.decide`, and for the references in messages.
// Calls `PathReading`.

package import HTTP1
internal import Primitives

/// A request-target in canonical form (RFC 3986 §5.2.4, §6.2.2), and the other paths that an upstream might read in it.
package struct CanonicalTarget: Sendable {
  /// The path to match, log and send: begins with `/`, or is empty for the target `*`.
  package private(set) var path: [UInt8] = []
  /// The query with its `?`. Empty if the target has no query.
  package private(set) var query: [UInt8] = []
  /// Other paths that an upstream might read. Empty for most paths.
  package private(set) var readings: [[UInt8]] = []

  package init() {}

  /// Parses `*`, or a path with an optional query (RFC 9112 §3.2). Throws for invalid characters and escapes, and for
  /// paths that upstreams could interpret differently, such as paths with `..`. If this function throws, the contents
  /// are undefined.
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
      try canonicalize(target.extracting(..<end))
      if PathReading.hasDotSegment(path) { throw .dotSegment }
      readings = try PathReading.others(of: path)
    }
  }

  /// Overwrites the path with zeros, and keeps its length, so that `read` can use its memory again.
  package mutating func wipe() {
    path.wipe()
    if !query.isEmpty { query = [] }
    if !readings.isEmpty { readings = [] }
  }

  /// Stores an invalid target without its query, for the log and for finding the service. Do not apply rules to this
  /// path.
  package mutating func store(unparsed target: Span<UInt8>) {
    path.removeAll(keepingCapacity: true)
    query.removeAll(keepingCapacity: true)
    readings.removeAll(keepingCapacity: true)
    for index in target.indices {
      if target[index] == UInt8(ascii: "?") || target[index] == UInt8(ascii: "#") { return }
      path.append(target[index])
    }
  }

  /// Returns the end of the path, and whether the path needs no decoding or removal of segments.
  private static func scanPath(_ target: Span<UInt8>) throws(PolicyRefusal) -> (end: Int, isPlain: Bool) {
    guard target.count > 0 else { return (0, true) }
    guard target[0] == UInt8(ascii: "/") || target[0] == UInt8(ascii: "?") else { throw .badPath }
    var isPlain = true
    var previous: UInt8 = 0
    for index in target.indices {
      let byte = target[index]
      switch byte {
      case UInt8(ascii: "/"), UInt8(ascii: "."):
        // Segments that begin with a dot, such as `.well-known`, are rare enough for the slow path.
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

  /// Whether no byte of the query needs percent-encoding.
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
      EscapedByte.write(text[index], to: &query, unless: ByteClass.isQueryCharacter(text[index]))
    }
  }

  /// Whether an unescaped `.` segment begins at `index`.
  private static func isDotSegment(at index: Int, of text: Span<UInt8>) -> Bool {
    // All servers read such a segment in the same way, so removing it is safe.
    guard text[index] == UInt8(ascii: "."), index > 0, text[index - 1] == UInt8(ascii: "/") else { return false }
    return index + 1 == text.count || text[index + 1] == UInt8(ascii: "/")
  }

  private mutating func canonicalize(_ text: Span<UInt8>) throws(PolicyRefusal) {
    var index = 0
    while index < text.count {
      if Self.isDotSegment(at: index, of: text) {
        // Skip the slash behind the dot as well. The slash before it stays.
        index += 2
        continue
      }
      guard text[index] == UInt8(ascii: "%") else {
        EscapedByte.write(text[index], to: &path, unless: !ByteClass.isEncodedInPaths(text[index]))
        index += 1
        continue
      }
      guard let byte = EscapedByte.at(index, in: text) else { throw .badEscape }
      if ByteClass.isControl(byte) { throw .forbiddenCharacter }
      EscapedByte.write(byte, to: &path, unless: ByteClass.isUnreserved(byte))
      index += 3
    }
  }

  /// Returns the first forbidden byte of a target; `nil` if there is none.
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

/// A percent-escape: `%` and two hexadecimal digits (RFC 3986 §2.1).
package enum EscapedByte {
  static func at(_ index: Int, in text: Span<UInt8>) -> UInt8? {
    guard text.count - index >= 3, text[index] == UInt8(ascii: "%"),
      let high = ASCII.hexValue(text[index + 1]), let low = ASCII.hexValue(text[index + 2])
    else { return nil }
    return high << 4 | low
  }

  /// Appends the byte, escaped unless `isPlain` is `true`.
  package static func write(_ byte: UInt8, to text: inout [UInt8], unless isPlain: Bool = false) {
    if isPlain { return text.append(byte) }
    text.append(UInt8(ascii: "%"))
    text.append(ASCII.uppercaseHexDigit(byte >> 4))
    text.append(ASCII.uppercaseHexDigit(byte))
  }
}
