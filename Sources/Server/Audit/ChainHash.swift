/// The chain value of a record: 32 bytes, written in base64url without padding (RFC 4648 §5).
package struct ChainHash: Equatable, Sendable, CustomStringConvertible {
  /// The chain value before the first record.
  static let start = ChainHash(bytes: [UInt8](repeating: 0, count: 32))
  static let textCount = 43

  var bytes: [UInt8]

  private init(bytes: [UInt8]) { self.bytes = bytes }

  /// Parses a chain value. `nil` if the text is invalid.
  init?(_ text: Span<UInt8>) {
    guard text.count == ChainHash.textCount else { return nil }
    var (bytes, bits, bitCount): ([UInt8], UInt32, UInt32) = ([], 0, 0)
    bytes.reserveCapacity(32)
    for index in text.indices {
      guard let value = ChainHash.alphabet.firstIndex(of: text[index]) else { return nil }
      bits = bits << 6 | UInt32(value)
      bitCount += 6
      if bitCount >= 8 {
        bitCount -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
      }
    }
    guard bits & 3 == 0 else { return nil }
    self.bytes = bytes
  }

  package init?(parsing text: String) { self.init(text.utf8.span) }

  package var description: String {
    var text: [UInt8] = []
    write(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  func write(to output: inout [UInt8]) {
    var (bits, bitCount): (UInt32, UInt32) = (0, 0)
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      bitCount += 8
      while bitCount >= 6 {
        bitCount -= 6
        output.append(ChainHash.alphabet[Int(bits >> bitCount & 63)])
      }
    }
    output.append(ChainHash.alphabet[Int(bits << (6 - bitCount) & 63)])
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
}
