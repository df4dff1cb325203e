/// Two rules of a service whose patterns differ in the case of letters only, and that do not do the same.
package struct CaseNeighbours: Sendable, Equatable {
  package let service: Int
  package let rule: Int
  /// Stands before `rule`.
  package let other: Int
}

extension RuleSet {
  /// Pairs of rules of which an upstream that ignores case would see one: for each rule the nearest before it. At least one of
  /// the two allows; where the first denies whatever the case, nothing is left to say.
  package func caseNeighbours() -> [CaseNeighbours] {
    var found: [CaseNeighbours] = []
    for (number, service) in services.enumerated() {
      var seen: [[Glob.Symbol]: [Int]] = [:]
      let rules = service.rules ?? []
      for (index, rule) in rules.enumerated() {
        let key = rule.pattern.symbols.map(Glob.lowercased)
        let other = seen[key, default: []].last { rules[$0].isTornBy(rule) }
        if let other { found.append(CaseNeighbours(service: number, rule: index, other: other)) }
        seen[key, default: []].append(index)
      }
    }
    return found
  }
}

extension Rule {
  /// Whether one path, spelled in two ways, is decided differently by this rule and a later one.
  fileprivate func isTornBy(_ later: Rule) -> Bool {
    if pattern.symbols == later.pattern.symbols || action == .deny && (pattern.ignoresCase || later.action == .deny) {
      return false
    }
    let isSame = action == later.action && headers == later.headers && rate == later.rate
    return !isSame && methods.meets(later.methods)
  }
}

extension MethodSet {
  fileprivate func meets(_ other: MethodSet) -> Bool {
    names.isEmpty || other.names.isEmpty || names.contains(where: other.names.contains)
  }
}
