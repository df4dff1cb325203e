internal import Console
internal import Gateway
internal import Policy

/// Header fields with which a caller tries to choose the credential or the account.
enum FieldAttacks {
  static let all = [
    Attack(10, "confused authority", authority), Attack(14, "a second credential field", doubles),
    Attack(15, "a field that Connection removes", nominated), Attack(18, "methods that reflect or tunnel", methods),
    Attack(45, "the client picks the account", accounts),
  ]

  private static func authority(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    try stage.runTable(10, &tally)
    return tally.outcome("\(tally.refused) refused; the others were sent with the upstream's own Host")
  }

  private static func doubles(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    try stage.runTable(14, &tally)
    guard tally.tried > 0 else { return .notApplicable("no credential is added") }
    return tally.outcome("\(counted(tally.tried, "try", "tries")): no request had a second credential field")
  }

  private static func nominated(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    try stage.runTable(15, &tally)
    guard tally.tried > 0 else { return .notApplicable("no credential is added") }
    return tally.outcome("\(counted(tally.tried, "name")); no request was sent without its credential")
  }

  private static func methods(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    try stage.runTable(18, &tally)
    for target in stage.targets {
      let options = target.request(method: "OPTIONS")
      let rule = stage.snapshot.explain(options, listener: target.service.listener)?.route?.rule
      let isNamed = rule.flatMap { target.service.rules?[$0].methods.names.contains("OPTIONS") } ?? false
      let got = try stage.receivedDuring { _ = try stage.send(options, to: target) }
      let leaked = got.contains { request in stage.canaries.contains { request.head.contains($0.value) } }
      tally.check(
        isNamed || !leaked, "\(target.name): OPTIONS", seen: "sent with the credential", expected: "sent without it")
    }
    return tally.outcome("\(tally.refused) refused; OPTIONS sent without a credential; overrides removed")
  }

  private static func accounts(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    try stage.runTable(45, &tally)
    guard tally.tried > 0 else { return .notApplicable("no credential is added") }
    return tally.outcome("\(counted(tally.passed, "field")) removed")
  }
}
