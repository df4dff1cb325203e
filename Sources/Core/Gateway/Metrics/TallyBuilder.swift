package import Policy

/// Maps the services and credentials of a configuration to the previous configuration, by name.
package struct TallyPlan: Sendable {
  /// For each service, the index in the previous configuration. `nil` if the service is new.
  let services: [Int?]
  let credentials: [Int?]
  /// Number of rules of each service.
  package let ruleCounts: [Int]

  package init(_ rules: RuleSet, after earlier: (services: [String], credentials: [String])) {
    services = Self.indices(of: rules.services.map(\.name), in: earlier.services)
    credentials = Self.indices(of: rules.grants.map(\.name), in: earlier.credentials)
    ruleCounts = rules.services.map { $0.rules?.count ?? 0 }
  }

  private static func indices(of names: [String], in earlier: [String]) -> [Int?] {
    let known = Dictionary(zip(earlier, earlier.indices)) { first, _ in first }
    return names.map { known[$0] }
  }
}

/// Builds a `Tally` in several short steps.
package final class TallyBuilder {
  let earlier: Tally?
  private let rules: RuleSet
  private let plan: TallyPlan
  private(set) var services: [ServiceTally] = []
  private(set) var credentials: [CredentialTally] = []

  /// - Parameter earlier: the previous configuration's tally, whose counters are kept for the same names.
  package init(_ rules: RuleSet, _ plan: TallyPlan, after earlier: Tally?) {
    self.rules = rules
    self.plan = plan
    self.earlier = earlier
    services.reserveCapacity(rules.services.count)
    credentials.reserveCapacity(rules.grants.count)
  }

  /// Builds a part of the tally, while `hasTime` returns `true`. Returns `true` if the tally is complete.
  package func advance(while hasTime: () -> Bool) -> Bool {
    while services.count < rules.services.count {
      for index in services.count..<min(services.count + TallyBuilder.step, rules.services.count) { addService(index) }
      if !hasTime() { return false }
    }
    while credentials.count < rules.grants.count {
      let index = credentials.count
      let known = earlier.flatMap { earlier in plan.credentials[index].map { earlier.credentials[$0] } }
      credentials.append(known ?? CredentialTally(name: rules.grants[index].name))
    }
    return true
  }

  /// Number of services to add between two calls of `hasTime`.
  private static let step = 16

  private func addService(_ index: Int) {
    let known = earlier.flatMap { earlier in plan.services[index].map { earlier.services[$0] } }
    let tally = known ?? ServiceTally(name: rules.services[index].name)
    tally.addRows(rules: plan.ruleCounts[index])
    services.append(tally)
  }
}
