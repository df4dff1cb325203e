internal import Configuration

/// A configuration that is not what it should be.
enum ConfigurationAttacks {
  static let all = [Attack(51, "the configuration is the authority", authority)]

  private static func authority(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    guard let service = stage.targets.first?.name else { return .notApplicable("no service can be attacked") }
    try stage.refuseToStart("a file that everyone can write", &tally, mode: 0o666)
    try stage.refuseToStart("a file that its group can write", &tally, mode: 0o660)
    try stage.refuseToStart("a misspelled key", &tally) { standIn in
      standIn.edit = { $0.set("services", service, "alow_users", to: .words("0")) }
    }
    try stage.refuseToStart("a duplicate key", &tally, more: "\nservices: {}\n")
    // A configuration that is refused for nothing else.
    let isReady = try stage.another { $0.isReady }
    tally.check(isReady, "a correct file", seen: "bearerd does not start", expected: "bearerd starts")
    return tally.outcome("\(tally.refused) files refused: writable by others, or with wrong keys")
  }
}
