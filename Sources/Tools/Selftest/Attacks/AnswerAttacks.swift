internal import Console
internal import TestServer
internal import Policy

/// What an upstream may answer.
enum AnswerAttacks {
  static let all = [
    Attack(32, "redirects", redirects), Attack(33, "the secret in an answer", ReflectionAttack.play),
    Attack(64, "a key in an error's body", ReflectionAttack.playErrors),
    Attack(34, "cookies of somebody else", cookies), Attack(35, "fields that speak for all of localhost", hygiene),
    Attack(36, "password prompts", challenges),
  ]

  private static func redirects(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    let evil = stage.evil.origin.authority
    for target in stage.targets {
      let own = target.upstream
      let unencrypted = "http://\(own.authority)/x"
      let places = [
        "https://\(evil)/x", "http://\(evil)/x", "//\(evil)/x", "/\\\(evil)/x", "\\\\\(evil)/x",
        "https://\(own.authority)@\(evil)/x", unencrypted, "https://sub.\(own.authority)/x",
        "https:\(evil)/x",
      ]
      for (index, status) in ["301 Moved", "302 Found", "303 See Other", "307 Again", "308 Moved"].enumerated() {
        for place in places {
          let before = stage.script.count
          let reply = try stage.script.answering({
            UpstreamScript.ok($0, status: status, fields: "Location: \(place)\r\nRefresh: 0; url=\(place)\r\n")
          }) { try stage.send(target.request(), to: target) }
          let asked = stage.script.count - before
          // One that names a listener of ours is a 502.
          let isSame = [[301, 302, 303, 307, 308][index], 502].contains(reply.status)
          let isLocal = reply.values("Location").contains { $0.contains("//\(target.authority)/") }
          // The upstream's own name does not make another origin of it the upstream.
          let isMoved = place == unencrypted && reply.status != 502 && reply.values("Location") != [place]
          let isRight = asked == 1 && isSame && !isLocal && !isMoved
          tally.check(
            isRight, "\(target.name): \(status.prefix(3)) to \(place)",
            seen: "\(reply.short), \(counted(asked, "request")), Location: \(reply.values("Location").joined())",
            expected: "the answer itself, one request, and no local address")
        }
      }
    }
    let visits = stage.evil.server.records.count
    tally.check(visits == 0, "the other server", seen: counted(visits, "connection"), expected: "none")
    return tally.outcome("\(counted(tally.tried - 1, "answer")) passed on; the other server was not visited")
  }

  private static func cookies(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    let targets = stage.injecting.filter { $0.headers.cookies != .pass }
    guard !targets.isEmpty else {
      return .notApplicable(stage.injecting.isEmpty ? "no credential is added" : "cookies: pass")
    }
    let fields = "Set-Cookie: session=theirs; Domain=localhost\r\nSet-Cookie2: session=theirs\r\n"
    try stage.script.answering({ UpstreamScript.ok($0, fields: fields) }) {
      for target in targets {
        let allowed = target.headers.allowClientHeaders.contains("cookie")
        guard let got = try stage.pass(target.request("Cookie: session=mine"), to: target, "a cookie", &tally) else {
          continue
        }
        tally.check(
          allowed || !got.request.head.contains("session=mine"), "\(target.name): Cookie", seen: "it went out",
          expected: "removed")
        tally.check(
          !got.reply.head.contains("session="), "\(target.name): Set-Cookie", seen: "the client got it",
          expected: "removed")
      }
    }
    return tally.outcome("removed both ways")
  }

  private static func hygiene(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    let names = [
      "Strict-Transport-Security", "Alt-Svc", "Clear-Site-Data", "Service-Worker-Allowed", "Public-Key-Pins", "NEL",
      "Report-To", "Reporting-Endpoints", "Access-Control-Allow-Origin", "Access_Control_Allow_Origin",
    ]
    let fields = names.map { "\($0): theirs\r\n" }.joined() + "X-Harmless: stays\r\n"
    try stage.script.answering({ UpstreamScript.ok($0, fields: fields) }) {
      for target in stage.targets {
        guard let got = try stage.pass(target.request(), to: target, "an answer", &tally) else { continue }
        for name in names {
          tally.check(
            got.reply.values(name).isEmpty, "\(target.name): \(name)", seen: "the client got it", expected: "removed")
        }
        tally.check(
          got.reply.values("X-Harmless") == ["stays"], "\(target.name): any other field", seen: "removed",
          expected: "passed on")
      }
    }
    return tally.outcome("\(counted(names.count, "field")) removed, others not")
  }

  private static func challenges(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    guard !stage.injecting.isEmpty else { return .notApplicable("no credential is added") }
    let fields = [
      "401 Unauthorized": "WWW-Authenticate: Basic realm=\"theirs\"\r\nWWW-Authenticate: Negotiate\r\n",
      "407 Proxy": "Proxy-Authenticate: Basic realm=\"theirs\"\r\n",
    ]
    for target in stage.injecting {
      for (status, challenge) in fields.sorted(by: { $0.key < $1.key }) {
        let reply = try stage.script.answering({ UpstreamScript.ok($0, status: status, fields: challenge) }) {
          try stage.send(target.request(), to: target)
        }
        let head = reply.head.lowercased()
        let prompts = ["theirs", "negotiate", "basic"].contains { head.contains($0) }
        tally.check(
          !prompts && [401, 407, 502].contains(reply.status), "\(target.name): \(status.prefix(3))",
          seen: prompts ? "the client is asked for a password" : reply.short,
          expected: "a neutral challenge, or 502")
        try stage.pass(target.request(), to: target, "afterwards", &tally)
      }
    }
    return tally.outcome("401 and 407 reach the program, their challenges do not")
  }
}
