import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// The answers of our own where a token endpoint has none for us, or somebody has ended a login; nothing of what it said is in
/// them (T48).
@Suite(.inProcess) struct RefusalsOfTokensAreAsTabled {
  private static let error = "proxy_configuration_error"

  @Test(arguments: [
    TokenServer.Answer.nothing, .error(500, "server_error"), .error(401, "invalid_client"),
    .raw(TokenServer.json(200, "{\"MARK\":1}")), .raw(TokenServer.json(400, "{\"error\":\"MARK\"}")),
    .raw("MARK\r\n\r\n"),
  ])
  func `T48: no token`(answer: TokenServer.Answer) throws {
    let stage = try TokenStage()
    stage.tokens.answers(answer)
    try stage.start()
    let refused = try stage.stage.get()
    refused.assertTabled(503, "token-unavailable", Self.error)
    #expect(refused.values("Retry-After").count == 1)
    #expect(stage.log.wait(for: .request, ["refused": "token-unavailable"]) && stage.log.hides("MARK"))
    stage.assertSecrets(times: 0)
  }

  @Test func `T48: a login that the server takes no more`() throws {
    let stage = try TokenStage()
    stage.tokens.answers(.raw(TokenServer.json(400, "{\"error\":\"invalid_grant\",\"error_description\":\"MARK\"}")))
    try stage.start(TokenStage.person)
    let refused = try stage.stage.get()
    refused.assertTabled(503, "login-required", Self.error)
    #expect(refused.values("Retry-After").isEmpty, "no time brings it back")
    #expect(stage.log.wait(for: .request, ["refused": "login-required"]) && stage.log.hides("MARK"))
    stage.assertSecrets(times: 0)
  }

  @Test func `T48 T46: a credential that somebody has logged out, before a request and during one`() throws {
    let (gate, isHanging) = (Gate(), Gate())
    let stage = try Stage { connection in
      while (try? connection.readRequest()) ?? nil != nil {
        isHanging.open()
        gate.pass()
        return
      }
    }
    defer { gate.open(times: 3) }
    try stage.start(stage.configuration(more: "control: control.sock"))
    let client = try stage.client()
    try client.send(stage.head("GET"))
    #expect(isHanging.pass())
    try stage.logOut()
    try client.response().assertTabled(503, "logged-out", "http_request_denied")
    try stage.get().assertTabled(503, "login-required", Self.error)
    #expect(
      stage.log.wait(for: .request, ["refused": "logged-out"])
        && stage.log.wait(for: .request, ["refused": "login-required"]))
    stage.assertCanary(times: 1)
  }
}
