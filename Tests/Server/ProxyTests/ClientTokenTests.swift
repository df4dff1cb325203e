import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Client tokens identify callers that user IDs cannot tell apart. A program sends the token instead of an API key.
@Suite(.inProcess) struct ClientTokenTests {
  private static func basic(_ user: String, _ password: String) -> String {
    "Authorization: Basic \(Data("\(user):\(password)".utf8).base64EncodedString())\r\n"
  }

  @Test func `T6: a client token is read from any common key header and not forwarded`() throws {
    let stage = try Stage.withClients()
    let token = ClientTokens.ci.text
    let slots = [
      "Authorization: Bearer \(token)\r\n", "authorization: bearer  \(token)\r\n", "Authorization: token \(token)\r\n",
      "Authorization: \(token)\r\n", "X-Api-Key: \(token)\r\n", "x-goog-api-key: \(token)\r\n", "api-key: \(token)\r\n",
      "PRIVATE-TOKEN: \(token)\r\n", Self.basic("x", token), Self.basic("", token), Self.basic(token, ""),
      "X-Api-Key: other\r\nAuthorization: Bearer \(token)\r\n",
      "X-Api-Key: \(token)\r\nAuthorization: Bearer \(token)\r\nx_api_key: \(token)\r\n",
    ]
    for slot in slots { #expect(try stage.get(fields: slot).status == 200, "\(slot)") }
    #expect(stage.log.wait(for: .request, ["uid": "\(getuid())", "client": "ci", "method": "GET"], count: slots.count))
    stage.assertNoClientToken()
    stage.assertCanary(times: slots.count)
  }

  @Test func `T6: a missing or unknown client token gets client-unknown, and nothing is sent`() throws {
    let stage = try Stage.withClients()
    let other = ClientTokens.Pair().text
    let wrong = [
      "", "X-Api-Key: secret\r\n", "Authorization: Bearer \(other)\r\n", "X-Api-Key: \(other)\r\n",
      "X-Api-Key: \(ClientTokens.ci.text.dropLast())\r\n", "X-Api-Key: \(ClientTokens.ci.text)x\r\n",
      "Authorization: Bearer \(ClientTokens.ci.digest)\r\n", "X-Other: \(ClientTokens.ci.text)\r\n",
      "Cookie: \(ClientTokens.ci.text)\r\n", "Cookie: a=b; \(ClientTokens.ci.text)\r\n",
      "Cookie: key=\(ClientTokens.ci.text)\r\n", Self.basic("x", other), Self.basic("x", ClientTokens.ci.text + "x"),
      "X-Api-Key: \(ClientTokens.ci.text.uppercased())\r\n",
      // Only the first possible token of a request is checked.
      "X-Api-Key: \(other)\r\nAuthorization: Bearer \(ClientTokens.ci.text)\r\n",
    ]
    for fields in wrong {
      let response = try stage.get("/api/x?key=\(ClientTokens.ci.text)", fields: fields)
      #expect(response.status == 403, "\(fields)")
      #expect(response.text.contains("urn:bearerd:error:client-unknown"), "\(fields)")
      #expect(response.text.contains("Authorization: Bearer"))
      // With this field a browser would store a password and send it for every page.
      #expect(response.values("WWW-Authenticate").isEmpty)
    }
    let refused: [String: LoggedField] = [
      "service": "api", "path": "/api/x", "status": 403, "refused": "client-unknown", "help": .present,
    ]
    #expect(stage.log.wait(for: .request, refused, count: wrong.count), "what was asked for, without its query")
    // The help differs for no token, another key and an unknown token.
    #expect(Set(stage.log.lines(of: .request, refused).map { $0["help"] }).count == 3)
    #expect(!stage.log.contains(.request, ["client": "ci"]) && stage.log.hides(other))
    #expect(stage.upstream.records.isEmpty)
    stage.assertNoClientToken()
    stage.assertCanary(times: 0)
  }

  @Test func `T6: a client token in a path or another field is refused and masked in the log`() throws {
    let stage = try Stage.withClients("cookies: pass\nremove_parameters: [removed]")
    let token = ClientTokens.ci.text
    let own = "X-Api-Key: \(token)\r\n"
    for (target, fields) in [
      ("/api/bot\(token)/getMe", ""), ("/api/x?key=\(token)", ""), ("/api/x", "Cookie: a=\(token)\r\n"),
      ("/api/x", "Referer: http://localhost/\(token)\r\n"),
    ] {
      let response = try stage.get(target, fields: own + fields)
      #expect(response.status == 400 && response.text.contains("urn:bearerd:error:client-token-left"), "\(target)")
    }
    #expect(stage.log.wait(for: .request, ["path": "/api/botbearerd_***/getMe", "refused": "client-token-left"]))
    // The path is refused before it is decoded.
    #expect(try stage.get("/api/bot\(token)/getMe").status == 403)
    #expect(try stage.get("/api/bot%62earerd_\(token.dropFirst(8))").status == 403)
    #expect(stage.log.wait(for: .request, ["path": "/api/botbearerd_***/getMe", "refused": "client-unknown"]))
    #expect(stage.log.wait(for: .request, ["path": "/api/botbearerd_***", "refused": "client-unknown"]))
    #expect(try stage.get("/api/x?removed=\(token)", fields: own).status == 200)
    stage.assertNoClientToken()
    #expect(stage.log.hides(String(token.suffix(43))))
    stage.assertCanary(times: 1)
  }

  @Test func `T6: a client token is read from a WebSocket subprotocol and removed`() throws {
    let stage = try Stage.withClients()
    let line = "Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.\(ClientTokens.ci.text)\r\n"
    #expect(try stage.get(fields: line).status == 200)
    #expect(stage.recorded.contains("\r\nSec-WebSocket-Protocol: realtime\r\n"))
    #expect(stage.log.wait(for: .request, ["client": "ci", "removed": "sec-websocket-protocol"]))
    stage.assertNoClientToken()
    stage.assertCanary(times: 1)
  }

  @Test func `T6: a client token that a reload removes is refused on open connections`() throws {
    let stage = try Stage.withClients()
    let client = try stage.client()
    let port = try stage.daemon!.port()
    let request = "GET /api/x HTTP/1.1\r\nHost: localhost:\(port)\r\nX-Api-Key: \(ClientTokens.dev.text)\r\n\r\n"
    try client.send(request)
    #expect(try client.response().status == 200)
    try stage.reload(
      try String(contentsOfFile: stage.daemon!.file, encoding: .utf8)
        .replacing(ClientTokens.both, with: "{ ci: \(ClientTokens.ci.digest) }"))
    try client.send(request)
    #expect(try client.response().status == 403)
    stage.assertNoClientToken()
    stage.assertCanary(times: 1)
  }

  @Test func `T6: a client token is removed even if the program's own fields are forwarded`() throws {
    let stage = try Stage.withClients()
    let text = try String(contentsOfFile: stage.daemon!.file, encoding: .utf8)
    try stage.reload(text.replacing("    credential: canary\n", with: "    credential: pass\n"))
    let both = "X-Api-Key: \(ClientTokens.ci.text)\r\nAuthorization: Bearer mine\r\n"
    #expect(try stage.get(fields: both).status == 200)
    #expect(stage.recorded.contains("\r\nAuthorization: Bearer mine\r\n"))
    try stage.reload(
      text.replacing("    credential: canary\n", with: "    credential: canary\n    on_client_header: keep\n"))
    #expect(try stage.get(fields: "Authorization: Bearer \(ClientTokens.ci.text)\r\n").status == 200)
    try stage.reload(
      text.replacing("    credential: canary\n", with: "    credential: canary\n    on_client_header: reject\n"))
    #expect(try stage.get(fields: "Authorization: Bearer \(ClientTokens.ci.text)\r\n").status == 200)
    stage.assertNoClientToken()
    stage.assertCanary(times: 2)
  }

  @Test func `T6: a unix socket also requires client tokens`() throws {
    let stage = try Stage()
    let path = "\(stage.scratch.path)/app.sock"
    try stage.start(stage.configuration(listener: "address: unix:\(path)\n    clients: \(ClientTokens.both)"))
    func response(_ fields: String) throws -> LocalClient.Response {
      let client = try LocalClient(unix: path)
      try client.send("GET /api/x HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n")
      return try client.response()
    }
    #expect(try response("").text.contains("urn:bearerd:error:client-unknown"))
    #expect(try response("X-Api-Key: \(ClientTokens.dev.text)\r\n").status == 200)
    stage.assertNoClientToken()
    stage.assertCanary(times: 1)
  }
}
