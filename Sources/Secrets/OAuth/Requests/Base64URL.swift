internal import Primitives
@_spi(SecretBytes) internal import Secrets
internal import System

extension Secret {
  /// Appends bytes in base64url without padding (RFC 4648 section 5, RFC 7515 section 2).
  mutating func appendBase64URL(_ bytes: some Sequence<UInt8>) throws(SystemError) {
    var (bits, count): (UInt32, Int) = (0, 0)
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        try append(Self.digit(bits >> UInt32(count)))
      }
      // Only bits that are not written yet
      bits &= 1 << UInt32(count) - 1
    }
    if count > 0 { try append(Self.digit(bits << UInt32(6 - count))) }
  }

  private static func digit(_ bits: UInt32) -> UInt8 {
    switch UInt8(truncatingIfNeeded: bits & 63) {
    case 62: UInt8(ascii: "-")
    case 63: UInt8(ascii: "_")
    case let value: Base64.character(value)
    }
  }
}
