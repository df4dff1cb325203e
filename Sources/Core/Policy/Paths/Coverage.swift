/// Checks whether several patterns together match every path that another pattern matches.
enum Coverage {
  // Steps through all patterns in parallel (subset construction), with only the characters that the patterns
  // distinguish.

  /// Maximum number of nodes that a search visits before it gives up.
  private static let maximumNodes = 20_000
  /// Maximum number of steps of a check before it gives up.
  private static let maximumSteps = 200_000

  private struct Node: Hashable {
    let rule: PatternAutomaton.States
    let earlier: [PatternAutomaton.States]
  }

  /// Whether the texts before the first wildcards of two patterns agree.
  static func mayOverlap(_ one: URLPattern, _ other: URLPattern) -> Bool {
    let length = min(one.literalCount, other.literalCount)
    guard one.ignoresCase || other.ignoresCase else { return one.symbols[..<length] == other.symbols[..<length] }
    return one.symbols[..<length].elementsEqual(other.symbols[..<length]) { Glob.lowercased($0) == Glob.lowercased($1) }
  }

  /// Returns the indices of patterns in `earlier` that together match every path that `pattern` matches; `nil` if none
  /// are found.
  static func coveringPatterns(of pattern: URLPattern, among earlier: [URLPattern], budget: inout Int) -> Set<Int>? {
    let rule = PatternAutomaton(pattern)
    let others = earlier.map { PatternAutomaton($0) }
    let alphabet = alphabet(of: [pattern] + earlier)
    var used: Set<Int> = []
    let floor = max(budget - maximumSteps, 0)
    let start = Node(rule: rule.start, earlier: others.map(\.start))
    var seen: Set<Node> = [start]
    var queue = [start]
    var position = 0
    while position < queue.count {
      let node = queue[position]
      position += 1
      let decided = others.indices.first { others[$0].acceptsEverything(node.earlier[$0]) }
      if rule.accepts(node.rule) {
        guard let first = others.indices.first(where: { others[$0].accepts(node.earlier[$0]) }) else { return nil }
        used.insert(first)
      }
      if let decided {
        used.insert(decided)
        continue
      }
      for symbol in rule.expected(node.rule) ?? alphabet {
        let next = rule.step(node.rule, on: symbol)
        if next.isEmpty { continue }
        budget -= others.count + 1
        let child = Node(
          rule: next,
          earlier: others.indices.map {
            node.earlier[$0].isEmpty ? node.earlier[$0] : others[$0].step(node.earlier[$0], on: symbol)
          })
        if seen.insert(child).inserted { queue.append(child) }
      }
      if seen.count > maximumNodes || budget < floor { return nil }
    }
    return used
  }

  /// Returns a short path that the pattern matches; `nil` if none is found.
  static func witness(_ pattern: URLPattern) -> String? {
    // Prefers a path that all upstreams read in the same way.
    if pattern.isAsterisk { return pattern.text }
    return witness(pattern) { (try? PathReading.others(of: $0).isEmpty) ?? false } ?? witness(pattern) { _ in true }
  }

  private static func witness(_ pattern: URLPattern, where isWanted: ([UInt8]) -> Bool) -> String? {
    let automaton = PatternAutomaton(spelling: pattern)
    let letter = Glob.Symbol(UInt8(ascii: "a"))
    let alphabet = literals(of: pattern) + [Glob.slash, letter]
    var queue: [(states: PatternAutomaton.States, path: [Glob.Symbol])] = [(automaton.start, [])]
    // The beginning of the open segment counts, too: otherwise the invalid `/.` would hide `/.a`.
    struct Seen: Hashable {
      let states: PatternAutomaton.States
      let segment: [Glob.Symbol]
    }
    var seen: Set<Seen> = []
    var position = 0
    while position < queue.count, position < maximumNodes {
      let step = queue[position]
      position += 1
      let path = text(step.path)
      let isFit = !path.isEmpty && isWanted(path)
      if automaton.accepts(step.states), isFit, !PathReading.hasDotSegment(path) {
        return String(decoding: path, as: UTF8.self)
      }
      for symbol in automaton.expected(step.states) ?? alphabet {
        // A finished segment can no longer become valid.
        if symbol == Glob.slash, !path.isEmpty, PathReading.hasDotSegment(path) || !isWanted(path + [0x2f]) { continue }
        let states = automaton.step(step.states, on: symbol)
        let longer = step.path + [symbol]
        let segment = longer.split(separator: Glob.slash, omittingEmptySubsequences: false).last ?? []
        if !states.isEmpty, seen.insert(Seen(states: states, segment: Array(segment.prefix(3)))).inserted {
          queue.append((states, longer))
        }
      }
    }
    return nil
  }

  /// Returns every literal of the patterns, the slash, and one character for all others.
  private static func alphabet(of patterns: [URLPattern]) -> [Glob.Symbol] {
    var symbols = Set(patterns.flatMap(literals))
    symbols.insert(Glob.slash)
    let plain = (UInt8.min...UInt8.max).filter(ByteClass.isPathCharacter).map(Glob.Symbol.init)
    let escaped = (UInt8(0x80)...UInt8.max).map(Glob.escaped)
    if let other = (plain + escaped).first(where: { !symbols.contains($0) }) { symbols.insert(other) }
    return symbols.sorted()
  }

  private static func literals(of pattern: URLPattern) -> [Glob.Symbol] {
    let literals = pattern.symbols.filter { !Glob.isWildcard($0) }
    return Set(pattern.ignoresCase ? literals + literals.map(Glob.otherCase) : literals).sorted()
  }

  private static func text(_ symbols: [Glob.Symbol]) -> [UInt8] {
    var path: [UInt8] = []
    for symbol in symbols { EscapedByte.write(UInt8(truncatingIfNeeded: symbol), to: &path, unless: symbol < 256) }
    return path
  }
}
