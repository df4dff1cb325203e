import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Responses of token endpoints that differ from RFC 6749, and after which bearerd still works.
@Suite(.inProcess) struct UnusualTokenResponsesTests {
  private static let empty = TokenServer.Response.raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

  private static func form(_ body: String) -> TokenServer.Response {
    .raw(
      "HTTP/1.1 200 OK\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    )
  }

  @Test(arguments: ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"], [1, 2])
  func `a token request with an empty response is repeated at once`(_ empty: String, workers: Int) throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [.raw(empty), .token(stage.stage.canary, expiresIn: 3600)])
    try stage.start(workers: workers)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.requests.count == 2)
    #expect(!stage.log.contains(.tokenFailed))
    stage.assertSecrets(times: 1)
  }

  @Test func `after two empty responses, requests get token-unavailable with Retry-After`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [Self.empty, Self.empty, .token(stage.stage.canary, expiresIn: 3600)])
    try stage.start()
    let refused = try stage.stage.get()
    #expect(refused.isRefused("token-unavailable") && refused.values("Retry-After").count == 1)
    #expect(stage.tokens.requests.count == 2)
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    #expect(stage.tokens.requests.count == 3)
    stage.assertSecrets(times: 1)
  }

  @Test func `T39: a new refresh token in a form is stored and used`() throws {
    let stage = try TokenStage()
    let dead = "DEAD-" + UUID().uuidString
    stage.tokens.respond(with: [
      Self.form("access_token=\(dead)&expires_in=0&refresh_token=SECOND%2Drefresh&token_type=bearer"),
      Self.form("access_token=\(stage.stage.canary)&expires_in=28800&refresh_token=THIRD-refresh&token_type=bearer"),
    ])
    try stage.start(TokenStage.person)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.forms.map { $0["refresh_token"] } == [stage.first, "SECOND-refresh"])
    #expect(try String(contentsOfFile: stage.store, encoding: .utf8).contains("refresh_token THIRD-refresh\n"))
    stage.assertSecrets(times: 1)
  }

  @Test func `a nested token is used and renewed with the refresh token beside it`() throws {
    let stage = try TokenStage()
    let body =
      #"{"ok":true,"access_token":"OTHER","refresh_token":"OTHER-refresh","authed_user":{"access_token":"\#(stage.stage.canary)","refresh_token":"USER-refresh","expires_in":43200,"token_type":"user"}}"#
    stage.tokens.respond(with: .raw(TokenServer.json(200, body)))
    try stage.start(TokenStage.person, more: ", token: authed_user.access_token")
    #expect(try stage.stage.get().status == 200)
    #expect(try String(contentsOfFile: stage.store, encoding: .utf8).contains("refresh_token USER-refresh\n"))
    stage.assertSecrets(times: 1)
  }

  @Test func `T40: after bad_refresh_token with 200, the endpoint gets no further request until something changes`()
    throws
  {
    let stage = try TokenStage()
    stage.tokens.respond(with: Self.form("error=bad_refresh_token&error_description=MARK"))
    try stage.start(TokenStage.person)
    for _ in 0..<100 {
      let refused = try stage.stage.get()
      #expect(refused.isRefused("login-required") && refused.values("Retry-After").isEmpty)
    }
    #expect(stage.tokens.requests.count == 1 && stage.log.hides("MARK"))
    stage.tokens.respond(with: .token(stage.stage.canary, expiresIn: 3600))
    try stage.stage.scratch.write("first.token", "ANOTHER-first\n")
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    #expect(stage.tokens.forms.map { $0["refresh_token"] } == [stage.first, "ANOTHER-first"])
    stage.assertSecrets(times: 1)
  }
}
