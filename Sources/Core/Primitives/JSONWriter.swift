/// Writes a JSON document (RFC 8259). All characters except printable ASCII are escaped.
package struct JSONWriter {
  package private(set) var bytes: [UInt8] = []
  private var needsComma = false

  package init() {}

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
    bytes.append(open)
    needsComma = false
    inner(&self)
    bytes.append(close)
    needsComma = true
  }

  private mutating func begin(_ name: String?) {
    if needsComma { bytes.append(",") }
    needsComma = true
    guard let name else { return }
    string(name)
    bytes.append(":")
  }

  private mutating func string(_ text: String) {
    bytes.append("\"")
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
    bytes.append("\"")
  }
}
