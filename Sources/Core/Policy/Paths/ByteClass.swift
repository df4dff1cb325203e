/// Character classes of URLs (RFC 3986 §2).
enum ByteClass {
  // Bit masks, because a global table is initialized lazily, which costs a check at each access.

  /// Whether the byte is a letter, a digit or one of `-._~` (RFC 3986 §2.3).
  static func isUnreserved(_ byte: UInt8) -> Bool {
    isIn(byte, low: 0x03ff_6000_0000_0000, high: 0x47ff_fffe_87ff_fffe)
  }

  /// Whether the byte may be unescaped in a path segment (RFC 3986 §3.3).
  static func isPathCharacter(_ byte: UInt8) -> Bool {
    isIn(byte, low: 0x2fff_7fd2_0000_0000, high: 0x47ff_fffe_87ff_ffff)
  }

  /// Whether the byte is a reserved character (RFC 3986 §2.2) that may be unescaped in a path.
  static func isReservedPathCharacter(_ byte: UInt8) -> Bool {
    isIn(byte, low: 0x2c00_1fd2_0000_0000, high: 0x1)
  }

  /// Whether bearerd percent-encodes the byte in paths: bytes outside ASCII, `[ ] { } | ^` and the backquote.
  static func isEncodedInPaths(_ byte: UInt8) -> Bool {
    byte >= 0x80 || isIn(byte, low: 0, high: 0x3800_0001_6800_0000)
  }

  /// Whether no byte of a configured path needs percent-encoding.
  static func isWrittenAsSent(_ path: [UInt8]) -> Bool { !path.contains(where: isEncodedInPaths) }

  /// Whether the byte may be unescaped in a query, including `%` (RFC 3986 §3.4).
  static func isQueryCharacter(_ byte: UInt8) -> Bool {
    isPathCharacter(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "%")
  }

  /// 0x00-0x1F and 0x7F.
  static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7f }

  /// Whether the byte may be in a token (RFC 9110 §5.6.2), such as a method or field name.
  static func isTokenCharacter(_ byte: UInt8) -> Bool {
    isIn(byte, low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe)
  }

  private static func isIn(_ byte: UInt8, low: UInt64, high: UInt64) -> Bool {
    if byte < 64 { return (low >> UInt64(byte)) & 1 == 1 }
    return byte < 128 && (high >> UInt64(byte &- 64)) & 1 == 1
  }
}
