internal import Console
internal import Configuration

/// Attacks by look-alike host names, overlapping rules, letter case, and secrets that look like templates.
enum RuleAttacks {
  static let all: [Attack] = [
    Attack(11, "host look-alikes", hosts), Attack(19, "overlapping rules", rules),
    Attack(20, "templates in secrets", templates), Attack(63, "letter case of deny rules", letterCase),
  ]

  private static func hosts(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    for target in stage.targets { try stage.expectSuccess(target.request(), to: target, "its own name", &tally) }
    let refusedRequests = tally.refused
    if let target = stage.targets.first {
      for host in invalidHosts {
        try stage.expectStartFailure("an upstream \(host)", &tally) {
          $0.upstream(of: target.name, is: "https://\(host)/", credential: "none")
        }
      }
    }
    let requests = refusedRequests == 0 ? "" : "\(refusedRequests) names refused in requests, "
    return tally.outcome("\(requests)\(tally.refused - refusedRequests) refused in the configuration")
  }

  private static let invalidHosts = ["0x7f.0.0.1", "127.1", "ex%61mple.com", "ex\u{E4}mple.com", "*.example.com"]

  private static func rules(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    for target in stage.targets {
      let path = "/selftest/one"
      let one = target.mount + path.dropFirst()
      for isAllowed in [false, true] {
        try with([rule(path, !isAllowed), rule("/**", isAllowed)], for: target, stage) {
          let (first, rest) = (target.request(path: one), target.request(path: one + "x"))
          try stage.expectRefusal(
            isAllowed ? rest : first, to: target, "a request that the first matching rule denies", [403], &tally)
          try stage.expectSuccess(
            isAllowed ? first : rest, to: target, "a request that the first matching rule allows", &tally)
        }
      }
    }
    return tally.outcome("the first matching rule decides, whether it allows or denies")
  }

  private static func letterCase(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    for target in stage.targets {
      try with([rule("/selftest/Secret/**", true), rule("/**", false)], for: target, stage) {
        for path in ["Secret/x", "secret/x", "SECRET/x", "%53ECRET/x", "./sEcReT/x"] {
          let request = target.request(path: "\(target.mount)selftest/\(path)")
          try stage.expectRefusal(request, to: target, "\(path), where Secret is denied", [403], &tally)
        }
        let other = target.request(path: "\(target.mount)selftest/secrets")
        try stage.expectSuccess(other, to: target, "a path that is not denied", &tally)
      }
    }
    return tally.outcome("\(tally.refused) spellings of a denied path refused")
  }

  private static func rule(_ match: String, _ isDenied: Bool) -> ConfigurationTree {
    var rule = ConfigurationTree.mapping([.init("match", .text(match))])
    if isDenied { rule["deny"] = .text("true") }
    return rule
  }

  private static func with(
    _ rules: [ConfigurationTree], for target: Target, _ stage: SelftestStage, run body: () throws -> Void
  ) throws {
    try stage.withChangedConfiguration(
      { configuration in
        configuration.edit = { $0.set("services", target.name, "rules", to: .sequence(rules)) }
      }, during: body)
  }

  private static func templates(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    for target in stage.onePerCredential {
      for canary in stage.canaries(of: target) {
        // A bearer token may have no other punctuation (RFC 6750 section 2.1).
        let isBearer = canary.value.hasPrefix("Bearer ")
        let secret =
          isBearer ? "~root/~/../.env+HOME+_id-~1/./x==" : "$HOME${HOME}$(id)`id`%s%2541{{token}}<%=x%>\\1&amp;#{x}"
        let value = canary.value(with: secret)
        try stage.directory.write(canary.file, secret + "\n")
        let isThere = try stage.retry(target) { $0.values(canary.field).contains(value) }
        tally.check(
          isThere, "\(target.name): a secret made of placeholders", seen: "it was not sent unchanged",
          expected: "sent unchanged")
        try stage.directory.write(canary.file, canary.secret + "\n")
        _ = try stage.retry(target) { $0.values(canary.field).contains(canary.value) }
      }
    }
    return tally.outcome("a secret made of placeholders is sent unchanged", ifUntried: "no credential is added")
  }
}
