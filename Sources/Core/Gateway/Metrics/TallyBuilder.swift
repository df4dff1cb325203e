package import Policy

/// Which services and credentials of a configuration were there in the one before: made on any thread.
package struct TallyPlan: Sendable {
  /// Its index there; nil: it is new.
  let services: [Int?]
  let credentials: [Int?]
  /// By service.
  package let ruleCounts: [Int]

  package init(_ rules: RuleSet, after earlier: (services: [String], credentials: [String])) {
    services = Self.places(of: rules.services.map(\.name), in: earlier.services)
    credentials = Self.places(of: rules.grants.map(\.name), in: earlier.credentials)
    ruleCounts = rules.services.map { $0.rules?.count ?? 0 }
  }

  private static func places(of names: [String], in earlier: [String]) -> [Int?] {
    let known = Dictionary(zip(earlier, earlier.indices)) { first, _ in first }
    return names.map { known[$0] }
  }
}

/// A tally in the making, service by service.
package final class TallyBuilder {
  let earlier: Tally?
  private let rules: RuleSet
  private let plan: TallyPlan
  private(set) var services: [ServiceTally] = []
  private(set) var credentials: [CredentialTally] = []

  /// - Parameters:
  ///   - plan: of these rules, after those of `earlier`.
  ///   - earlier: of the generation before: services and credentials of the same name go on.
  package init(_ rules: RuleSet, _ plan: TallyPlan, after earlier: Tally?) {
    self.rules = rules
    self.plan = plan
    self.earlier = earlier
    services.reserveCapacity(rules.services.count)
    credentials.reserveCapacity(rules.grants.count)
  }

  /// Makes some of it, and more as long as there is time. True: it is whole.
  package func goOn(while hasTime: () -> Bool) -> Bool {
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

  /// To look at the clock costs as much as one of them.
  private static let step = 16

  private func addService(_ index: Int) {
    let known = earlier.flatMap { earlier in plan.services[index].map { earlier.services[$0] } }
    let tally = known ?? ServiceTally(name: rules.services[index].name)
    tally.makeRoom(rules: plan.ruleCounts[index])
    services.append(tally)
  }
}
