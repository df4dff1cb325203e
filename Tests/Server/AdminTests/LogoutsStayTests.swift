import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Logouts stay in effect, and revoke the tokens at the server (T46).
@Suite(.inProcess) struct LogoutsStay {
  @Test func `T46: a restart keeps the credential logged out until its refresh token file changes`() throws {
    let stage = try TokenStage()
    stage.enableRevocation()
    let daemon = try stage.start(TokenStage.person, more: stage.revocation)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.stored.contains(TokenStage.refresh))
    try stage.stage.logOut()
    #expect(stage.stored.hasSuffix("\nlogged_out\n") && !stage.stored.contains(TokenStage.refresh))
    #expect(daemon.stop() == 0)
    let asked = stage.tokens.requests.count
    let again = try stage.start(TokenStage.person, more: stage.revocation)
    for _ in 0..<3 { #expect(try stage.stage.get().isRefused("login-required")) }
    #expect(again.log.wait(for: .loginRequired, ["credential": "canary"]))
    for more in ["", ", skew: 5s"] {
      try stage.stage.reload(stage.configuration(TokenStage.person, more: stage.revocation + more))
      #expect(try stage.stage.get().isRefused("login-required"))
    }
    #expect(stage.tokens.requests.count == asked, "nothing is asked with a login that was ended")
    #expect(stage.log.lines(of: .loginRequired).count <= 2, "once for each configuration of it")
    try stage.stage.scratch.write("first.token", "ANOTHER-first")
    let good = try stage.ask(until: { $0.status == 200 }) { #expect($0.status == 503) }
    #expect(good != nil)
    #expect(stage.tokens.forms.last?["refresh_token"] == "ANOTHER-first")
    #expect(stage.stored.contains(TokenStage.refresh))
    stage.assertSecrets(times: 2)
  }

  @Test func `T46: a logout revokes the newest refresh token first, then the access token`() throws {
    let stage = try TokenStage()
    stage.enableRevocation()
    try stage.start(TokenStage.person, more: stage.revocation)
    #expect(try stage.stage.get().status == 200)
    let report = try stage.stage.logOut()
    #expect(report.revoked == [["refresh_token", ""], ["access_token", ""]])
    #expect(stage.revokedTokens == [["refresh_token", TokenStage.refresh], ["access_token", stage.stage.canary]])
    let basic = Data("bearerd:\(stage.clientSecret)".utf8).base64EncodedString()
    for request in stage.tokens.requests.suffix(2) {
      #expect(request.text.hasPrefix("POST /oauth2/revoke HTTP/1.1\r\n"))
      #expect(request.text.contains("\r\nAuthorization: Basic \(basic)\r\n"))
    }
    #expect(stage.log.wait(for: .tokenRevoked, ["credential": "canary"], count: 2))
    #expect(stage.log.wait(for: .loggedOut, ["credential": "canary"]))
    // A second logout has nothing to revoke.
    #expect(try stage.stage.logOut().revoked.isEmpty)
    #expect(stage.revokedTokens.count == 2)
    stage.assertSecrets(times: 1)
  }

  private static let failingRevocations: [(TokenServer.Response, String)] = [
    (.nothing, "closed the connection"), (.error(503, "temporarily_unavailable"), "responded with 503"),
    (.error(400, "unsupported_token_type"), "unsupported_token_type"),
    (.error(401, "invalid_client"), "invalid_client"),
    (.raw("HTTP/1.1 302 X\r\nLocation: https://evil.example.com/\r\nContent-Length: 0\r\n\r\n"), "redirects"),
  ]

  @Test(arguments: failingRevocations.indices)
  func `T46: a logout succeeds and reports the failure if the server revokes no token`(index: Int) throws {
    let (response, words) = Self.failingRevocations[index]
    let stage = try TokenStage()
    stage.enableRevocation(response)
    try stage.start(TokenStage.person, more: stage.revocation)
    #expect(try stage.stage.get().status == 200)
    let revoked = try stage.stage.logOut().revoked
    #expect(revoked.map { $0[0] } == ["refresh_token", "access_token"])
    #expect(revoked.allSatisfy { $0[1].contains(words) && !$0[1].contains("tries again") }, "\(revoked)")
    #expect(stage.log.wait(for: .tokenNotRevoked, ["credential": "canary"], count: 2))
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.stored.hasSuffix("\nlogged_out\n"))
    stage.assertSecrets(times: 1)
  }

  @Test func `T46: the revocations of all tokens together share one request timeout`()
    throws
  {
    let stage = try TokenStage()
    let gate = Gate()
    stage.enableRevocation { isRevocation in if isRevocation { gate.pass() } }
    try stage.start(TokenStage.person, more: stage.revocation + ", timeout: 400ms")
    #expect(try stage.stage.get().status == 200)
    let revoked = try stage.stage.logOut().revoked
    gate.open(times: 4)
    #expect(revoked.count == 2 && revoked[0][1].contains("did not respond within"), "\(revoked)")
    #expect(revoked[1][1].contains("no time left"), "\(revoked)")
    #expect(stage.revokedTokens.count == 1)
    #expect(try stage.stage.get().isRefused("login-required"))
  }

  @Test func `T38: a revocation server has to match the same pins as the token server`() throws {
    let stage = try TokenStage()
    stage.enableRevocation()
    let other = try UpstreamServer(chain: [try Stage.leaf(issuer: stage.stage.ca)]) { connection in
      while (try? connection.readRequest()) ?? nil != nil { connection.respond("") }
    }
    try stage.start(TokenStage.person, more: ", revocation_url: \"https://localhost:\(other.port)/revoke\"")
    #expect(try stage.stage.get().status == 200)
    let revoked = try stage.stage.logOut().revoked
    #expect(revoked.count == 2 && revoked.allSatisfy { $0[1].contains("pin-mismatch") }, "\(revoked)")
    #expect(other.records.allSatisfy { $0.bytes.isEmpty })
    stage.assertSecrets(times: 1)
  }

  /// Returns once the token request has arrived. The endpoint responds when the gate opens.
  private func stageDuringTokenRequest(workers: Int) throws -> (stage: TokenStage, gate: Gate) {
    let stage = try TokenStage()
    let (gate, asked) = (Gate(), Gate())
    stage.enableRevocation { isRevocation in
      if isRevocation { return }
      asked.open()
      gate.pass()
    }
    try stage.start(TokenStage.person, more: stage.revocation, workers: workers)
    #expect(asked.pass())
    return (stage, gate)
  }

  /// The token response arrives after the logout.
  @Test(arguments: [1, 2])
  func `T46: tokens that arrive after a logout are revoked and never used`(workers: Int) throws {
    let (stage, gate) = try stageDuringTokenRequest(workers: workers)
    let client = try stage.stage.raw()
    try client.send(stage.stage.head("GET"))
    let asking = try LocalClient(unix: stage.stage.scratch.path + "/control.sock")
    try asking.send("logout canary\n")
    // A waiting caller gets its response immediately, not when the server responds.
    #expect(try client.response().body.contains("error:login-required\""))
    gate.open(times: 4)
    while try !asking.isAtEnd() { try asking.drain() }
    let report = String(decoding: asking.received, as: UTF8.self)
    #expect(report.hasPrefix("ok\n"), "\(report)")
    #expect(
      stage.revokedTokens == [
        ["refresh_token", TokenStage.refresh], ["refresh_token", stage.first], ["access_token", stage.stage.canary],
      ])
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.stored.hasSuffix("\nlogged_out\n"))
    #expect(stage.stage.upstream.records.isEmpty)
    stage.assertSecrets(times: 0)
  }

  /// The refresh token file changes while a token request is in progress.
  @Test func `T46: a refresh token that is written during a logout is used once the logout has ended`() throws {
    let (stage, gate) = try stageDuringTokenRequest(workers: 1)
    let asking = try LocalClient(unix: stage.stage.scratch.path + "/control.sock")
    try asking.send("logout canary\n")
    #expect(try stage.stage.get().isRefused("login-required"))
    let second = "SECOND-" + UUID().uuidString
    try stage.stage.scratch.write("first.token", second)
    // By now bearerd has noticed the change.
    for _ in 0..<3 { #expect(try stage.stage.get().isRefused("login-required")) }
    gate.open(times: 8)
    while try !asking.isAtEnd() { try asking.drain() }
    #expect(asking.received.starts(with: Array("ok\n".utf8)))
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    let refreshes = stage.tokens.forms.compactMap { $0["refresh_token"] }
    #expect(refreshes == [stage.first, second])
    stage.assertSecrets(times: 1)
  }

  /// Rewriting the same secret, or new output of a program, does not end a logout.
  @Test func `T46: rewriting the same client secret does not end a logout`() throws {
    let stage = try TokenStage()
    stage.enableRevocation()
    try stage.start(more: stage.revocation)
    #expect(try stage.stage.get().status == 200)
    try stage.stage.logOut()
    let count = stage.tokens.requests.count
    let path = stage.stage.scratch.path + "/client.secret"
    #expect(unlink(path) == 0)
    for _ in 0..<3 { #expect(try stage.stage.get().isRefused("login-required")) }
    try stage.stage.scratch.write("client.secret", stage.clientSecret + "\n")
    for _ in 0..<3 { #expect(try stage.stage.get().isRefused("login-required")) }
    #expect(stage.tokens.requests.count == count)
    stage.assertSecrets(times: 1)
  }

  @Test func `T46: a new client secret from a program does not end a logout, but a reload does`() throws {
    let stage = try TokenStage()
    stage.enableRevocation()
    let helper = try stage.stage.scratch.write(
      "helper", "#!/bin/sh\ndate +%s%N\n", mode: 0o700)
    try stage.stage.start(
      stage.configuration(more: stage.revocation).replacing(
        "{ file: client.secret }", with: "{ command: [\(helper)], ttl: 1s }"))
    let first = try stage.stage.get()
    #expect(first.status == 200, "\(first.text) \(stage.log)")
    try stage.stage.logOut()
    let count = stage.tokens.requests.count
    // Longer than the lifetime of two values.
    let end = DispatchTime.now() + .milliseconds(2_500)
    while DispatchTime.now() < end { #expect(try stage.stage.get().isRefused("login-required")) }
    #expect(stage.tokens.requests.count == count)
    try stage.stage.reload(
      stage.configuration(more: stage.revocation).replacing(
        "{ file: client.secret }", with: "{ command: [\(helper)], ttl: 1s }"))
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    stage.stage.assertCanary(times: 2)
  }

  @Test func `T46: if the logout cannot be recorded, the stored login is deleted and the problem is reported`() throws {
    let stage = try TokenStage()
    stage.enableRevocation()
    try stage.start(TokenStage.person, more: stage.revocation)
    #expect(try stage.stage.get().status == 200)
    // bearerd does not overwrite a login file that others can read.
    chmod(stage.store, 0o644)
    let problem = try stage.stage.logOut()["problem"] as? String
    #expect(
      problem?.contains("canary.login") == true && problem?.contains("was deleted") == true, "\(problem ?? "none")")
    #expect(!FileManager.default.fileExists(atPath: stage.store))
    #expect(stage.log.wait(for: .loginNotWiped, ["credential": "canary"]))
    #expect(try stage.stage.get().isRefused("login-required"))
    stage.assertSecrets(times: 1)
  }
}
