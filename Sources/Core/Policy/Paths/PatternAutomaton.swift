/// A pattern's states as a value that can be stepped and compared, for questions about all paths at once. Without a limit
/// of length, and slower; `Glob.matches` is the one that decides.
struct PatternAutomaton {
  /// A set of positions in `symbols`, the end included.
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
    symbols = pattern.compared
    ignoresCase = pattern.ignoresCase
  }

  /// As written, whether or not it ignores case.
  init(spelling pattern: URLPattern) {
    symbols = pattern.symbols
    ignoresCase = false
  }

  var start: States {
    var states = none
    enter(0, &states)
    return states
  }

  var none: States { States(words: [UInt64](repeating: 0, count: symbols.count / 64 + 1)) }

  func accepts(_ states: States) -> Bool { states.contains(symbols.count) }

  /// Whether every continuation matches.
  func acceptsEverything(_ states: States) -> Bool {
    symbols.last == Glob.stars && states.contains(symbols.count - 1)
  }

  /// The symbols that may come next: nil when a wildcard takes any character, else the literals.
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
        case Glob.one: if symbol != Glob.slash { enter(position + 1, &next) }
        case Glob.star: if symbol != Glob.slash { enter(position, &next) }
        case Glob.stars: enter(position, &next)
        case Glob.starsSlash:
          next.insert(position)
          if symbol == Glob.slash { enter(position + 1, &next) }
        case let literal: if literal == symbol { enter(position + 1, &next) }
        }
      }
    }
    return next
  }

  /// With the states that are reached without a character.
  private func enter(_ position: Int, _ states: inout States) {
    var position = position
    states.insert(position)
    while position < symbols.count, Glob.mayBeEmpty(symbols[position]) {
      position += 1
      states.insert(position)
    }
  }
}
