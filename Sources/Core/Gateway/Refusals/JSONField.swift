internal import Policy
import Primitives

/// Searches an untrusted JSON text (RFC 8259) for one value.
struct JSONField {
  private let bytes: [UInt8]
  private var position = 0

  private static let maximumDepth = 16

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Whether the JSON text has `sign.value` at the path `sign.path`.
  static func isPresent(_ sign: JSONFieldSign, in bytes: [UInt8]) -> Bool {
    var reader = JSONField(bytes)
    reader.skipBlanks()
    guard let isMatch = reader.find(sign.path[...], sign.value, depth: 0) else { return false }
    reader.skipBlanks()
    return isMatch && reader.position == bytes.count
  }

  /// Reads one JSON value. Returns whether it has `value` at `path`, or `nil` if the text is malformed.
  private mutating func find(_ path: ArraySlice<[UInt8]>, _ value: [UInt8], depth: Int) -> Bool? {
    guard depth <= Self.maximumDepth else { return nil }
    guard let name = path.first else { return scalar().map { $0 == value } ?? skip(depth) }
    let rest = path.dropFirst()
    if consumeIf("{") { return findInObject(name, rest, value, depth) }
    if consumeIf("[") { return findInArray(name, rest, value, depth) }
    return skip(depth)
  }

  private mutating func findInObject(
    _ name: [UInt8], _ rest: ArraySlice<[UInt8]>, _ value: [UInt8], _ depth: Int
  ) -> Bool? {
    var found: Bool?
    skipBlanks()
    if consumeIf("}") { return false }
    repeat {
      skipBlanks()
      guard let key = text() else { return nil }
      skipBlanks()
      guard consumeIf(":") else { return nil }
      skipBlanks()
      if key == name {
        guard found == nil, let isMatch = find(rest, value, depth: depth + 1) else { return nil }
        found = isMatch
      } else if skip(depth + 1) == nil {
        return nil
      }
      skipBlanks()
    } while consumeIf(",")
    return consumeIf("}") ? found ?? false : nil
  }

  private mutating func findInArray(
    _ name: [UInt8], _ rest: ArraySlice<[UInt8]>, _ value: [UInt8], _ depth: Int
  ) -> Bool? {
    var found = false
    var index = 0
    skipBlanks()
    if consumeIf("]") { return false }
    repeat {
      skipBlanks()
      if name == Array(String(index).utf8) {
        guard let isMatch = find(rest, value, depth: depth + 1) else { return nil }
        found = isMatch
      } else if skip(depth + 1) == nil {
        return nil
      }
      index += 1
      skipBlanks()
    } while consumeIf(",")
    return consumeIf("]") ? found : nil
  }

  /// Skips a value that cannot match. Returns `false`, or `nil` if the text is malformed.
  private mutating func skip(_ depth: Int) -> Bool? {
    guard depth <= Self.maximumDepth else { return nil }
    if consumeIf("{") { return findInObject([0], [], [], depth).map { _ in false } }
    if consumeIf("[") { return findInArray([0], [], [], depth).map { _ in false } }
    return scalar().map { _ in false }
  }

  /// Reads a string, a number, `true`, `false` or `null`. Returns `nil` for other text, and for a malformed string.
  private mutating func scalar() -> [UInt8]? {
    if position < bytes.count, bytes[position] == UInt8(ascii: "\"") { return text() }
    let start = position
    while position < bytes.count, Self.isWordByte(bytes[position]) { position += 1 }
    return position > start ? Array(bytes[start..<position]) : nil
  }

  /// Reads a string. Returns its bytes with the escapes decoded, or `nil` if it is malformed.
  private mutating func text() -> [UInt8]? {
    guard consumeIf("\"") else { return nil }
    var text: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return text
      case 0..<0x20: return nil
      case UInt8(ascii: "\\"):
        guard let escaped = escape() else { return nil }
        text += escaped
      default: text.append(byte)
      }
    }
    return nil
  }

  /// Reads the rest of an escape, after the backslash. Returns `nil` if it is malformed.
  private mutating func escape() -> [UInt8]? {
    guard position < bytes.count else { return nil }
    let byte = bytes[position]
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"):
      guard bytes.count - position >= 4 else { return nil }
      let digits = String(decoding: bytes[position..<(position + 4)], as: UTF8.self)
      guard digits.utf8.allSatisfy({ ASCII.isDigit($0) || (0x61...0x66).contains($0 | 0x20) }),
        let code = UInt32(digits, radix: 16)
      else { return nil }
      position += 4
      // 0xFF, for a surrogate, matches no searched value.
      return Unicode.Scalar(code).map { Array(String(Character($0)).utf8) } ?? [0xFF]
    default: return nil
    }
  }

  private mutating func consumeIf(_ byte: Unicode.Scalar) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: byte) else { return false }
    position += 1
    return true
  }

  private mutating func skipBlanks() {
    while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    ASCII.isLetterOrDigit(byte) || "-+.".utf8.contains(byte)
  }
}
