internal import Policy

/// Paths that the rules and the upstream could interpret differently.
enum PathAttacks {
  static let all = [Attack(12, "path tricks", tricks), Attack(13, "query tricks", queries)]

  private static func tricks(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let hasBorders = stage.targets.contains {
      $0.service.rules != nil || $0.mount != "/" || $0.service.upstream.basePath.count > 1
    }
    guard hasBorders else {
      return .notApplicable("no rule denies anything, and every path belongs to the service")
    }
    return tally.outcome("\(tally.tried) paths: \(tally.refused) refused, \(tally.passed) stayed within the rules")
  }

  private static func queries(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    for target in stage.injecting {
      let harmless = "?page=2&q=a+b;c%20d&key=1&empty="
      let got = try stage.expectSuccess(target.request(path: target.path + harmless), to: target, harmless, &tally)
      tally.check(
        got?.request.target.hasSuffix(harmless) ?? true, "\(target.name): \(harmless)",
        seen: got?.request.target ?? "", expected: "unchanged")
    }
    return tally.outcome(
      "\(tally.refused) fragments refused; parameters that could be a credential removed",
      ifUntried: "no credential is added")
  }
}
