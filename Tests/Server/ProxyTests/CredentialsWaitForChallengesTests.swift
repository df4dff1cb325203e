import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A credential with `mode: challenge` is sent only after the upstream has asked for it. The program sees one response.
@Suite(.inProcess) struct CredentialsWaitForChallenges {
  enum Kind: CaseIterable { case bearer, basic }

  private let server = ChallengingServer()
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
    return try client.response()
  }

  @Test(arguments: Kind.allCases, [1, 2])
  func `T41: the first request has no credential, and the retry adds only the credential`(kind: Kind, workers: Int)
    throws
  {
    let stage = try stage()
    let pair = Data("deploy:\(stage.canary)".utf8).base64EncodedString()
    let shown = kind == .bearer ? "Bearer \(stage.canary)" : "Basic \(pair)"
    server.change { $0.good = [shown] }
    server.change { $0.challenges = ["Negotiate, Basic realm=\"a, b\"", "bEaReR"] }
    try stage.start(text(stage, "", "workers: \(workers)\n", kind: kind))
    for count in 1...3 {
      let response = try post(stage, "body \(count)")
      #expect(response.head.hasPrefix("HTTP/1.1 200 ") && response.body == "echo:body \(count)")
      #expect(!response.head.contains("WWW-Authenticate") && !response.head.contains("Proxy-Status"))
      // Each request starts without the credential again.
      #expect(server.verdicts == (0..<count).flatMap { _ in ["bare", "good"] })
      let pair = server.requests.suffix(2)
      #expect(pair.map(\.body) == Array(repeating: Array("body \(count)".utf8), count: 2))
      #expect(pair.first?.text == pair.last?.text.replacing("Authorization: \(shown)\r\n", with: ""))
    }
    stage.assertCanary(times: 3, as: "Authorization: \(shown)\r\n")
  }

  @Test(arguments: [("a, b", true), ("a", false), ("A, b", false)])
  func `T41: with a realm, the credential is sent only after a challenge with this realm`(realm: String, isSent: Bool)
    throws
  {
    let stage = try stage()
    server.change { $0.challenges = ["Negotiate, Basic realm=\"x\"", "Bearer realm=\"a, b\""] }
    try stage.start(text(stage, "realm: '\(realm)'\n"))
    #expect(try post(stage, "body").head.hasPrefix("HTTP/1.1 \(isSent ? 200 : 401) "))
    #expect(server.verdicts == (isSent ? ["bare", "good"] : ["bare"]))
    if !isSent { #expect(stage.log.wait(for: .challengeUnmet)) }
    stage.assertCanary(times: isSent ? 1 : 0)
  }

  @Test func `T25: a request without the credential never shares a connection with the credential`()
    throws
  {
    let stage = try stage()
    try stage.start(text(stage, "", "workers: 1\n"))
    for count in 1...4 { #expect(try post(stage, "body \(count)").body == "echo:body \(count)") }
    // The first connection gets the first request twice. The second gets all other first attempts.
    let heard = server.connections
    #expect(heard == [["bare", "good", "good", "good", "good"], ["bare", "bare", "bare"]], "\(heard)")
    stage.assertCanary(times: 4)
  }

  @Test func `T25: an incomplete 401 response closes its connection`() throws {
    let stage = try stage()
    server.change { $0.truncatesBody = true }
    try stage.start(text(stage, "", "workers: 1\n"))
    #expect(try post(stage, "body").body == "echo:body")
    #expect(server.connections == [["bare"], ["good"]])
    stage.assertCanary(times: 1)
  }

  @Test func `public paths are requested without the credential, before and after a challenge`() throws {
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
  func `T36: another challenge gets no credential and causes no password prompt`(
    status: String, challenges: [String], seen: [String]
  ) throws {
    let stage = try stage()
    server.change { ($0.status, $0.challenges) = (status, challenges) }
    // None of these responses counts as a rejection. One worker, because each worker logs the event once.
    try stage.start(text(stage, "suspend: { after: 2, for: 1h }", "workers: 1\n"))
    for _ in 0..<4 {
      let response = try stage.get()
      #expect("\(response.status)" == status.prefix(3) && response.text == "the upstream's words")
      #expect(response.values("WWW-Authenticate") == seen && response.values("Proxy-Status").isEmpty)
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

  @Test func `T41: a body above replay_buffer is not sent again`() throws {
    let stage = try stage()
    try stage.start(text(stage, "replay_buffer: 8"))
    let large = try post(stage, "ninebytes")
    #expect(large.head.hasPrefix("HTTP/1.1 401 ") && large.body == "the upstream's words")
    #expect(large.head.contains("WWW-Authenticate: Bearer realm=\"all\"\r\n"), "nothing was rejected")
    #expect(try post(stage, "8 bytes!").body == "echo:8 bytes!")
    #expect(server.verdicts == ["bare", "bare", "good"])
    // The challenge matched the credential.
    #expect(!stage.log.contains(.challengeUnmet))
    stage.assertCanary(times: 1)
  }

  @Test(arguments: [1, 2])
  func `T41: each request sends a wrong secret once, and five rejections suspend the credential`(workers: Int) throws {
    let stage = try stage()
    server.change { $0.good = [] }
    try stage.start(text(stage, "", "workers: \(workers)\n"))
    for count in 1...5 {
      let response = try stage.get()
      #expect(response.status == 401 && response.text == "the upstream's words")
      #expect(response.values("WWW-Authenticate") == ["bearerd-credential-rejected"])
      // Public responses do not reset the count.
      if count < 5 { #expect(try stage.get("/api/public/x").status == 200) }
      #expect(server.verdicts.count { $0 == "wrong" } == count)
    }
    for _ in 0..<3 { #expect(try stage.get().isRefused("credential-suspended")) }
    #expect(server.verdicts.count == 14)
    stage.assertCanary(times: 5)
  }

  /// Returns a relay to the upstream that stops the second connection until the gate opens.
  private func pausingRelay(_ stage: Stage, _ isHere: Gate, _ mayGo: Gate) throws -> Relay {
    try Relay(to: stage.upstream.port) { number in
      guard number == 1 else { return }
      isHere.open()
      mayGo.pass()
    }
  }

  private func through(_ relay: Relay, _ stage: Stage, _ text: String) -> String {
    text.replacing("localhost:\(stage.upstream.port)", with: "localhost:\(relay.port)")
  }

  @Test func `T46: a logout before the retry ends the request without sending the credential`() throws {
    let stage = try stage()
    let (isHere, mayGo) = (Gate(), Gate())
    server.change { $0.closes = true }
    let relay = try pausingRelay(stage, isHere, mayGo)
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
  func `T41: after a reload the retry sends only the credential of the first request`(isOther: Bool) throws {
    let stage = try stage()
    let (isHere, mayGo) = (Gate(), Gate())
    server.change { $0.closes = true }
    let relay = try pausingRelay(stage, isHere, mayGo)
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
    let response = try client.response()
    #expect(response.status == (isOther ? 401 : 200))
    #expect(server.verdicts == (isOther ? ["bare", "bare"] : ["bare", "good"]))
    #expect(server.requests.allSatisfy { $0.body == Array("body".utf8) })
    #expect(!stage.recorded.contains("OTHER-secret"))
    stage.assertCanary(times: isOther ? 0 : 1)
  }

  @Test func `T42: a helper gets the erase command only for a value that was sent`() throws {
    let stage = try stage()
    server.change { $0.challenges = ["Basic realm=\"x\""] }
    let path = stage.scratch.path
    // After an erase command the helper prints another value.
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
