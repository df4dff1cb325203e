import Primitives

/// Matching of a compiled pattern against a path. A symbol is one character of a path: a byte as it stands, or 256 and the
/// byte of an escape, so that `?` takes a whole `%20` and no literal can match half of it.
///
/// All states of the pattern are followed at once, in the bits of one word: time is bounded by path × pattern,
/// whatever the stars (no backtracking), and nothing is allocated.
enum Glob {
  typealias Symbol = UInt16

  static let slash = Symbol(UInt8(ascii: "/"))
  /// `?`: one character, no slash.
  static let one: Symbol = 512
  /// `*`: any characters, no slash.
  static let star: Symbol = 513
  /// `**`: anything.
  static let stars: Symbol = 514
  /// `**/`: nothing, or anything that ends with a slash.
  static let starsSlash: Symbol = 515

  /// Symbols from the first wildcard on; the literal part before it may be of any length.
  static let maximumStates = 120

  static func isWildcard(_ symbol: Symbol) -> Bool { symbol >= one }

  /// Whether entering this symbol's state may pass it by without a character.
  static func mayBeEmpty(_ symbol: Symbol) -> Bool { symbol >= star }

  static func escaped(_ byte: UInt8) -> Symbol { 256 | Symbol(byte) }

  /// ASCII letters in lower case. An escape never stands for one: letters are written plain in a canonical path.
  static func lowercased(_ symbol: Symbol) -> Symbol {
    symbol < 128 ? Symbol(ASCII.lowercased(UInt8(symbol))) : symbol
  }

  /// The other case of an ASCII letter; any other symbol is itself.
  static func otherCase(_ symbol: Symbol) -> Symbol {
    symbol < 128 && ASCII.isLetter(UInt8(symbol)) ? symbol ^ 0x20 : symbol
  }

  /// The symbol at `index`, which moves behind it. A stray `%` stands for itself.
  @inline(__always)
  private static func symbol(of path: Span<UInt8>, at index: inout Int, ignoringCase: Bool) -> Symbol {
    let byte = path[index]
    if byte == UInt8(ascii: "%"), let value = EscapedByte.at(index, in: path) {
      index &+= 3
      return escaped(value)
    }
    index &+= 1
    return Symbol(ignoringCase ? ASCII.lowercased(byte) : byte)
  }

  /// - Parameter pattern: at most `maximumStates` symbols behind `literals`.
  /// - Parameter literals: how many symbols at the start are no wildcards.
  /// - Parameter ignoringCase: letters of the path are compared in lower case, in which the pattern has them then.
  static func matches(_ path: Span<UInt8>, pattern: Span<Symbol>, literals: Int, ignoringCase: Bool = false) -> Bool {
    // Two copies, so that exact patterns do not pay for the others at each byte.
    ignoringCase
      ? follow(path, pattern, literals, ignoringCase: true) : follow(path, pattern, literals, ignoringCase: false)
  }

  @inline(__always)
  private static func follow(
    _ path: Span<UInt8>, _ pattern: Span<Symbol>, _ literals: Int, ignoringCase: Bool
  ) -> Bool {
    var index = 0
    for position in 0..<literals {
      guard index < path.count,
        symbol(of: path, at: &index, ignoringCase: ignoringCase) == pattern[position]
      else { return false }
    }
    if literals == pattern.count { return index == path.count }
    let rest = pattern.extracting(literals...)
    var states = entering(0, of: rest)
    while index < path.count {
      if isDecided(states, by: rest) { return true }
      let symbol = symbol(of: path, at: &index, ignoringCase: ignoringCase)
      var active = states
      states = 0
      while active != 0 {
        let position = active.trailingZeroBitCount
        active &= active &- 1
        states |= following(position, on: symbol, of: rest)
      }
      if states == 0 { return false }
    }
    return states >> UInt128(rest.count) & 1 == 1
  }

  /// A closing `**` is reached: whatever comes, it matches.
  private static func isDecided(_ states: UInt128, by pattern: Span<Symbol>) -> Bool {
    let last = pattern.count &- 1
    return pattern[last] == stars && states >> UInt128(last) & 1 == 1
  }

  /// The states that are reached with the one before `position`, without a further character.
  private static func entering(_ position: Int, of pattern: Span<Symbol>) -> UInt128 {
    var position = position
    var states: UInt128 = 1 << UInt128(position)
    while position < pattern.count, mayBeEmpty(pattern[position]) {
      position += 1
      states |= 1 << UInt128(position)
    }
    return states
  }

  private static func following(_ position: Int, on symbol: Symbol, of pattern: Span<Symbol>) -> UInt128 {
    guard position < pattern.count else { return 0 }
    switch pattern[position] {
    case one: return symbol == slash ? 0 : entering(position + 1, of: pattern)
    case star: return symbol == slash ? 0 : entering(position, of: pattern)
    case stars: return entering(position, of: pattern)
    case starsSlash:
      // In the middle of it only a slash ends it; being empty was decided on entering.
      let stay: UInt128 = 1 << UInt128(position)
      return symbol == slash ? stay | entering(position + 1, of: pattern) : stay
    case let literal: return literal == symbol ? entering(position + 1, of: pattern) : 0
    }
  }
}
