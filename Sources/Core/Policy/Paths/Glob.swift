import Primitives

/// Matches a compiled pattern, which consists of symbols, against a path. A symbol is a wildcard, a plain byte, or 256
/// plus an escaped byte.
enum Glob {
  // An escape is one symbol, so that `?` matches a whole `%20`, and no literal can match half of it.
  // Active states are bits of one word, without backtracking or allocation. The time is at most proportional to
  // path × pattern.

  typealias Symbol = UInt16

  static let slash = Symbol(UInt8(ascii: "/"))
  /// `?`: one character, no slash.
  static let questionMark: Symbol = 512
  /// `*`: any characters, no slash.
  static let star: Symbol = 513
  /// `**`: any characters.
  static let doubleStar: Symbol = 514
  /// `**/`: nothing, or any characters that end with a slash.
  static let doubleStarSlash: Symbol = 515

  /// Maximum number of symbols from a pattern's first wildcard on.
  static let maximumStates = 120

  static func isWildcard(_ symbol: Symbol) -> Bool { symbol >= questionMark }

  /// Whether the symbol can match the empty text.
  static func mayBeEmpty(_ symbol: Symbol) -> Bool { symbol >= star }

  static func escaped(_ byte: UInt8) -> Symbol { 256 | Symbol(byte) }

  /// Returns an ASCII letter in lower case, and other symbols unchanged.
  static func lowercased(_ symbol: Symbol) -> Symbol {
    symbol < 128 ? Symbol(ASCII.lowercased(UInt8(symbol))) : symbol
  }

  static func otherCase(_ symbol: Symbol) -> Symbol {
    symbol < 128 && ASCII.isLetter(UInt8(symbol)) ? symbol ^ 0x20 : symbol
  }

  /// Reads a byte or a `%XX` escape at `index`, and advances `index` past it. Returns the byte, or 256 plus the escaped
  /// byte.
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

  /// Whether the pattern matches the whole path.
  /// - Parameters:
  ///   - literals: Number of symbols before the first wildcard.
  ///   - ignoringCase: Whether to ignore case. The pattern must then be in lower case.
  static func matches(_ path: Span<UInt8>, pattern: Span<Symbol>, literals: Int, ignoringCase: Bool = false) -> Bool {
    // Two specializations, so that case-sensitive patterns do not pay for the others at each byte.
    ignoringCase
      ? run(path, pattern, literals, ignoringCase: true) : run(path, pattern, literals, ignoringCase: false)
  }

  @inline(__always)
  private static func run(
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
    var states = epsilonClosure(0, of: rest)
    while index < path.count {
      if isDecided(states, by: rest) { return true }
      let symbol = symbol(of: path, at: &index, ignoringCase: ignoringCase)
      var active = states
      states = 0
      while active != 0 {
        let position = active.trailingZeroBitCount
        active &= active &- 1
        states |= successors(position, on: symbol, of: rest)
      }
      if states == 0 { return false }
    }
    return states >> UInt128(rest.count) & 1 == 1
  }

  /// Whether the pattern already matches, whatever follows in the path.
  private static func isDecided(_ states: UInt128, by pattern: Span<Symbol>) -> Bool {
    let last = pattern.count &- 1
    return pattern[last] == doubleStar && states >> UInt128(last) & 1 == 1
  }

  /// Returns `position` and the later positions that can be reached without a further character.
  private static func epsilonClosure(_ position: Int, of pattern: Span<Symbol>) -> UInt128 {
    var position = position
    var states: UInt128 = 1 << UInt128(position)
    while position < pattern.count, mayBeEmpty(pattern[position]) {
      position += 1
      states |= 1 << UInt128(position)
    }
    return states
  }

  private static func successors(_ position: Int, on symbol: Symbol, of pattern: Span<Symbol>) -> UInt128 {
    guard position < pattern.count else { return 0 }
    switch pattern[position] {
    case questionMark: return symbol == slash ? 0 : epsilonClosure(position + 1, of: pattern)
    case star: return symbol == slash ? 0 : epsilonClosure(position, of: pattern)
    case doubleStar: return epsilonClosure(position, of: pattern)
    case doubleStarSlash:
      // Only a slash ends `**/`. Its empty match is already in the closure.
      let stay: UInt128 = 1 << UInt128(position)
      return symbol == slash ? stay | epsilonClosure(position + 1, of: pattern) : stay
    case let literal: return literal == symbol ? epsilonClosure(position + 1, of: pattern) : 0
    }
  }
}
