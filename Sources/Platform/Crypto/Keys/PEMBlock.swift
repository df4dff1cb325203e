/// The first private key of a PEM text (RFC 7468), decoded.
struct PEMBlock {
  enum Label: String, CaseIterable {
    case pkcs8 = "-----BEGIN PRIVATE KEY-----"
    case rsa = "-----BEGIN RSA PRIVATE KEY-----"
    case ec = "-----BEGIN EC PRIVATE KEY-----"
  }

  let label: Label
  /// Number of decoded bytes in the buffer.
  let count: Int

  /// Decodes the first private key in `text`. `buffer` must be at least as large as `text`.
  init(in text: UnsafeRawBufferPointer, decodedInto buffer: UnsafeMutableRawBufferPointer) throws(PrivateKeyNumbers
    .Problem)
  {
    var start = 0
    while start < text.count {
      let rest = text[start...]
      if rest.first == UInt8(ascii: "-"),
        let label = Label.allCases.first(where: { rest.starts(with: $0.rawValue.utf8) })
      {
        self.label = label
        count = try Self.decode(text, from: start + label.rawValue.utf8.count, into: buffer)
        return
      }
      start += 1
    }
    throw .noPEM
  }

  /// Decodes base64 up to the `-` of the end line, and returns the number of decoded bytes.
  private static func decode(
    _ text: UnsafeRawBufferPointer, from start: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(PrivateKeyNumbers.Problem) -> Int {
    // Throws for an encrypted key, whose header has a colon.
    var (bits, bitCount, count) = (UInt32(0), 0, 0)
    for byte in text[start...] {
      let value: UInt32
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(byte - UInt8(ascii: "A"))
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(byte - UInt8(ascii: "a")) + 26
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt32(byte - UInt8(ascii: "0")) + 52
      case UInt8(ascii: "+"): value = 62
      case UInt8(ascii: "/"): value = 63
      case UInt8(ascii: "="), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: " "), UInt8(ascii: "\t"): continue
      case UInt8(ascii: "-"): return count
      default: throw .noPEM
      }
      bits = (bits << 6 | value) & 0xFFFF
      bitCount += 6
      if bitCount >= 8 {
        bitCount -= 8
        guard count < buffer.count else { throw .malformed }
        buffer[count] = UInt8(truncatingIfNeeded: bits >> UInt32(bitCount))
        count += 1
      }
    }
    throw .noPEM
  }
}
