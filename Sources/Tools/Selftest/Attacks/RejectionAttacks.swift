internal import Configuration
internal import Glibc

/// A credential that the upstream does not want.
enum RejectionAttacks {
  static let all = [Attack(41, "locked accounts", locked)]

  private static let most = 3
  /// Long enough that a machine which is busy asks again within it.
  private static let time = "2s"

  private static func locked(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    let targets = stage.byCredential
    guard !targets.isEmpty else { return .notApplicable("no credential is added") }
    let suspension = ConfigurationTree.mapping([.init("after", .text("\(most)")), .init("for", .text(time))])
    try stage.reloaded({ standIn in
      standIn.edit = { tree in
        tree["credentials"] = tree["credentials"]?.mapValues { _, credential in
          var credential = credential
          credential["suspend"] = suspension
          return credential
        }
      }
    }) {
      for target in targets { try reject(target, stage, &tally) }
      for target in targets {
        let isBack = try stage.settle(target) { _ in true }
        tally.check(isBack, "\(target.name): after the suspension", seen: "still 503", expected: "200")
      }
    }
    return tally.outcome("after \(most) rejections nothing is sent for \(time), then requests are sent again")
  }

  private static func reject(_ target: Target, _ stage: SelftestStage, _ tally: inout AttackTally) throws {
    try stage.servers.script.answering({ UpstreamScript.ok($0, status: "401 Unauthorized") }) {
      let received = try stage.receivedDuring {
        for _ in 0..<most { _ = try stage.send(target.request(), to: target) }
      }
      tally.check(
        received.count == most, "\(target.name): \(most) requests that are rejected", seen: "\(received.count) sent",
        expected: "all sent")
      try stage.refuse(target.request(), to: target, "after \(most) rejections", [503], &tally)
    }
  }
}
