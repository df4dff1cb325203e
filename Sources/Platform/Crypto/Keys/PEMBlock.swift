/// The first private key of a PEM text (RFC 7468), decoded.
struct PEMBlock {
  enum Label: String, CaseIterable {
    case pkcs8 = "-----BEGIN PRIVATE KEY-----"
    case rsa = "-----BEGIN RSA PRIVATE KEY-----"
    case ec = "-----BEGIN EC PRIVATE KEY-----"
  }

  let label: Label
  /// Bytes that were written.
  let count: Int

  /// - Parameter room: as large as `text`.
  init(in text: UnsafeRawBufferPointer, decodedInto room: UnsafeMutableRawBufferPointer) throws(PrivateKeyNumbers
    .Problem)
  {
    var start = 0
    while start < text.count {
      let rest = text[start...]
      if rest.first == UInt8(ascii: "-"),
        let label = Label.allCases.first(where: { rest.starts(with: $0.rawValue.utf8) })
      {
        self.label = label
        count = try Self.decode(text, from: start + label.rawValue.utf8.count, into: room)
        return
      }
      start += 1
    }
    throw .noPEM
  }

  /// Up to the `-` of its end. What is encrypted has a colon first.
  private static func decode(
    _ text: UnsafeRawBufferPointer, from start: Int, into room: UnsafeMutableRawBufferPointer
  ) throws(PrivateKeyNumbers.Problem) -> Int {
    var (bits, held, count) = (UInt32(0), 0, 0)
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
      held += 6
      if held >= 8 {
        held -= 8
        guard count < room.count else { throw .malformed }
        room[count] = UInt8(truncatingIfNeeded: bits >> UInt32(held))
        count += 1
      }
    }
    throw .noPEM
  }
}
