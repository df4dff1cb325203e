internal import Console
internal import Gateway
internal import Policy

/// Header fields with which a caller tries to choose the credential or the account.
enum FieldAttacks {
  static let all: [Attack] = [
    Attack(10, "confused authority") { _, tally in
      tally.outcome("\(tally.refused) refused; the others were sent with the upstream's own Host")
    },
    Attack(14, "a second credential field") { _, tally in
      tally.outcome(
        "\(counted(tally.tried, "try", "tries")): no request had a second credential field",
        ifUntried: "no credential is added")
    },
    Attack(15, "a field that Connection removes") { _, tally in
      tally.outcome(
        "\(counted(tally.tried, "name")); no request was sent without its credential",
        ifUntried: "no credential is added")
    },
    Attack(18, "methods that reflect or tunnel", methods),
    Attack(45, "the client picks the account") { _, tally in
      tally.outcome("\(counted(tally.passed, "field")) removed", ifUntried: "no credential is added")
    },
  ]

  private static func methods(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
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
}
