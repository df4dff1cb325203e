internal import Policy

/// The part of attack T22 that is about `pin_policies`.
enum PinPolicyAttack {
  /// A target whose upstream gets a host name to which the user's `pin_policies` apply.
  struct Disguise {
    let target: Target
    let name: HostName
    /// Whether the name needs no pins, although its parent domain has a policy.
    let isExcluded: Bool
  }

  /// Returns each target with its own host name if an enforced policy or an exclusion applies to the name. Targets with
  /// an excluded name also occur with a name beside it, which is not excluded.
  static func disguises(_ stage: SelftestStage) -> [Disguise] {
    let policies = stage.testConfiguration.policies
    var disguises: [Disguise] = []
    for target in stage.verified {
      guard let host = stage.testConfiguration.policyHost(of: target.name) else { continue }
      // Not by `PinPolicies.entry`, which may have the bug that this attack has to find.
      guard policies.entries[host.description] == .excluded else {
        if mode(of: host, policies) == .enforce {
          disguises.append(Disguise(target: target, name: host, isExcluded: false))
        }
        continue
      }
      disguises.append(Disguise(target: target, name: host, isExcluded: true))
      if let parent = policies.parent(of: host.description)?.name,
        let sibling = try? HostName(parsing: "selftest.\(parent)"), mode(of: sibling, policies) == .enforce
      {
        disguises.append(Disguise(target: target, name: sibling, isExcluded: false))
      }
    }
    return disguises
  }

  /// Whether a policy applies to the target, but does not enforce its pins.
  static func onlyReports(_ target: Target, _ stage: SelftestStage) -> Bool {
    guard let host = stage.testConfiguration.policyHost(of: target.name) else { return false }
    return mode(of: host, stage.testConfiguration.policies) == .report
  }

  /// `nil` if no pins apply to the host.
  private static func mode(of host: HostName, _ policies: PinPolicies) -> PinPolicy.Mode? {
    guard case .pinned(let pinning, _)? = policies.entry(for: host)?.entry else { return nil }
    return pinning.mode
  }

  static func run(_ disguises: [Disguise], _ stage: SelftestStage, _ tally: inout AttackTally) throws {
    for disguise in disguises { try run(disguise, stage, &tally) }
  }

  private static func run(_ disguise: Disguise, _ stage: SelftestStage, _ tally: inout AttackTally) throws {
    let target = disguise.target
    guard let upstream = stage.upstream(of: target) else { return }
    let name = disguise.name.description
    let other = try stage.servers.authority.certificate(for: name, isPinned: false)
    let pinned = try stage.servers.authority.certificate(for: name, isPinned: true)
    try stage.withChangedConfiguration({ $0.serverNames = [target.upstream: disguise.name] }) {
      defer { try? upstream.replace(by: nil) }
      try upstream.replace(by: [other])
      if disguise.isExcluded {
        try stage.expectSuccess(target.request(), to: target, "another key of \(name), which is excluded", &tally)
        return
      }
      try stage.expectRefusal(of: target, by: upstream, "another key of \(name)", code: "pin-mismatch", &tally)
      // Shows that nothing else was the reason.
      try upstream.replace(by: [pinned])
      try stage.expectSuccess(target.request(), to: target, "the pinned key of \(name)", &tally)
    }
  }
}
