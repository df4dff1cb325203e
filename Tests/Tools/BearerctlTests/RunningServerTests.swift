import Foundation
import ServerSupport
import TestServer
import TestSupport
import Testing

/// `explain`, `status` and `check` beside a running server, which they ask for its present state.
@Suite(.inProcess) struct RunningServerTests {
  private func bearerctl(_ words: String...) throws -> CommandResult {
    try run([RunningDaemon.binary("bearerctl")] + words)
  }

  @Test func `explain shows the remaining budget, and status lists callers without any`() throws {
    let rules = """
      rate: 3/d
      rules:
        - { match: "/own/**", rate: 1/d }
        - { match: "/free/**", rate: none }
        - { match: "/**" }
      """
    let stage = try Stage()
    func statuses(_ paths: String...) throws -> [Int] { try paths.map { try stage.get($0).status } }
    try stage.start(stage.configuration(service: rules))
    func explain(_ path: String) throws -> CommandResult {
      try bearerctl("explain", "GET", path, "--config", stage.file)
    }
    var explained = try explain("/api/x")
    #expect(
      explained.status == 0 && explained.output.contains("  rate        3/d of the service, for each caller\n"),
      "\(explained.output)")
    #expect(explained.output.contains("\n              3 left now\n"))
    #expect(try !explain("/api/free/x").output.contains("  rate  "))
    #expect(try statuses("/api/own/1", "/api/1") == [200, 200])
    #expect(try explain("/api/x").output.contains("\n              2 left now\n"))
    explained = try explain("/api/own/x")
    #expect(
      explained.status == 1 && explained.output.contains("  rate        1/d of rule 1, for each caller\n"),
      "\(explained.output)")
    #expect(
      explained.output.contains(/\n {14}none left now, next request in (1 d|23 h 59 min)\n/), "\(explained.output)")
    #expect(
      explained.output.hasSuffix("\nThe request would be refused now: 429 rate-limited.\n"), "\(explained.output)")
    let status = try bearerctl("status", "--config", stage.file).output
    #expect(
      status.contains("  api: uid \(getuid()) has used up the rate 1/d of rule 1, next request in "),
      "\(status)")
    #expect(!status.contains("3/d"))
    stage.assertCanary(times: 2)
  }

  @Test func `explain and status show the HTTP version that the upstream has selected`() throws {
    var options = UpstreamServer.Options()
    options.protocols = ["h2", "http/1.1"]
    let stage = try Stage(options: options, handler: UpstreamServer.http2Handler { _ in .response("hi") })
    try stage.start(stage.configuration())
    func explain(_ words: String...) throws -> String {
      try run([RunningDaemon.binary("bearerctl"), "explain", "GET", "/api/x", "--config", stage.file] + words).output
    }
    let rule = "  HTTP        2 or 1.1, as the upstream selects in the TLS handshake (protocol: auto)\n"
    let before = try explain()
    #expect(before.contains(rule) && !before.contains("last connection"), "\(before)")
    #expect(try stage.get().text == "hi")
    let after = try explain()
    #expect(after.contains("\(rule)              the upstream selected 2 for the last connection\n"), "\(after)")
    #expect(try explain("-H", "Connection: upgrade", "-H", "Upgrade: websocket").contains("HTTP        1.1, because"))
    let status = try bearerctl("status", "--config", stage.file).output
    #expect(status.contains("  \(stage.origin)  HTTP/2  2 pins"), "\(status)")
    #expect(status.contains("  \(stage.origin)  canary  HTTP/2  1 idle  0 active  no streams"), "\(status)")
  }

  @Test func `status and check show the format of a program, and status shows when its value expires`() throws {
    let stage = try Stage()
    let end = Int(Date().timeIntervalSince1970) + 7_200
    let answer = "username=me\\npassword=\(stage.canary)\\npassword_expiry_utc=\(end)\\n"
    let helper = try stage.scratch.write("helper", "#!/bin/sh\nprintf '\(answer)'\n", mode: 0o700)
    try stage.start(
      stage.configuration(credential: "basic: { password: { command: [\(helper)], format: git-credential } }"))
    #expect(try stage.get().status == 200)
    let status = try bearerctl("status", "--config", stage.file).output
    #expect(status.contains("command \(helper) (git-credential), expires in "), "\(status)")
    let check = try bearerctl("check", stage.file).output
    #expect(check.contains("command \(helper) (git-credential): exists; only the daemon runs it"), "\(check)")
    let sent = Data("me:\(stage.canary)".utf8).base64EncodedString()
    stage.assertCanary(times: 1, as: "Authorization: Basic \(sent)\r\n")
  }

  @Test func `check and explain do not log in, and explain names the login URL`() throws {
    let stage = try CouchStage()
    let file = try stage.stage.scratch.write("bearerd.yaml", stage.configuration(), mode: 0o644)
    let text = try bearerctl("explain", "GET", "/api/x", "--config", file).output
    #expect(text.contains("login at \(stage.stage.origin)/_session") && text.lowercased().contains("cookie"))
    #expect(try bearerctl("check", file).status == 0)
    #expect(stage.stage.upstream.records.isEmpty)
  }

  @Test func `explain and status name the command for a login that is needed`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse(), stage.granted])
    try stage.start(stage.device)
    #expect(try stage.stage.get().isRefused("login-required"))
    let url = "http://localhost:\(try stage.stage.daemon!.port())/api/x"
    let before = try bearerctl("explain", "GET", url, "--config", stage.stage.file)
    #expect(before.status == 1, "\(before)")
    #expect(before.output.contains("bearerctl login canary") && before.output.contains("login-required"), "\(before)")
    let status = try bearerctl("status", "--control", stage.stage.scratch.path + "/control.sock")
    #expect(status.output.contains("canary: there is no login yet: run bearerctl login canary"), "\(status)")
    let person = try Person(stage)
    #expect(person.waitForExit() == 0)
    let after = try bearerctl("explain", "GET", url, "--config", stage.stage.file)
    #expect(after.status == 0 && !after.output.contains("login-required"), "\(after)")
    stage.assertLogin([person], times: 0)
  }

  @Test func `explain applies allow_clients of services and credentials`() throws {
    let stage = try Stage()
    let text = stage.configuration(
      service: "allow_clients: [ci]", listener: "address: localhost:0\n    clients: \(ClientTokens.both)")
    try stage.start(text)
    func explained(_ client: String) throws -> CommandResult {
      try bearerctl("explain", "GET", "/api/x", "--config", stage.file, "--client", client)
    }
    let allowed = try explained("ci")
    #expect(allowed.status == 0 && allowed.output.contains("client      ci, by its token"), "\(allowed)")
    let refused = try explained("dev")
    #expect(refused.status == 1 && refused.output.contains("Refused: 403 client-not-allowed."), "\(refused)")
    #expect(refused.output.contains("allow_clients of services.api"))
    try stage.reload(
      text.replacing("    allow_clients: [ci]\n", with: "")
        .replacing("bearer: { file: canary.token }", with: "bearer: { file: canary.token }\n    allow_clients: [dev]"))
    #expect(try explained("ci").output.contains("Refused: 403 client-not-allowed."))
    #expect(try explained("dev").status == 0)
  }

  @Test(.enabled(if: ClientTokens.ownAddress != nil, "needs an address that is not loopback"))
  func `explain for a request over the network names no user`() throws {
    let stage = try Stage()
    let ip = try #require(ClientTokens.ownAddress)
    try stage.start(
      stage.configuration(listener: "address: \(ip):0\n    clients: \(ClientTokens.both)")
        .replacing("    allow_users: [\(getuid())]\n", with: ""))
    let explained = try bearerctl("explain", "GET", "/api/x", "--config", stage.file, "--client", "ci")
    #expect(
      explained.status == 0 && explained.output.contains("no user: the request comes over the network"), "\(explained)")
  }

  @Test func `explain shows the fields of a pair of credentials`() throws {
    let stage = try Stage()
    try stage.scratch.write("key.token", "SECOND-secret\n")
    let key = "key: { origins: [\"\(stage.origin)\"], headers: [{ name: X-Api-Key, value: { file: key.token } }] }"
    try stage.start(
      stage.configuration(credential: "bearer: { file: canary.token }\n  \(key)")
        .replacing("credential: canary", with: "credential: [key, canary]"))
    let explained = try bearerctl("explain", "GET", "/api/x", "--config", stage.file).output
    #expect(explained.contains("Authorization: Bearer ••••") && explained.contains("X-Api-Key: ••••"))
    #expect(explained.contains("canary+key") || explained.contains("key+canary"))
  }
}

extension Stage {
  /// The path of the configuration.
  fileprivate var file: String { scratch.path + "/bearerd.yaml" }
}
