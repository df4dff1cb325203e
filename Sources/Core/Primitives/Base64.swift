/// Base64 with padding (RFC 4648 section 4). Decoding refuses other characters, and unused bits that are not zero.
package enum Base64 {
  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let chunk = bytes[start..<min(start + 3, bytes.count)]
      var bits: UInt32 = 0
      for position in 0..<3 {
        bits = bits << 8 | (position < chunk.count ? UInt32(chunk[start + position]) : 0)
      }
      for position in 0..<4 {
        let value = UInt8(truncatingIfNeeded: bits >> UInt32(18 - 6 * position)) & 63
        text.append(position <= chunk.count ? character(value) : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  package static func decode(_ text: [UInt8]) -> [UInt8]? {
    guard text.count.isMultiple(of: 4) else { return nil }
    let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding <= 2 else { return nil }
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    for (index, character) in text.dropLast(padding).enumerated() {
      guard let value = value(character) else { return nil }
      bits = bits << 6 | UInt32(value)
      if index % 4 > 0 { bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(6 - 2 * (index % 4)))) }
    }
    return encode(bytes).utf8.elementsEqual(text) ? bytes : nil
  }

  package static func character(_ value: UInt8) -> UInt8 {
    switch value {
    case 0..<26: UInt8(ascii: "A") + value
    case 26..<52: UInt8(ascii: "a") + value - 26
    case 52..<62: UInt8(ascii: "0") + value - 52
    case 62: UInt8(ascii: "+")
    default: UInt8(ascii: "/")
    }
  }

  package static func value(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
