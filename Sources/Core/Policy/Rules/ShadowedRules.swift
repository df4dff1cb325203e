internal import HTTP1

/// A rule that can never decide, because earlier rules match all its requests.
package struct ShadowedRule: Sendable, Equatable {
  package let service: Int
  package let rule: Int
  /// Indices of the earlier rules that together match all requests of this rule.
  package let by: [Int]
  /// Method of an example request that the rule matches, such as `GET`.
  package let witnessMethod: String
  /// Path of the example request below the service's base, or `*`.
  package let witnessPath: String
  /// Whether an earlier rule matches the example request only because it ignores case.
  package let isByCase: Bool
}

extension RuleSet {
  /// Returns the rules that can never decide, because earlier rules match all their requests. Omits rules whose check
  /// would take too long.
  package func shadowedRules() -> [ShadowedRule] {
    var shadowed: [ShadowedRule] = []
    // At most about a second. Thousands of ordinary rules need a small part of it.
    var budget = 5_000_000
    for (number, service) in services.enumerated() {
      guard let rules = service.rules else { continue }
      let names = Set(rules.flatMap(\.methods.names))
      // One method represents all methods that no rule names.
      let universe = names.sorted() + [Self.unnamedMethod(names)]
      for index in rules.indices {
        let methods = universe.filter { rules[index].methods.admits($0) }
        // Only OPTIONS requests have the target `*`. An OPTIONS that no rule names is decided like any other unnamed
        // method.
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

  /// Returns the earlier rules that together match all requests of the rule; `nil` if none are found.
  private static func cover(of index: Int, in rules: [Rule], methods: [String], budget: inout Int) -> [Int]? {
    var covers: Set<Int> = []
    var checked: Set<[Int]> = []
    for method in methods {
      let earlier = rules[..<index].indices.filter {
        rules[$0].methods.admits(method) && Coverage.mayOverlap(rules[$0].pattern, rules[index].pattern)
      }
      guard checked.insert(earlier).inserted else { continue }
      guard
        let used = Coverage.coveringPatterns(
          of: rules[index].pattern, among: earlier.map { rules[$0].pattern }, budget: &budget)
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

  /// Returns the path's bytes; empty for the target `*`.
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
