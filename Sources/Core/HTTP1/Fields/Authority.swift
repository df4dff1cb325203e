import Primitives

/// Validates the authority of a Host field or an absolute-form target (RFC 9110 §4.2, §7.2).
enum Authority {
  /// Whether the text is a host name or an IP address in brackets, with a port if `needsPort` is `true`.
  static func isValid(_ authority: Span<UInt8>, needsPort: Bool = false) -> Bool {
    guard !authority.isEmpty,
      let end = authority[0] == openingBracket ? endOfLiteral(authority) : endOfName(authority)
    else { return false }
    if end == authority.count { return !needsPort }
    return authority[end] == Byte.colon && isPort(authority.extracting(droppingFirst: end &+ 1))
  }

  private static func endOfName(_ authority: Span<UInt8>) -> Int? {
    var end = 0
    var previous = Byte.dot
    while end < authority.count, Grammar.isHost(authority[end]) {
      if authority[end] == Byte.dot && previous == Byte.dot { return nil }
      previous = authority[end]
      end &+= 1
    }
    return end > 0 && end <= maximumNameLength ? end : nil
  }

  /// Returns the position after an IP address in brackets, or `nil` if it is malformed.
  private static func endOfLiteral(_ authority: Span<UInt8>) -> Int? {
    var end = 1
    var colons = 0
    while end < authority.count, authority[end] != closingBracket {
      let byte = authority[end]
      guard byte == Byte.colon || byte == Byte.dot || ASCII.hexValue(byte) != nil else { return nil }
      if byte == Byte.colon { colons &+= 1 }
      end &+= 1
    }
    guard end < authority.count, colons >= 2, end <= maximumLiteralLength else { return nil }
    return end &+ 1
  }

  private static func isPort(_ digits: Span<UInt8>) -> Bool {
    guard (1...5).contains(digits.count) else { return false }
    var port = 0
    for index in digits.indices {
      guard ASCII.isDigit(digits[index]) else { return false }
      port = port &* 10 &+ Int(digits[index] &- Byte.zero)
    }
    return port >= 1 && port <= 65_535
  }

  private static var openingBracket: UInt8 { 0x5B }
  private static var closingBracket: UInt8 { 0x5D }
  /// Maximum length of a host name in bytes.
  private static var maximumNameLength: Int { 254 }
  /// Maximum length of an IP address in bytes, including `[` but not `]`.
  private static var maximumLiteralLength: Int { 46 }
}
