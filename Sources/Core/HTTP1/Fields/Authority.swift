import Primitives

/// The authority of a Host field or of an absolute-form target (RFC 9110 §4.2, §7.2), without userinfo.
enum Authority {
  /// A host name or an IP literal, and maybe a port of 1...65535. Host names consist of letters, digits, `-`, `.` and
  /// `_`, with no empty label but the last; percent-encoding, zone identifiers and an empty host are refused, an empty
  /// port too.
  static func isValid(_ authority: Span<UInt8>, needsPort: Bool = false) -> Bool {
    guard let end = authority.isEmpty ? nil : endOfHost(authority) else { return false }
    if end == authority.count { return !needsPort }
    return authority[end] == Byte.colon && isPort(authority.extracting(droppingFirst: end &+ 1))
  }

  private static func endOfHost(_ authority: Span<UInt8>) -> Int? {
    authority[0] == openingBracket ? endOfLiteral(authority) : endOfName(authority)
  }

  private static func endOfName(_ authority: Span<UInt8>) -> Int? {
    var end = 0
    var previous = Byte.dot
    while end < authority.count, Grammar.isHost(authority[end]) {
      if authority[end] == Byte.dot && previous == Byte.dot { return nil }
      previous = authority[end]
      end &+= 1
    }
    return end > 0 && end <= nameBytes ? end : nil
  }

  /// Only the characters: what address it is, is for those to say who compare it.
  private static func endOfLiteral(_ authority: Span<UInt8>) -> Int? {
    var end = 1
    var colons = 0
    while end < authority.count, authority[end] != closingBracket {
      let byte = authority[end]
      guard byte == Byte.colon || byte == Byte.dot || ASCII.hexValue(byte) != nil else { return nil }
      if byte == Byte.colon { colons &+= 1 }
      end &+= 1
    }
    guard end < authority.count, colons >= 2, end <= literalBytes else { return nil }
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
  /// The longest name in the DNS, with its last dot.
  private static var nameBytes: Int { 254 }
  /// `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255` has 45, and the opening bracket.
  private static var literalBytes: Int { 46 }
}
