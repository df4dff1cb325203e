import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct RequestsNeedValidTokens {
  @Test(arguments: [1, 2])
  func `T40: if the endpoint fails, a token is used until its expiry, then requests get 503`(
    workers: Int
  ) throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [.token(stage.stage.canary, expiresIn: 4), .error(500, "server_error")])
    try stage.start(workers: workers)
    var good = 0
    let refused = try stage.ask(until: { $0.status != 200 }) { _ in good += 1 }
    #expect(refused?.isRefused("token-unavailable") == true && refused?.values("Retry-After").count == 1)
    #expect(good > 0)
    stage.tokens.respond(with: .token(stage.stage.canary, expiresIn: 3600))
    let again = try stage.ask(until: { $0.status == 200 }) { #expect($0.isRefused("token-unavailable")) }
    #expect(again != nil)
    // Every request at the upstream had a token.
    stage.assertSecrets(times: good + 1)
    #expect(stage.stage.recorded.components(separatedBy: "GET /").count == good + 2)
  }

  static let garbage: [(String, TokenServer.Response)] = [
    ("no answer", .nothing),
    ("an empty object", .raw(TokenServer.json(200, "{}"))),
    ("HTML", .raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>")),
    ("another type of token", .raw(TokenServer.json(200, "{\"access_token\":\"s3cret\",\"token_type\":\"mac\"}"))),
    ("no HTTP", .raw("220 mail.example.com ESMTP\r\n")),
    (
      "cut in the middle",
      .raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"acc")
    ),
    ("larger than anything", .raw(TokenServer.json(200, "\"" + String(repeating: "a", count: 80_000)))),
    ("a client that it does not know", .error(401, "invalid_client")),
    ("lines in its error", .error(400, "invalid_scope\\nevent=forged")),
  ]

  @Test(arguments: garbage.indices)
  func `T40: an unusable token response leads to 503, and the upstream gets no byte`(index: Int) throws {
    let (name, response) = Self.garbage[index]
    let stage = try TokenStage()
    stage.tokens.respond(with: response)
    try stage.start(more: ", timeout: 3s")
    let refused = try stage.stage.get()
    #expect(refused.isRefused("token-unavailable"), "\(name): \(refused.text)")
    #expect(stage.log.wait(for: .tokenFailed, ["credential": "canary"]))
    #expect(stage.log.hides("s3cret") && stage.log.hides("\nevent=forged"), "\(name)")
    #expect(stage.stage.upstream.records.isEmpty)
    stage.assertSecrets(times: 0)
  }

  /// Waiting requests are refused together. Later requests are refused without another token request.
  @Test(arguments: [1, 3])
  func `T39: fifty requests that wait for a failed token request get 503`(workers: Int) throws {
    let stage = try TokenStage()
    let gate = Gate()
    stage.tokens.onRequest.withLock { $0 = { _ in gate.pass() } }
    stage.tokens.respond(
      with: .raw("HTTP/1.1 503 X\r\nContent-Type: application/json\r\nRetry-After: 60\r\nContent-Length: 2\r\n\r\n{}"))
    try stage.start(more: ", timeout: 30s", workers: workers)
    #expect(stage.tokens.waitForRequests(1))
    let clients = try (0..<50).map { _ in try stage.stage.client() }
    for client in clients { try client.send(stage.stage.head("GET")) }
    gate.open()
    for client in clients { #expect(try client.response().isRefused("token-unavailable")) }
    for client in clients { try client.send(stage.stage.head("GET")) }
    for client in clients { #expect(try client.response().isRefused("token-unavailable")) }
    #expect(stage.tokens.requests.count == 1 && stage.stage.upstream.records.isEmpty)
    let status = try stage.stage.control("status")
    #expect(status.contains("\"failures_in_a_row\":1"), "\(status)")
    let pause = status.firstMatch(of: /"next_attempt_in":([0-9]+)/).flatMap { Int($0.1) } ?? 0
    #expect((1...60).contains(pause), "\(status)")
    stage.assertSecrets(times: 0)
  }

  /// The token expires during the requests.
  @Test(arguments: [1, 3])
  func `T39: two hundred requests at a token's expiry share one token request`(workers: Int) throws {
    let stage = try TokenStage()
    let gate = Gate()
    let count = Guarded(0)
    stage.tokens.onRequest.withLock {
      $0 = { _ in
        let isFirst = count.withLock { value in
          value += 1
          return value == 1
        }
        if !isFirst { gate.pass() }
      }
    }
    stage.tokens.respond(with: [.token(stage.stage.canary, expiresIn: 4), .token(stage.stage.canary, expiresIn: 3600)])
    try stage.start(more: ", timeout: 30s", workers: workers)
    let clients = try (0..<200).map { _ in try stage.stage.client() }
    #expect(try stage.stage.get().status == 200)
    // An early renewal waits until the old token has expired.
    #expect(eventually { (try? stage.stage.control("status"))?.contains("\"seconds_left\":null") == true })
    for client in clients { try client.send(stage.stage.head("GET")) }
    gate.open(times: 10)
    for client in clients { #expect(try client.response().status == 200) }
    #expect(stage.tokens.requests.count == 2)
    stage.assertSecrets(times: 201)
  }

  /// Permanent errors are not retried.
  @Test(arguments: [(401, "invalid_client"), (400, "unauthorized_client"), (404, "no"), (302, "no")])
  func `T38: an endpoint that refuses the client is not asked again until a reload or a change`(
    _ status: Int, _ code: String
  ) throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: .error(status, code))
    try stage.start()
    #expect(stage.log.wait(for: .tokenFailed))
    let end = DispatchTime.now() + .milliseconds(2_500)
    while DispatchTime.now() < end { #expect(try stage.stage.get().isRefused("token-unavailable")) }
    #expect(stage.tokens.requests.count == 1)
    // A reload and a changed secret lead to another attempt.
    #expect(try stage.stage.control("reload") == "ok\n2\n")
    #expect(eventually { stage.log.lines(of: .tokenFailed).count == 2 })
    stage.tokens.respond(with: .token(stage.stage.canary, expiresIn: 3600))
    try stage.stage.scratch.write("client.secret", "ANOTHER-secret")
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    #expect(stage.tokens.requests.count == 3)
    stage.assertSecrets(times: 1)
  }

  @Test func `T40: a request waits for a silent token endpoint only until the timeout`() throws {
    let stage = try TokenStage()
    let gate = Gate()
    stage.tokens.onRequest.withLock { $0 = { _ in gate.pass() } }
    try stage.start(more: ", timeout: 500ms")
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    gate.open(times: 100)
    #expect(stage.stage.upstream.records.isEmpty)
    stage.assertSecrets(times: 0)
  }

  @Test func `T40: without the client secret nothing is sent to the endpoint or the upstream`() throws {
    let stage = try TokenStage()
    try FileManager.default.removeItem(atPath: stage.stage.scratch.path + "/client.secret")
    try stage.start()
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    #expect(stage.tokens.server.records.isEmpty && stage.stage.upstream.records.isEmpty)
    try stage.stage.scratch.write("client.secret", stage.clientSecret)
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    stage.assertSecrets(times: 1)
  }

  @Test(arguments: [1, 2])
  func `T40: a revoked login is logged once, and the endpoint is not asked until a new login`(
    workers: Int
  ) throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: .error(400, "invalid_grant"))
    try stage.start(TokenStage.person, workers: workers)
    #expect(stage.log.wait(for: .loginRequired, ["credential": "canary"]))
    for _ in 0..<100 { #expect(try stage.stage.get().isRefused("login-required")) }
    #expect(stage.tokens.requests.count == 1)
    #expect(stage.log.lines(of: .loginRequired).count == 1)
    stage.tokens.respond(with: .token(stage.stage.canary, expiresIn: 3600))
    try stage.stage.scratch.write("second.token", "SECOND-refresh")
    _ = rename("\(stage.stage.scratch.path)/second.token", "\(stage.stage.scratch.path)/first.token")
    let again = try stage.ask(until: { $0.status == 200 }) { #expect($0.status == 503) }
    #expect(again != nil)
    #expect(stage.tokens.forms.map { $0["refresh_token"] } == [stage.first, "SECOND-refresh"])
    stage.assertSecrets(times: 1)
  }
}
