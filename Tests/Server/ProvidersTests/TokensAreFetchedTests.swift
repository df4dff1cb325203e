import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Tokens are fetched before the first request needs them, once for all requests.
@Suite(.inProcess) struct TokensAreFetched {
  @Test func `a client_credentials token is fetched before the first request, and sent with each request`() throws {
    let stage = try TokenStage()
    try stage.start(more: ", scope: [mail.read, mail.send], parameters: { tenant: \"a&b=c+d%e ü\" }")
    #expect(stage.tokens.waitForRequests(1))
    #expect(stage.log.wait(for: .credentialChanged, ["credential": "canary", "credential_generation": 1]))
    for _ in 0..<3 { #expect(try stage.stage.get().status == 200) }
    let request = try #require(stage.tokens.requests.first)
    #expect(
      request.form == ["grant_type": "client_credentials", "scope": "mail.read mail.send", "tenant": "a&b=c+d%e ü"])
    let basic = Data("bearerd:\(stage.clientSecret)".utf8).base64EncodedString()
    #expect(request.text.hasPrefix("POST /oauth2/token HTTP/1.1\r\n") && request.text.contains("Basic \(basic)\r\n"))
    #expect(stage.tokens.requests.count == 1)
    stage.assertSecrets(times: 3)
  }

  @Test func `header fields and parameters of a token request come from files`() throws {
    let stage = try TokenStage()
    let key = "API-KEY-of-somebody-1"
    try stage.stage.scratch.write("api.key", key + "\n")
    try stage.start(
      more: ", parameters: { apikey: { file: api.key } }, headers: { X-Api-Key: { file: api.key }, X-Plain: x }",
      url: "\(stage.tokens.url)?p=1")
    #expect(stage.tokens.waitForRequests(1))
    #expect(try stage.stage.get().status == 200)
    let request = try #require(stage.tokens.requests.first)
    #expect(request.text.hasPrefix("POST /oauth2/token?p=1 HTTP/1.1\r\n"))
    #expect(request.text.contains("\r\nX-Api-Key: \(key)\r\nX-Plain: x\r\n"))
    #expect(request.form == ["grant_type": "client_credentials", "apikey": key])
    #expect(try stage.stage.control("status").contains("api.key"))
    stage.stage.assertCanary(times: 0, as: key, secret: key)
  }

  @Test(arguments: [1, 2])
  func `T42: the first request waits for the program that prints the client secret`(workers: Int) throws {
    let stage = try TokenStage()
    let path = stage.stage.scratch.path
    let helper = try stage.stage.scratch.write(
      "helper", "#!/bin/sh\nuntil test -e \(path)/go; do sleep 0.02; done\ncat \(path)/client.secret\n", mode: 0o700)
    try stage.stage.start(
      stage.configuration(workers: workers).replacing("{ file: client.secret }", with: "{ command: [\(helper)] }"))
    let client = try stage.stage.client()
    try client.send(stage.stage.head("GET"))
    #expect(try stage.stage.control("status").hasPrefix("ok\n"), "others do not wait")
    try stage.stage.scratch.write("go", "")
    #expect(try client.response().status == 200)
    #expect(!stage.log.contains(.tokenFailed) && !stage.log.contains(.credentialUnavailable), "\(stage.log)")
    // The file change does not cause another token request.
    try stage.stage.scratch.write("unrelated", "")
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.requests.count == 1)
    stage.assertSecrets(times: 2)
  }

  @Test func `each start warns of the password grant`() throws {
    let stage = try TokenStage()
    try stage.stage.scratch.write("password", "PASSWORD-of-somebody\n")
    for _ in 0..<2 {
      let daemon = try stage.start("grant: password, user: me, password: { file: password }")
      #expect(daemon.log.wait(for: .configuration, ["level": "warning", "detail": .naming("RFC 9700")]))
      #expect(try stage.stage.get().status == 200)
      _ = daemon.stop()
    }
    #expect(
      stage.tokens.forms.allSatisfy { $0["grant_type"] == "password" && $0["password"] == "PASSWORD-of-somebody" })
    stage.stage.assertCanary(times: 0, as: "PASSWORD-of-somebody", secret: "PASSWORD-of-somebody")
  }

  @Test func `the configured refresh token fetches the first access token`() throws {
    let stage = try TokenStage()
    try stage.start(TokenStage.person)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.forms == [["grant_type": "refresh_token", "refresh_token": stage.first]])
    stage.assertSecrets(times: 1)
  }

  @Test(arguments: [1, 3])
  func `T39: a hundred first requests share one token request`(workers: Int) throws {
    let stage = try TokenStage()
    let gate = Gate()
    stage.tokens.onRequest.withLock { $0 = { _ in gate.pass() } }
    try stage.start(workers: workers)
    #expect(stage.tokens.waitForRequests(1))
    let head = try stage.stage.head("GET")
    let clients = try (0..<100).map { _ in try stage.stage.client() }
    for client in clients { try client.send(head) }
    gate.open()
    #expect(try clients.allSatisfy { try $0.response().status == 200 })
    #expect(stage.tokens.requests.count == 1)
    stage.assertSecrets(times: 100)
  }

  @Test(arguments: [1, 2])
  func `T40: a token is renewed before its expiry, and every request has a valid token`(workers: Int) throws {
    let stage = try TokenStage()
    let next = stage.stage.canary + "-next"
    stage.tokens.respond(with: [.token(stage.stage.canary, expiresIn: 4), .token(next, expiresIn: 3600)])
    try stage.start(workers: workers)
    var count = 0
    let isNext = eventually {
      #expect((try? stage.stage.get().status) == 200)
      count += 1
      return stage.stage.recorded.contains("Bearer \(next)\r\n")
    }
    #expect(isNext && stage.tokens.requests.count == 2)
    let recorded = stage.stage.recorded
    #expect(recorded.components(separatedBy: "GET /").count == recorded.components(separatedBy: "Bearer CANARY-").count)
    #expect(recorded.components(separatedBy: "GET /").count == count + 1)
  }

  @Test func `an unused token expires, and the next request fetches a new token`() throws {
    let stage = try TokenStage()
    let next = stage.stage.canary + "-next"
    stage.tokens.respond(with: [.token(stage.stage.canary, expiresIn: 1), .token(next, expiresIn: 3600)])
    try stage.start()
    #expect(stage.log.wait(for: .credentialUnavailable, ["credential": "canary"]))
    #expect(stage.tokens.requests.count == 1)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.requests.count == 2 && stage.stage.recorded.contains("Bearer \(next)\r\n"))
    stage.stage.assertCanary(times: 1, as: "Bearer \(next)\r\n")
  }

  @Test func `a reload keeps the token, unless the credential changes`() throws {
    let stage = try TokenStage()
    try stage.start()
    #expect(try stage.stage.get().status == 200)
    try stage.stage.reload(stage.configuration() + "\n# nothing\n")
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.requests.count == 1)
    try stage.stage.reload(stage.configuration(more: ", audience: other"))
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.forms.map { $0["audience"] } == [nil, "other"])
    stage.assertSecrets(times: 3)
  }

  @Test func `status and metrics show a token's expiry and counts`() throws {
    let stage = try TokenStage()
    try stage.start()
    #expect(try stage.stage.get().status == 200)
    let text = try stage.stage.control("status").dropFirst("ok\n".count)
    let status = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let credential = try #require((status["credentials"] as? [[String: Any]])?.first)
    let token = try #require(credential["token"] as? [String: Any])
    #expect(token["asked"] as? Int == 1 && token["granted"] as? Int == 1 && token["login_required"] as? Bool == false)
    let left = try #require(token["seconds_left"] as? Int)
    #expect((1...3600).contains(left))
    let metrics = try PrometheusText(String(try stage.stage.control("metrics").dropFirst(3)))
    #expect(try metrics.value("bearerd_token_requests_total", ["credential": "canary", "result": "granted"]) == 1)
    #expect(try metrics.value("bearerd_token_requests_total", ["credential": "canary", "result": "failed"]) == 0)
    stage.assertSecrets(times: 1)
  }
}
