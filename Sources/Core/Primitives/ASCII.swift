/// Classes and conversions of ASCII bytes. Bytes from 0x80 belong to no class.
@usableFromInline package enum ASCII {
  /// Whether the byte is a space or a tab.
  @inlinable @inline(__always)
  package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  @inlinable @inline(__always)
  package static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  @inlinable @inline(__always)
  package static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

  @inlinable @inline(__always)
  package static func isLetterOrDigit(_ byte: UInt8) -> Bool { isDigit(byte) || isLetter(byte) }

  @inlinable @inline(__always)
  package static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

  package static func lowercased(_ text: String) -> String {
    String(decoding: text.utf8.map { lowercased($0) }, as: UTF8.self)
  }

  @inlinable
  package static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte &- 0x30 }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter &+ 10 : nil
  }

  /// Returns the lower-case hexadecimal digit of the low four bits.
  @inlinable
  package static func hexDigit(_ value: UInt8) -> UInt8 {
    let value = value & 15
    return value < 10 ? value &+ 0x30 : value &+ 0x57
  }

  @inlinable
  package static func uppercaseHexDigit(_ value: UInt8) -> UInt8 {
    let value = value & 15
    return value < 10 ? value &+ 0x30 : value &+ 0x37
  }

  package static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    var digits: [UInt8] = []
    for byte in bytes {
      digits.append(hexDigit(byte >> 4))
      digits.append(hexDigit(byte))
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// Returns the bytes of pairs of hexadecimal digits, or `nil` if `text` has other characters or an odd length.
  package static func bytes(hexadecimal text: some Collection<UInt8>) -> [UInt8]? {
    let values = text.compactMap { hexValue($0) }
    guard values.count == text.count, values.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
  }
}
