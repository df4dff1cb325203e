import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Error responses for a failed token request or a logout. They contain nothing of the endpoint's response (T48).
@Suite(.inProcess) struct TokenRefusalTests {
  private static let error = "proxy_configuration_error"

  @Test(arguments: [
    TokenServer.Response.nothing, .error(500, "server_error"), .error(401, "invalid_client"),
    .raw(TokenServer.json(200, "{\"MARK\":1}")), .raw(TokenServer.json(400, "{\"error\":\"MARK\"}")),
    .raw("MARK\r\n\r\n"),
  ])
  func `T48: token-unavailable is a 503 with Retry-After and without the endpoint's text`(
    response: TokenServer.Response
  )
    throws
  {
    let stage = try TokenStage()
    stage.tokens.respond(with: response)
    try stage.start()
    let refused = try stage.stage.get()
    refused.assertErrorResponse(503, "token-unavailable", Self.error)
    #expect(refused.values("Retry-After").count == 1)
    #expect(stage.log.wait(for: .request, ["refused": "token-unavailable"]) && stage.log.hides("MARK"))
    stage.assertSecrets(times: 0)
  }

  @Test func `T48: login-required is a 503 without Retry-After and without the endpoint's text`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(
      with: .raw(TokenServer.json(400, "{\"error\":\"invalid_grant\",\"error_description\":\"MARK\"}")))
    try stage.start(TokenStage.person)
    let refused = try stage.stage.get()
    refused.assertErrorResponse(503, "login-required", Self.error)
    #expect(refused.values("Retry-After").isEmpty, "no time brings it back")
    #expect(stage.log.wait(for: .request, ["refused": "login-required"]) && stage.log.hides("MARK"))
    stage.assertSecrets(times: 0)
  }

  @Test func `T48 T46: a request during a logout gets logged-out, and later requests get login-required`() throws {
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
    try client.response().assertErrorResponse(503, "logged-out", "http_request_denied")
    try stage.get().assertErrorResponse(503, "login-required", Self.error)
    #expect(
      stage.log.wait(for: .request, ["refused": "logged-out"])
        && stage.log.wait(for: .request, ["refused": "login-required"]))
    stage.assertCanary(times: 1)
  }
}
