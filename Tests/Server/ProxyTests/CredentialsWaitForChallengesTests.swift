import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A credential with `mode: challenge` goes out when its upstream has asked for it, and the program sees one answer.
@Suite(.inProcess) struct CredentialsWaitForChallenges {
  enum Kind: CaseIterable { case bearer, basic }

  private let server = AskingServer()
  private static let withheld = ["bearerd-challenge-withheld"]

  private func stage() throws -> Stage {
    let server = server
    let stage = try Stage(handler: { server.serve($0) })
    server.change { $0.good = ["Bearer \(stage.canary)"] }
    return stage
  }

  private func text(_ stage: Stage, _ lines: String = "", _ config: String = "", kind: Kind = .bearer) -> String {
    let source =
      switch kind {
      case .bearer: "bearer: { file: canary.token }"
      case .basic: "basic: { user: deploy, password: { file: canary.token } }"
      }
    return stage.configuration(credential: "\(source)\n    mode: challenge\n    \(lines)", more: config)
  }

  private func post(_ stage: Stage, _ body: String) throws -> (head: String, body: String) {
    let client = try stage.raw()
    try client.send(stage.head("POST", fields: "X-Mine: 1\r\nContent-Length: \(body.utf8.count)\r\n") + body)
    return try client.answer()
  }

  @Test(arguments: Kind.allCases, [1, 2])
  func `T41: the first request is bare, and the second the same with the credential`(kind: Kind, workers: Int) throws {
    let stage = try stage()
    let pair = Data("deploy:\(stage.canary)".utf8).base64EncodedString()
    let shown = kind == .bearer ? "Bearer \(stage.canary)" : "Basic \(pair)"
    server.change { $0.good = [shown] }
    server.change { $0.challenges = ["Negotiate, Basic realm=\"a, b\"", "bEaReR"] }
    try stage.start(text(stage, "", "workers: \(workers)\n", kind: kind))
    for count in 1...3 {
      let answer = try post(stage, "body \(count)")
      #expect(answer.head.hasPrefix("HTTP/1.1 200 ") && answer.body == "echo:body \(count)")
      #expect(!answer.head.contains("WWW-Authenticate") && !answer.head.contains("Proxy-Status"))
      // Nothing is learnt from the requests before.
      #expect(server.verdicts == (0..<count).flatMap { _ in ["bare", "good"] })
      let pair = server.requests.suffix(2)
      #expect(pair.map(\.body) == Array(repeating: Array("body \(count)".utf8), count: 2))
      #expect(pair.first?.text == pair.last?.text.replacing("Authorization: \(shown)\r\n", with: ""))
    }
    stage.assertCanary(times: 3, as: "Authorization: \(shown)\r\n")
  }

  @Test func `T25: a bare request has no connection that carried the credential, and an answered one serves again`()
    throws
  {
    let stage = try stage()
    try stage.start(text(stage, "", "workers: 1\n"))
    for count in 1...4 { #expect(try post(stage, "body \(count)").body == "echo:body \(count)") }
    // The first connection hears the first request twice; the second one all others until they are asked for.
    let heard = server.connections
    #expect(heard == [["bare", "good", "good", "good", "good"], ["bare", "bare", "bare"]], "\(heard)")
    stage.assertCanary(times: 4)
  }

  @Test func `T25: an answer that is not there to its end has its connection closed`() throws {
    let stage = try stage()
    server.change { $0.withholdsBody = true }
    try stage.start(text(stage, "", "workers: 1\n"))
    #expect(try post(stage, "body").body == "echo:body")
    #expect(server.connections == [["bare"], ["good"]])
    stage.assertCanary(times: 1)
  }

  @Test func `What strangers are shown is shown without the credential, before and after it was asked for`() throws {
    let stage = try stage()
    try stage.start(text(stage))
    #expect(try stage.get("/api/public/x").status == 200)
    #expect(try stage.get().status == 200)
    #expect(try stage.get("/api/public/y").status == 200)
    #expect(server.verdicts == ["bare", "bare", "good", "bare"])
    stage.assertCanary(times: 1)
  }

  @Test(arguments: [
    ("401 Unauthorized", ["Basic realm=\"x\""], Self.withheld), ("401 Unauthorized", [], []),
    ("401 Unauthorized", ["Digest realm=\"Bearer\", nonce=\"n\""], Self.withheld),
    ("401 Unauthorized", ["Bearer realm=\"x"], Self.withheld),
    ("401 Unauthorized", ["Bearer", "Basic realm=\"x"], ["Bearer"]), ("401 Unauthorized", ["OTP"], ["OTP"]),
    ("401 Unauthorized", ["Bearer e30="], ["Bearer e30="]), ("403 Forbidden", ["Bearer"], ["Bearer"]),
    ("407 Proxy Authentication Required", ["Bearer"], ["Bearer"]),
  ])
  func `T36: an upstream that asks for something else is not shown it, and no person is asked for a password`(
    status: String, challenges: [String], seen: [String]
  ) throws {
    let stage = try stage()
    server.change { ($0.status, $0.challenges) = (status, challenges) }
    // And nothing of all this counts against it. Each worker would say once what is not asked for.
    try stage.start(text(stage, "suspend: { after: 2, for: 1h }", "workers: 1\n"))
    for _ in 0..<4 {
      let answer = try stage.get()
      #expect("\(answer.status)" == status.prefix(3) && answer.text == "the upstream's words")
      #expect(answer.values("WWW-Authenticate") == seen && answer.values("Proxy-Status").isEmpty)
    }
    #expect(!stage.log.contains(.request, ["credential_rejected": "true"]))
    #expect(server.verdicts == Array(repeating: "bare", count: 4))
    let isSaid = status.hasPrefix("401")
    if isSaid {
      #expect(stage.log.wait(for: .challengeUnmet, ["credential": "canary", "upstream": "\(stage.origin)"]))
    }
    #expect(!stage.log.contains(.credentialSuspended))
    #expect(stage.log.lines(of: .challengeUnmet).count == (isSaid ? 1 : 0))
    stage.assertCanary(times: 0)
  }

  @Test func `T41: a body that was not kept is not sent again`() throws {
    let stage = try stage()
    try stage.start(text(stage, "replay_buffer: 8"))
    let large = try post(stage, "ninebytes")
    #expect(large.head.hasPrefix("HTTP/1.1 401 ") && large.body == "the upstream's words")
    #expect(large.head.contains("WWW-Authenticate: Bearer realm=\"all\"\r\n"), "nothing was rejected")
    #expect(try post(stage, "8 bytes!").body == "echo:8 bytes!")
    #expect(server.verdicts == ["bare", "bare", "good"])
    // It asked for what there is.
    #expect(!stage.log.contains(.challengeUnmet))
    stage.assertCanary(times: 1)
  }

  @Test(arguments: [1, 2])
  func `T41: a wrong one goes out once for each request, and is held back after five`(workers: Int) throws {
    let stage = try stage()
    server.change { $0.good = [] }
    try stage.start(text(stage, "", "workers: \(workers)\n"))
    for count in 1...5 {
      let answer = try stage.get()
      #expect(answer.status == 401 && answer.text == "the upstream's words")
      #expect(answer.values("WWW-Authenticate") == ["bearerd-credential-rejected"])
      // What was public stays so, and says nothing in its favour.
      if count < 5 { #expect(try stage.get("/api/public/x").status == 200) }
      #expect(server.verdicts.count { $0 == "wrong" } == count)
    }
    for _ in 0..<3 { #expect(try stage.get().isRefused("credential-suspended")) }
    #expect(server.verdicts.count == 14)
    stage.assertCanary(times: 5)
  }

  /// A relay in front of the upstream, where the second connection of a daemon waits until it may go on.
  private func held(_ stage: Stage, _ isHere: Gate, _ mayGo: Gate) throws -> Relay {
    try Relay(to: stage.upstream.port) { number in
      guard number == 1 else { return }
      isHere.open()
      mayGo.pass()
    }
  }

  private func through(_ relay: Relay, _ stage: Stage, _ text: String) -> String {
    text.replacing("localhost:\(stage.upstream.port)", with: "localhost:\(relay.port)")
  }

  @Test func `T46: a logout before the second request ends it, and nothing goes out`() throws {
    let stage = try stage()
    let (isHere, mayGo) = (Gate(), Gate())
    server.change { $0.closes = true }
    let relay = try held(stage, isHere, mayGo)
    defer { mayGo.open() }
    try stage.start(through(relay, stage, text(stage, "", "control: control.sock\n")))
    let client = try stage.client()
    try client.send(stage.head("GET"))
    #expect(isHere.pass())
    try stage.logOut()
    mayGo.open()
    #expect(try client.response().isRefused("logged-out"))
    #expect(try stage.get().isRefused("login-required"))
    #expect(server.verdicts == ["bare"])
    stage.assertCanary(times: 0)
  }

  @Test(arguments: [false, true])
  func `T41: after a reload only the credential goes out that was asked for`(isOther: Bool) throws {
    let stage = try stage()
    let (isHere, mayGo) = (Gate(), Gate())
    server.change { $0.closes = true }
    let relay = try held(stage, isHere, mayGo)
    defer { mayGo.open() }
    let configuration = through(relay, stage, text(stage))
    try stage.scratch.write("other.token", "OTHER-secret\n")
    let other =
      "credentials:\n  other: { origins: [\"https://localhost:\(relay.port)\"], bearer: { file: other.token }, mode: challenge }"
    let both = configuration.replacing("credentials:", with: other)
    try stage.start(both)
    let client = try stage.client()
    try client.send(stage.head("POST", fields: "Content-Length: 4\r\n") + "body")
    #expect(isHere.pass())
    let new = both.replacing("credential: canary", with: "credential: other")
    try stage.reload((isOther ? new : both) + "limits: { fields: 99 }\n")
    let answer = try client.response()
    #expect(answer.status == (isOther ? 401 : 200))
    #expect(server.verdicts == (isOther ? ["bare", "bare"] : ["bare", "good"]))
    #expect(server.requests.allSatisfy { $0.body == Array("body".utf8) })
    #expect(!stage.recorded.contains("OTHER-secret"))
    stage.assertCanary(times: isOther ? 0 : 1)
  }

  @Test func `T42: a helper hears of what was shown, and of nothing else`() throws {
    let stage = try stage()
    server.change { $0.challenges = ["Basic realm=\"x\""] }
    let path = stage.scratch.path
    // Whoever hears that its value was rejected has another one.
    let script = """
      #!/bin/sh
      cat > /dev/null
      echo "$1" >> \(path)/calls
      test "$1" = get || exit 0
      if grep -q erase \(path)/calls; then echo password=ANOTHER; else echo password=\(stage.canary); fi

      """
    let helper = try stage.scratch.write("helper", script, mode: 0o700)
    try stage.start(
      stage.configuration(
        credential: "bearer: { command: [\(helper)], format: git-credential, ttl: none }\n    mode: challenge"))
    func erased() -> Int {
      let calls = try? String(contentsOfFile: "\(path)/calls", encoding: .utf8)
      return (calls ?? "").components(separatedBy: "erase").count - 1
    }
    for _ in 0..<3 { #expect(try stage.get().status == 401) }
    server.change { ($0.challenges, $0.good) = (["Bearer"], []) }
    #expect(try stage.get().status == 401)
    #expect(eventually { erased() == 1 })
    #expect(server.verdicts == ["bare", "bare", "bare", "bare", "wrong"])
    stage.assertCanary(times: 1)
  }
}
