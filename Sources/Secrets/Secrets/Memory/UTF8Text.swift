/// Returns whether the bytes are valid UTF-8 (RFC 3629).
@_spi(SecretBytes) public func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
  // The standard library would copy the secret into a String.
  var index = 0
  while index < bytes.count {
    let (length, range): (Int, ClosedRange<UInt8>) =
      switch bytes[index] {
      case 0...0x7F: (1, 0...0xFF)
      case 0xC2...0xDF: (2, 0x80...0xBF)
      case 0xE0: (3, 0xA0...0xBF)
      case 0xED: (3, 0x80...0x9F)
      case 0xE1...0xEF: (3, 0x80...0xBF)
      case 0xF0: (4, 0x90...0xBF)
      case 0xF1...0xF3: (4, 0x80...0xBF)
      case 0xF4: (4, 0x80...0x8F)
      default: (0, 0...0)
      }
    guard length > 0, length <= bytes.count - index else { return false }
    if length > 1 {
      guard range.contains(bytes[index + 1]) else { return false }
      for offset in 2..<max(2, length) where !(0x80...0xBF).contains(bytes[index + offset]) { return false }
    }
    index += length
  }
  return true
}
