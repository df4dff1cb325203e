/// A pattern's states as a value that can be stepped and compared, for questions about all paths at once. Slower and
/// without a limit of length; `Glob.matches` is the one that decides.
struct PatternAutomaton {
  let symbols: [Glob.Symbol]

  /// Sorted positions in `symbols`; `symbols.count` is the end.
  typealias States = [Int]

  var start: States { closed([0]) }

  func accepts(_ states: States) -> Bool { states.last == symbols.count }

  /// Whether every continuation matches.
  func acceptsEverything(_ states: States) -> Bool {
    guard symbols.last == Glob.stars else { return false }
    return states.contains(symbols.count - 1)
  }

  /// What may come next: nil when a wildcard takes any character, else the literals.
  func expected(_ states: States) -> Set<Glob.Symbol>? {
    var literals: Set<Glob.Symbol> = []
    for state in states where state < symbols.count {
      if Glob.isWildcard(symbols[state]) { return nil }
      literals.insert(symbols[state])
    }
    return literals
  }

  func step(_ states: States, on symbol: Glob.Symbol) -> States {
    var stays: Set<Int> = []
    var next: Set<Int> = []
    for state in states where state < symbols.count {
      switch symbols[state] {
      case Glob.one: if symbol != Glob.slash { next.insert(state + 1) }
      case Glob.star: if symbol != Glob.slash { next.insert(state) }
      case Glob.stars: next.insert(state)
      case Glob.starsSlash:
        stays.insert(state)
        if symbol == Glob.slash { next.insert(state + 1) }
      case let literal: if literal == symbol { next.insert(state + 1) }
      }
    }
    return stays.union(closed(next)).sorted()
  }

  /// With the states that are reached without a character.
  private func closed(_ states: Set<Int>) -> States {
    var all = states
    for state in states {
      var state = state
      while state < symbols.count, Glob.mayBeEmpty(symbols[state]) {
        state += 1
        all.insert(state)
      }
    }
    return all.sorted()
  }
}
