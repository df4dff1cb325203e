/// Two rules of a service with different effects, whose patterns differ only in the case of letters.
package struct CaseVariantRules: Sendable, Equatable {
  package let service: Int
  package let rule: Int
  /// Index of the earlier rule.
  package let other: Int
}

extension RuleSet {
  /// Returns the pairs of rules that an upstream could confuse if it ignores case.
  package func caseVariantRules() -> [CaseVariantRules] {
    var found: [CaseVariantRules] = []
    for (number, service) in services.enumerated() {
      var seen: [[Glob.Symbol]: [Int]] = [:]
      let rules = service.rules ?? []
      for (index, rule) in rules.enumerated() {
        let key = rule.pattern.symbols.map(Glob.lowercased)
        let other = seen[key, default: []].last { rules[$0].conflicts(with: rule) }
        if let other { found.append(CaseVariantRules(service: number, rule: index, other: other)) }
        seen[key, default: []].append(index)
      }
    }
    return found
  }
}

extension Rule {
  fileprivate func conflicts(with later: Rule) -> Bool {
    if pattern.symbols == later.pattern.symbols || action == .deny && (pattern.ignoresCase || later.action == .deny) {
      return false
    }
    let isSame = action == later.action && headers == later.headers && rate == later.rate
    return !isSame && methods.overlaps(later.methods)
  }
}

extension MethodSet {
  fileprivate func overlaps(_ other: MethodSet) -> Bool {
    names.isEmpty || other.names.isEmpty || names.contains(where: other.names.contains)
  }
}
