/// A pattern as an automaton, for questions about all paths that the pattern matches.
struct PatternAutomaton {
  /// The positions in `symbols` that the automaton has reached after some characters.
  struct States: Hashable {
    fileprivate var words: [UInt64]

    var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    var positions: [Int] {
      words.indices.flatMap { word in (0..<64).filter { words[word] >> UInt64($0) & 1 == 1 }.map { word * 64 + $0 } }
    }

    fileprivate func contains(_ position: Int) -> Bool { words[position / 64] >> UInt64(position % 64) & 1 == 1 }

    fileprivate mutating func insert(_ position: Int) { words[position / 64] |= 1 << UInt64(position % 64) }
  }

  private let symbols: [Glob.Symbol]
  private let ignoresCase: Bool

  init(_ pattern: URLPattern) {
    symbols = pattern.matchSymbols
    ignoresCase = pattern.ignoresCase
  }

  /// Creates an automaton that is case-sensitive.
  init(spelling pattern: URLPattern) {
    symbols = pattern.symbols
    ignoresCase = false
  }

  var start: States {
    var states = none
    insertClosure(0, &states)
    return states
  }

  var none: States { States(words: [UInt64](repeating: 0, count: symbols.count / 64 + 1)) }

  func accepts(_ states: States) -> Bool { states.contains(symbols.count) }

  func acceptsEverything(_ states: States) -> Bool {
    symbols.last == Glob.doubleStar && states.contains(symbols.count - 1)
  }

  /// Returns the literals that may come next; `nil` if a wildcard accepts any character.
  func expected(_ states: States) -> [Glob.Symbol]? {
    let next = states.positions.filter { $0 < symbols.count }.map { symbols[$0] }
    if next.contains(where: Glob.isWildcard) { return nil }
    return Set(ignoresCase ? next + next.map(Glob.otherCase) : next).sorted()
  }

  func step(_ states: States, on symbol: Glob.Symbol) -> States {
    var next = none
    let symbol = ignoresCase ? Glob.lowercased(symbol) : symbol
    for (word, bits) in states.words.enumerated() {
      var bits = bits
      while bits != 0 {
        let position = word * 64 + bits.trailingZeroBitCount
        bits &= bits &- 1
        guard position < symbols.count else { continue }
        switch symbols[position] {
        case Glob.questionMark: if symbol != Glob.slash { insertClosure(position + 1, &next) }
        case Glob.star: if symbol != Glob.slash { insertClosure(position, &next) }
        case Glob.doubleStar: insertClosure(position, &next)
        case Glob.doubleStarSlash:
          next.insert(position)
          if symbol == Glob.slash { insertClosure(position + 1, &next) }
        case let literal: if literal == symbol { insertClosure(position + 1, &next) }
        }
      }
    }
    return next
  }

  /// Adds `position` to `states`, and the later positions that can be reached without a further character.
  private func insertClosure(_ position: Int, _ states: inout States) {
    var position = position
    states.insert(position)
    while position < symbols.count, Glob.mayBeEmpty(symbols[position]) {
      position += 1
      states.insert(position)
    }
  }
}
