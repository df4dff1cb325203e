internal import HTTP1

/// A rule that can never win.
package struct ShadowedRule: Sendable, Equatable {
  package let service: Int
  package let rule: Int
  /// Earlier rules that together cover it. Still others may come before them and win for some requests.
  package let by: [Int]
  /// `GET`
  package let witnessMethod: String
  /// Path below the service's base, begins with `/`.
  package let witnessPath: String
  /// Whether what wins instead matches the witness only because it ignores the case of letters.
  package let isByCase: Bool
}

extension RuleSet {
  /// Rules that can never win, because earlier rules of their service together cover them (methods included), with a
  /// request that shows it: replayed through `decide`, an earlier rule wins. Never reports a rule that can win; gives up on
  /// one, silently, when the question becomes too big.
  package func shadowedRules() -> [ShadowedRule] {
    var shadowed: [ShadowedRule] = []
    // A second at most, whatever the file says; thousands of ordinary rules need a small part of it.
    var budget = 5_000_000
    for (number, service) in services.enumerated() {
      guard let rules = service.rules else { continue }
      let names = Set(rules.flatMap(\.methods.names))
      // One method stands for all that no rule names.
      let universe = names.sorted() + [Self.unnamedMethod(names)]
      for index in rules.indices {
        let methods = universe.filter { rules[index].methods.admits($0) }
        // `*` is asked for by OPTIONS alone, and what no rule names is decided like any method that none names.
        let method =
          rules[index].pattern.isAsterisk && rules[index].methods.admits("OPTIONS") ? "OPTIONS" : methods.first
        guard let method, let by = Self.cover(of: index, in: rules, methods: methods, budget: &budget),
          let path = Coverage.witness(rules[index].pattern),
          let winner = Self.winner(among: rules, method: method, path: path), winner < index
        else { continue }
        shadowed.append(
          ShadowedRule(
            service: number, rule: index, by: by, witnessMethod: method, witnessPath: path,
            isByCase: !Self.matchesAsWritten(rules[winner].pattern, path)))
      }
    }
    return shadowed
  }

  /// The earlier rules that decide instead, for all methods; nil when some request is left for the rule, or too much
  /// would have to be looked at.
  private static func cover(of index: Int, in rules: [Rule], methods: [String], budget: inout Int) -> [Int]? {
    var covers: Set<Int> = []
    var judged: Set<[Int]> = []
    for method in methods {
      let earlier = rules[..<index].indices.filter {
        rules[$0].methods.admits(method) && Coverage.mayMeet(rules[$0].pattern, rules[index].pattern)
      }
      guard judged.insert(earlier).inserted else { continue }
      guard
        let used = Coverage.find(
          of: rules[index].pattern, by: earlier.map { rules[$0].pattern }, budget: &budget)
      else {
        return nil
      }
      covers.formUnion(used.map { earlier[$0] })
    }
    return covers.sorted()
  }

  private static func winner(among rules: [Rule], method: String, path: String) -> Int? {
    let path = bytes(of: path)
    return rules.indices.first { rules[$0].methods.admits(method) && rules[$0].pattern.matches(path.span) }
  }

  private static func matchesAsWritten(_ pattern: URLPattern, _ path: String) -> Bool {
    let path = bytes(of: path)
    return pattern.matchesAsWritten(path.span)
  }

  /// The target `*` has no path.
  private static func bytes(of path: String) -> [UInt8] { path == "*" ? [] : Array(path.utf8) }

  private static func unnamedMethod(_ names: Set<String>) -> String {
    let usual = Method.allCases.filter { $0 != .trace && $0 != .connect }.map(\.registeredName)
    if let free = usual.first(where: { !$0.isEmpty && !names.contains($0) }) { return free }
    var name = "OTHER"
    while names.contains(name) { name += "X" }
    return name
  }
}

extension MethodSet {
  fileprivate func admits(_ name: String) -> Bool { names.isEmpty || names.contains(name) }
}
