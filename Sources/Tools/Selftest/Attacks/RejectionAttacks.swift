internal import Configuration

enum RejectionAttacks {
  static let all = [Attack(41, "locked accounts", locked)]

  private static let limit = 3
  private static let duration = "2s"

  private static func locked(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let targets = stage.onePerCredential
    guard !targets.isEmpty else { return .notApplicable("no credential is added") }
    let suspension = ConfigurationTree.mapping([.init("after", .text("\(limit)")), .init("for", .text(duration))])
    try stage.withChangedConfiguration({ configuration in
      configuration.edit = { tree in
        tree["credentials"] = tree["credentials"]?.mapValues { $1.setting("suspend", to: suspension) }
      }
    }) {
      for target in targets { try reject(target, stage, &tally) }
      for target in targets {
        let isBack = try stage.retry(target) { _ in true }
        tally.check(isBack, "\(target.name): after the suspension", seen: "still 503", expected: "200")
      }
    }
    return tally.outcome("after \(limit) rejections nothing is sent for \(duration), then requests are sent again")
  }

  private static func reject(_ target: Target, _ stage: SelftestStage, _ tally: inout AttackTally) throws {
    try stage.servers.script.responding({ UpstreamScript.ok($0, status: "401 Unauthorized") }) {
      let received = try stage.receivedDuring {
        for _ in 0..<limit { _ = try stage.send(target.request(), to: target) }
      }
      tally.check(
        received.count == limit, "\(target.name): \(limit) requests that are rejected", seen: "\(received.count) sent",
        expected: "all sent")
      try stage.expectRefusal(target.request(), to: target, "after \(limit) rejections", [503], &tally)
    }
  }
}
