import Foundation
import Log
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

/// Logins with OAuth 1.0a in three legs (RFC 5849 section 2). The canary is the secret of the token.
@Suite(.inProcess) struct OAuth1LoginTests {
  private static let request = (token: "REQUEST-0123456789-token", secret: "REQUEST-0123456789-secret")
  private static let token = "ACCESS-0123456789-token"
  private static let verifier = "VERIFIER-0123456789"
  // As Authlib writes it.
  private static let requestForm =
    "oauth_token=\(request.token)&oauth_token_secret=\(request.secret)&oauth_callback_confirmed=True"

  private func response(_ body: String, status: Int = 200, fields: String = "") -> TokenServer.Response {
    .raw(
      "HTTP/1.1 \(status) X\r\nContent-Type: application/x-www-form-urlencoded\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    )
  }

  /// - Parameters:
  ///   - first: The response to the request for a request token.
  ///   - second: The response to the request for the token.
  private func respond(
    _ stage: TokenStage, first: TokenServer.Response? = nil, second: TokenServer.Response? = nil
  ) {
    let first = first ?? response(Self.requestForm)
    let second = second ?? response("oauth_token=\(Self.token)&oauth_token_secret=\(stage.stage.canary)&user_id=4711")
    stage.tokens.onDecision.withLock { $0 = { $0.text.hasPrefix("POST /request ") ? first : second } }
  }

  private static let secret = "consumer_secret: { file: client.secret }"

  private func start(_ stage: TokenStage, _ proof: String = secret, workers: Int? = nil) throws {
    let address = address(stage)
    let oauth1 =
      "consumer_key: consumer, \(proof), request_token_url: \(address)/request, authorize_url: \(address)/authorize, access_token_url: \(address)/access, store: canary.login, ca_file: ca.pem"
    try stage.stage.start(
      stage.stage.configuration(
        credential: "oauth1: { \(oauth1) }",
        more: "control: control.sock\n" + (workers.map { "\nworkers: \($0)\n" } ?? "")))
  }

  private func address(_ stage: TokenStage) -> String { "https://localhost:\(stage.tokens.server.port)" }

  /// Waits for the page, and returns the callback in the form that `visit` expects.
  private func callback(_ person: Person, _ stage: TokenStage) throws -> [String: String] {
    try #require(
      person.sees("open \(address(stage))/authorize?oauth_token=\(Self.request.token)\n"), "\(person.text)")
    let head = try #require(stage.tokens.requests.last?.text)
    let callback = try #require(head.firstMatch(of: /oauth_callback="([^"]*)"/)?.1.removingPercentEncoding)
    return ["redirect_uri": callback]
  }

  private func target(_ token: String = request.token, _ verifier: String = verifier) -> String {
    "/callback?oauth_token=\(token)&oauth_verifier=\(verifier)"
  }

  private func logIn(_ stage: TokenStage) throws -> Person {
    let person = try Person(stage)
    let page = try stage.visit(try callback(person, stage), target())
    #expect(page.status == 200 && page.text.contains("Logged in"), "\(page.text)")
    #expect(person.waitForExit() == 0, "\(person.text)")
    return person
  }

  private func assertNoLeak(_ stage: TokenStage, _ persons: [Person]) {
    for secret in [stage.stage.canary, stage.clientSecret, Self.request.secret, Self.verifier] {
      stage.stage.assertCanary(times: 0, as: secret, secret: secret)
      for person in persons { #expect(!person.text.contains(secret)) }
    }
  }

  @Test(arguments: [1, 2])
  func `a person logs in, requests are signed with the token, and logout ends its use`(workers: Int) throws {
    let stage = try TokenStage()
    respond(stage)
    try start(stage, workers: workers)
    #expect(try stage.stage.get().isRefused("login-required"))
    var people = [try logIn(stage)]
    let signed = stage.tokens.requests.compactMap { SignedRequest($0.text + "\r\n\r\n") }
    try #require(signed.count == 2)
    #expect(signed[0].isSigned(secret: stage.clientSecret, tokenSecret: "", origin: address(stage)))
    #expect(signed[1].isSigned(secret: stage.clientSecret, tokenSecret: Self.request.secret, origin: address(stage)))
    #expect(stage.tokens.requests[1].text.contains("oauth_verifier=\"\(Self.verifier)\""))
    for _ in 0..<4 { #expect(try stage.stage.get().status == 200) }
    let request = try #require(SignedRequest(stage.stage.recorded))
    #expect(
      request.isSigned(secret: stage.clientSecret, tokenSecret: stage.stage.canary, origin: stage.stage.origin))
    #expect(stage.stage.recorded.contains("oauth_token=\"\(Self.token)\""))
    #expect(stage.stored.contains("access_token - \(Self.token)&"))
    // A restart keeps the login.
    #expect(stage.stage.daemon!.stop() == 0)
    try start(stage, workers: workers)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.requests.count == 2)
    let report = try stage.stage.logOut()
    #expect(report["login"] as? Bool == true && report["kind"] as? String == "oauth1")
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.stored.hasSuffix("\nlogged_out\n"))
    #expect(stage.stage.daemon!.stop() == 0)
    try start(stage, workers: workers)
    #expect(try stage.stage.get().isRefused("login-required"))
    people.append(try logIn(stage))
    #expect(try stage.stage.get().status == 200)
    assertNoLeak(stage, people)
  }

  @Test func `a login with RSA-SHA1 signs each request with the private key`() throws {
    let stage = try TokenStage()
    respond(stage)
    try stage.stage.scratch.write("key.pem", KnownKeys.rsa)
    try start(stage, "signature: rsa-sha1, private_key: { file: key.pem }")
    let person = try logIn(stage)
    #expect(try stage.stage.get().status == 200)
    for text in stage.tokens.requests.map(\.text) + [stage.stage.recorded] {
      #expect(text.contains("oauth_signature_method=\"RSA-SHA1\""))
    }
    assertNoLeak(stage, [person])
  }

  @Test(arguments: [
    ("oauth_verifier=\(verifier)", "another login"), ("", "another login"),
    ("oauth_token=other&oauth_verifier=\(verifier)", "another login"),
    ("oauth_token=\(request.token)&oauth_token=\(request.token)&oauth_verifier=\(verifier)", "another login"),
    ("oauth_token=\(request.token)", "no oauth_verifier"), ("denied=\(request.token)", "another login"),
    ("oauth_token=\(request.token)&oauth_verifier=", "no oauth_verifier"),
    ("oauth_token=\(request.token)&oauth_verifier=\(verifier)&oauth_verifier=b", "no oauth_verifier"),
  ])
  func `a callback with a missing or another token or verifier ends the login`(_ query: String, _ why: String) throws {
    let stage = try TokenStage()
    respond(stage)
    try start(stage)
    let person = try Person(stage)
    let callback = try callback(person, stage)
    #expect(try stage.visit(callback, "/favicon.ico").status == 404)
    let page = try stage.visit(callback, "/callback?\(query)")
    #expect(page.status == 400 && page.text.contains("Not logged in"))
    #expect(person.waitForExit() == 1 && person.text.contains(why), "\(person.text)")
    #expect(throws: (any Error).self) { _ = try stage.callback(callback) }
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.tokens.requests.count == 1 && !FileManager.default.fileExists(atPath: stage.store))
    assertNoLeak(stage, [person])
  }

  private static let rejected = [
    ("oauth_token=t&oauth_token_secret=s", 200, "oauth_callback_confirmed"),
    ("oauth_token=t&oauth_token_secret=s&oauth_callback_confirmed=false", 200, "oauth_callback_confirmed"),
    ("oauth_token=t&oauth_callback_confirmed=true", 200, "oauth_token_secret"),
    ("oauth_token=&oauth_token_secret=s&oauth_callback_confirmed=true", 200, "oauth_token"),
    ("oauth_token=t&oauth_token=u&oauth_token_secret=s&oauth_callback_confirmed=true", 200, "oauth_token"),
    ("oauth_token=%0D%0At&oauth_token_secret=s&oauth_callback_confirmed=true", 200, "oauth_token"),
    ("{\"oauth_token\":\"t\"}", 200, "oauth_callback_confirmed"),
    ("oauth_problem=s3cret", 401, "check consumer_key"), ("s3cret", 404, "correct its URL"), ("", 302, "redirect"),
    ("s3cret", 500, "500"),
  ]

  @Test(arguments: rejected)
  func `an unusable response to the first request ends the login`(_ body: String, _ status: Int, _ why: String) throws {
    let stage = try TokenStage()
    respond(stage, first: response(body, status: status, fields: "Location: https://evil.test/\r\n"))
    try start(stage)
    let person = try Person(stage)
    #expect(person.waitForExit() == 1)
    #expect(person.text.contains(why) && !person.text.contains("s3cret"), "\(person.text)")
    #expect(!person.text.contains("/authorize") && stage.tokens.requests.count == 1)
    assertNoLeak(stage, [person])
  }

  @Test(arguments: [
    ("oauth_token=t", 200, "oauth_token_secret"), ("oauth_problem=s3cret", 401, "check consumer_key"),
    ("oauth_token=" + String(repeating: "t", count: 16_384) + "&oauth_token_secret=s", 200, "more than 16384 bytes"),
    (
      "oauth_token=" + String(repeating: "%25", count: 5_000) + "&oauth_token_secret="
        + String(repeating: "+", count: 600), 200, "too long"
    ),
  ])
  func `an unusable response to the second request ends the login`(_ body: String, _ status: Int, _ why: String) throws
  {
    let stage = try TokenStage()
    respond(stage, second: response(body, status: status))
    try start(stage)
    let person = try Person(stage)
    let page = try stage.visit(try callback(person, stage), target())
    #expect(page.status == 502 && page.text.contains(why), "\(page.text)")
    #expect(person.waitForExit() == 1 && person.text.contains(why) && !person.text.contains("s3cret"))
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(!FileManager.default.fileExists(atPath: stage.store))
    assertNoLeak(stage, [person])
  }

  @Test func `a 401 of the API does not end the login, because the token may still be valid`() throws {
    let isRejecting = Guarded(true)
    let stage = try TokenStage { connection in
      while (try? connection.readRequest()) != nil {
        let status = isRejecting.withLock { $0 } ? "401 X" : "200 OK"
        try? connection.write(Array("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n".utf8))
      }
    }
    respond(stage)
    try start(stage)
    let person = try logIn(stage)
    #expect(try stage.stage.get().status == 401)
    isRejecting.withLock { $0 = false }
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.requests.count == 2)
    assertNoLeak(stage, [person])
  }
}
