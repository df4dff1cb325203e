internal import Configuration

/// A configuration that is not what it should be.
enum ConfigurationAttacks {
  static let all = [Attack(51, "the configuration is the authority", authority)]

  private static func authority(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    guard let service = stage.targets.first?.name else { return .notApplicable("nothing to ask") }
    try stage.refuseToStart("a file that everybody can write", &tally, mode: 0o666)
    try stage.refuseToStart("a file that its group can write", &tally, mode: 0o660)
    try stage.refuseToStart("a key that is misspelt", &tally) { standIn in
      standIn.edit = { $0.set("services", service, "alow_users", to: .words("0")) }
    }
    try stage.refuseToStart("a key that stands twice", &tally, more: "\nservices: {}\n")
    // A configuration that is refused for nothing else.
    let isReady = try stage.another { $0.isReady }
    tally.check(isReady, "the file as it should be", seen: "bearerd does not start", expected: "it starts")
    return tally.outcome("\(tally.refused) files that others can write or that say it wrongly are refused")
  }
}
