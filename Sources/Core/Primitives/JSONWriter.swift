/// Writes a JSON document (RFC 8259). All characters except printable ASCII are escaped.
package struct JSONWriter {
  package private(set) var bytes: [UInt8] = []
  private var needsComma = false

  private let hasSnakeCaseNames: Bool

  /// - Parameter hasSnakeCaseNames: `true` to write the name `lastStatus` as `last_status`. Such names need no escaping.
  package init(hasSnakeCaseNames: Bool = false) { self.hasSnakeCaseNames = hasSnakeCaseNames }

  package mutating func object(_ name: String? = nil, _ members: (inout JSONWriter) -> Void) {
    nest(name, "{", members, "}")
  }

  package mutating func array(_ name: String? = nil, _ elements: (inout JSONWriter) -> Void) {
    nest(name, "[", elements, "]")
  }

  package mutating func member(_ name: String? = nil, _ text: String?) {
    begin(name)
    if let text { string(text) } else { bytes.append("null") }
  }

  package mutating func member(_ name: String? = nil, _ number: UInt64?) {
    begin(name)
    if let number { bytes.append(decimal: number) } else { bytes.append("null") }
  }

  package mutating func member(_ name: String? = nil, _ flag: Bool) {
    begin(name)
    bytes.append(flag ? "true" : "false")
  }

  private mutating func nest(_ name: String?, _ open: String, _ inner: (inout JSONWriter) -> Void, _ close: String) {
    begin(name)
    self.open(open)
    inner(&self)
    self.close(close)
  }

  package mutating func open(_ bracket: String) {
    bytes.append(bracket)
    needsComma = false
  }

  package mutating func close(_ bracket: String) {
    bytes.append(bracket)
    needsComma = true
  }

  /// Begins a member or an element. Its value follows.
  package mutating func begin(_ name: String?) {
    if needsComma { bytes.append(",") }
    needsComma = true
    guard let name else { return }
    if hasSnakeCaseNames { snakeCase(name) } else { string(name) }
    bytes.append(":")
  }

  private mutating func snakeCase(_ name: String) {
    bytes.append("\"")
    for byte in name.utf8 {
      let small = ASCII.lowercased(byte)
      if small != byte { bytes.append("_") }
      bytes.append(small)
    }
    bytes.append("\"")
  }

  private mutating func string(_ text: String) {
    bytes.append("\"")
    defer { bytes.append("\"") }
    // Most texts have only characters that stand for themselves.
    let isPlain = text.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    if isPlain { return bytes.append(text) }
    for unit in text.utf16 {
      switch unit {
      case 0x22, 0x5C:
        bytes.append("\\")
        bytes.append(UInt8(truncatingIfNeeded: unit))
      case 0x20...0x7E: bytes.append(UInt8(truncatingIfNeeded: unit))
      default:
        bytes.append("\\u")
        for shift in [12, 8, 4, 0] { bytes.append(hexadecimal: UInt64(unit >> shift & 0xF)) }
      }
    }
  }
}
