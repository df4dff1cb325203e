internal import Console
internal import TestServer
internal import Policy

enum ResponseAttacks {
  static let all: [Attack] = [
    Attack(32, "redirects", redirects), Attack(33, "the secret in a response", ReflectionAttack.run),
    Attack(64, "a key in the body of an error", ReflectionAttack.runWithErrors),
    Attack(34, "cookies of another caller", cookies),
    Attack(35, "fields that affect all of localhost") { _, tally in
      tally.outcome("\(counted(tally.tried, "field")) removed, others passed on")
    },
    Attack(36, "password prompts", challenges),
  ]

  private static func redirects(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let count = tally.tried
    let visits = stage.servers.evil.server.records.count
    tally.check(visits == 0, "the other server", seen: counted(visits, "connection"), expected: "no connection")
    return tally.outcome("\(counted(count, "response")) passed on; the other server was not contacted")
  }

  private static func cookies(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let count = tally.tried
    let targets = stage.injecting.filter { $0.service.options.cookies != .pass }
    guard !targets.isEmpty else {
      return tally.outcome("\(counted(count, "cookie")) passed on, each limited to its service")
    }
    let fields = "Set-Cookie: session=theirs; Domain=localhost\r\nSet-Cookie2: session=theirs\r\n"
    try stage.servers.script.responding({ UpstreamScript.ok($0, fields: fields) }) {
      for target in targets {
        let allowed = target.headers.allowClientHeaders.contains("cookie")
        guard let got = try stage.expectSuccess(target.request("Cookie: session=mine"), to: target, "a cookie", &tally)
        else { continue }
        tally.check(
          allowed || !got.request.head.contains("session=mine"), "\(target.name): Cookie", seen: "it was sent",
          expected: "removed")
        tally.check(
          !got.reply.head.contains("session="), "\(target.name): Set-Cookie", seen: "the caller got it",
          expected: "removed")
      }
    }
    return tally.outcome("removed from requests and responses")
  }

  private static func challenges(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    guard !stage.injecting.isEmpty else { return .notApplicable("no credential is added") }
    for target in stage.injecting { try stage.expectSuccess(target.request(), to: target, "afterwards", &tally) }
    return tally.outcome("401 and 407 reach the program, their challenges do not")
  }
}
