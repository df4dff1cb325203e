internal import Console

/// Configuration files that other users can write, or that have wrong keys.
enum ConfigurationAttacks {
  static let all = [Attack(51, "the configuration is the authority", authority)]

  private static func authority(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    guard let service = stage.targets.first?.name else { return .notApplicable("no service can be attacked") }
    try stage.expectStartFailure("a file that everyone can write", &tally, mode: 0o666)
    try stage.expectStartFailure("a file that its group can write", &tally, mode: 0o660)
    try stage.expectStartFailure("a misspelled key", &tally) { configuration in
      configuration.edit = { $0.set("services", service, "alow_users", to: .words("0")) }
    }
    try stage.expectStartFailure("a duplicate key", &tally, more: "\nservices: {}\n")
    // Verifies that the other files were not refused for another reason.
    let isReady = try stage.withAnotherDaemon { $0.isReady }
    tally.check(isReady, "a correct file", seen: "bearerd does not start", expected: "bearerd starts")
    return tally.outcome("\(tally.refused) files refused: writable by others, or with wrong keys")
  }
}
