import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Logins with a browser: authorization code with PKCE (RFC 6749 section 4.1, RFC 7636, RFC 8252, RFC 9207).
@Suite(.inProcess) struct BrowserLoginTests {
  private func callback(_ query: [String: String], _ more: String = "") -> String {
    "/callback?code=\(TokenStage.code)&state=\(query["state"] ?? "")\(more)"
  }

  @Test(arguments: [1, 2])
  func `T38 T39: the browser returns a code, bearerd fetches the token, and requests are sent`(workers: Int) throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: stage.granted)
    try stage.start(stage.browser(), more: ", scope: mail.read", workers: workers)
    #expect(try stage.stage.get().isRefused("login-required"))
    let person = try Person(stage)
    let query = try person.query()
    #expect(query["response_type"] == "code" && query["client_id"] == "bearerd" && query["scope"] == "mail.read")
    let page = try stage.visit(query, callback(query))
    #expect(page.status == 200 && page.text.contains("Logged in") && !page.text.contains(TokenStage.code))
    #expect(page.values("Referrer-Policy") == ["no-referrer"] && page.values("Cache-Control") == ["no-store"])
    #expect(person.waitForExit() == 0, "\(person.text)")
    let form = try #require(stage.tokens.forms.first)
    #expect(form["grant_type"] == "authorization_code" && form["code"] == TokenStage.code)
    #expect(form["redirect_uri"] == query["redirect_uri"])
    let verifier = try #require(form["code_verifier"])
    #expect(try challenge(of: verifier) == query["code_challenge"])
    for _ in 0..<4 { #expect(try stage.stage.get().status == 200) }
    #expect(stage.stored.contains("refresh_token \(stage.refresh)\n"))
    #expect(stage.tokens.requests.count == 1)
    // The redirect address is closed.
    #expect(throws: (any Error).self) { _ = try stage.callback(query) }
    stage.assertLogin([person], times: 4)
  }

  /// Computes the code challenge of RFC 7636 section 4.2 with OpenSSL.
  private func challenge(of verifier: String) throws -> String {
    let digest = try run(["sh", "-c", "printf %s '\(verifier)' | openssl dgst -sha256 -binary | base64 -w0"]).output
    return digest.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  @Test func `T38: unrelated requests to the redirect address do not end the login`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: stage.granted)
    try stage.start(stage.browser())
    let person = try Person(stage)
    let query = try person.query()
    let other = String((query["state"] ?? "").reversed())
    let port = try #require(URLComponents(string: query["redirect_uri"] ?? "")?.port)
    for (method, target, status) in [
      ("GET", "/callback?code=c&state=\(other)", 404), ("GET", "/callback?code=c", 404),
      ("GET", "/callback?code=c&state=", 404), ("GET", "/", 404), ("GET", "/favicon.ico", 404),
      ("GET", "/other?code=c&state=\(query["state"] ?? "")", 404),
      ("GET", "/callback?access_token=t&state=\(other)", 404),
      ("POST", callback(query), 400), ("GET", "callback", 400), ("get", callback(query), 400),
    ] {
      #expect(try stage.visit(query, target, method: method).status == status, "\(method) \(target)")
    }
    for host in ["localhost", "localhost:\(port)", "127.0.0.1", "evil.test:\(port)"] {
      #expect(try stage.visit(query, callback(query), host: host).status == 421, "\(host)")
    }
    // Silent connections do not block the browser's connection.
    let silent = try (0..<20).map { _ in try stage.callback(query) }
    #expect(stage.tokens.requests.isEmpty)
    #expect(try stage.visit(query, callback(query)).status == 200)
    #expect(person.waitForExit() == 0)
    #expect(person.text.components(separatedBy: "an unexpected request arrived").count == 4)
    #expect(try stage.stage.get().status == 200)
    _ = silent
    stage.assertLogin([person], times: 1)
  }

  @Test(arguments: [
    ("/callback?access_token=TOKEN-x&state=STATE", "a token into the browser's URL"),
    ("/callback?code=c&id_token=TOKEN-x&state=STATE&iss=https%3A%2F%2Flogin.example", "a token into"),
    (
      "/callback?error=access_denied&error_description=s3cret&state=STATE&iss=https%3A%2F%2Flogin.example",
      "access_denied"
    ),
    ("/callback?code=c&state=STATE", "does not name https://login.example"),
    (
      "/callback?code=c&state=STATE&iss=https%3A%2F%2Fevil.example",
      "does not name https://login.example"
    ),
    ("/callback?code=c&code=d&state=STATE&iss=https%3A%2F%2Flogin.example", "no code or several"),
  ])
  func `T38: an invalid authorization response ends the login`(_ target: String, _ why: String) throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: stage.granted)
    try stage.start(stage.browser(), more: ", issuer: https://login.example")
    let person = try Person(stage)
    let query = try person.query()
    let page = try stage.visit(query, target.replacing("STATE", with: query["state"] ?? ""))
    #expect(page.status == 400 && page.text.contains("Not logged in") && !page.text.contains("TOKEN-x"))
    #expect(person.waitForExit() == 1)
    #expect(person.text.contains(why) && !person.text.contains("s3cret"), "\(person.text)")
    #expect(throws: (any Error).self) { _ = try stage.callback(query) }
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.tokens.requests.isEmpty && !FileManager.default.fileExists(atPath: stage.store))
    stage.assertLogin([person], times: 0)
  }

  @Test func `T38: an authorization response is accepted once`() throws {
    let stage = try TokenStage()
    let gate = Gate()
    stage.tokens.respond(with: stage.granted)
    stage.tokens.onRequest.withLock { $0 = { _ in gate.pass() } }
    try stage.start(stage.browser())
    let person = try Person(stage)
    let query = try person.query()
    let browser = try stage.callback(query)
    try browser.send("GET \(callback(query)) HTTP/1.1\r\nHost: \(try stage.authority(query))\r\n\r\n")
    #expect(stage.tokens.waitForRequests(1))
    let replayed = try stage.visit(query, callback(query).replacing(TokenStage.code, with: "EVIL-code"))
    #expect(replayed.status == 400 && replayed.text.contains("already ended"))
    gate.open()
    #expect(try browser.response().status == 200)
    #expect(person.waitForExit() == 0)
    #expect(stage.tokens.forms.map { $0["code"] } == [TokenStage.code])
    #expect(try stage.stage.get().status == 200)
    stage.assertLogin([person], times: 1)
  }

  @Test(arguments: ["127.0.0.1", "[::1]"])
  func `the browser returns to the configured redirect_uri`(host: String) throws {
    if host == "[::1]", !LocalClient.hasIPv6 { return }
    let stage = try TokenStage()
    stage.tokens.respond(with: stage.granted)
    let port = try freePort()
    try stage.start(stage.browser(", redirect_uri: \"http://\(host):\(port)/a/b\""))
    let person = try Person(stage)
    let query = try person.query()
    #expect(query["redirect_uri"] == "http://\(host):\(port)/a/b")
    #expect(try stage.visit(query, callback(query)).status == 404)
    #expect(try stage.visit(query, callback(query).replacing("/callback?", with: "/a/b?")).status == 200)
    #expect(person.waitForExit() == 0)
    #expect(stage.tokens.forms.map { $0["redirect_uri"] } == ["http://\(host):\(port)/a/b"])
    stage.assertLogin([person], times: 0)
  }

  /// Returns a free port outside of the system's ephemeral range.
  private func freePort() throws -> UInt16 {
    let ports = (0..<100).lazy.map { _ in UInt16.random(in: 20_000..<30_000) }
    return try #require(ports.first { Squatting(.loopback4, port: $0) != nil })
  }

  @Test func `login_timeout ends the wait for the browser`() throws {
    let stage = try TokenStage()
    try stage.start(stage.browser(", login_timeout: 1s"))
    let person = try Person(stage)
    let query = try person.query()
    #expect(person.waitForExit() == 1 && person.text.contains("no browser returned in time"))
    #expect(throws: (any Error).self) { _ = try stage.callback(query) }
    stage.assertLogin([person], times: 0)
  }

  @Test(
    arguments: [
      (.error(400, "invalid_grant"), "invalid_grant"), (.nothing, "gave no token"),
      (.raw("HTTP/1.1 307 X\r\nLocation: https://evil.test/\r\nContent-Length: 0\r\n\r\n"), "does not follow"),
    ] as [(TokenServer.Response, String)])
  func `a rejected code ends the login, with the reason in browser and terminal`(
    _ response: TokenServer.Response, _ why: String
  ) throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: response)
    try stage.start(stage.browser())
    let person = try Person(stage)
    let query = try person.query()
    let page = try stage.visit(query, callback(query))
    #expect(page.status == 502 && page.text.contains(why))
    #expect(person.waitForExit() == 1 && person.text.contains(why))
    #expect(stage.tokens.requests.count == 1)
    stage.assertLogin([person], times: 0)
  }

  @Test func `no login starts if another program listens at the redirect address`() throws {
    let stage = try TokenStage()
    let other = try #require(Squatting(.loopback4, port: 0))
    try stage.start(stage.browser(", redirect_uri: \"http://127.0.0.1:\(other.port)/\""))
    let person = try Person(stage)
    #expect(person.waitForExit() == 1 && person.text.contains("bearerd cannot listen at"), "\(person.text)")
    #expect(!person.text.contains("https://localhost"))
    stage.assertLogin([person], times: 0)
  }

  @Test func `leaving bearerctl login ends the login and closes the redirect address`() throws {
    let stage = try TokenStage()
    try stage.start(stage.browser())
    let person = try Person(stage)
    let query = try person.query()
    person.interrupt()
    #expect(stage.log.wait(for: .loginCancelled, ["credential": "canary"]))
    #expect(throws: (any Error).self) { _ = try stage.callback(query) }
    stage.assertLogin([person], times: 0)
  }
}
