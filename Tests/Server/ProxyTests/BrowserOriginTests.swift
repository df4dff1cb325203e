import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// The listener's key `browsers`: only pages from listed origins can use bearerd, whatever the upstream's CORS fields
/// say.
@Suite(.inProcess) struct BrowserOriginTests {
  private static let page = "Origin: https://app.test\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n"

  /// An upstream that allows every origin and accepts every WebSocket.
  private static let generous: @Sendable (AcceptedConnection) -> Void = { connection in
    while let (head, _) = connection.head() {
      if head.contains("\r\nUpgrade: websocket\r\n") {
        connection.switchProtocols()
        connection.echo()
        return
      }
      connection.send("HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 5\r\n\r\nhello")
    }
  }

  private func stage(_ service: String = "", origins: String = "[https://app.test, \"http://localhost:3000\"]") throws
    -> Stage
  {
    let stage = try Stage(handler: Self.generous)
    try stage.start(configuration(stage, service, origins: origins))
    return stage
  }

  private func configuration(_ stage: Stage, _ service: String, origins: String) -> String {
    stage.configuration(
      service: service, listener: "address: localhost:0\n    browsers: { origins: \(origins) }",
      more: "limits: { revoked_grace: 100ms }")
  }

  @Test func `T2: a page from an allowed origin can send requests and read responses`() throws {
    let stage = try stage()
    let response = try stage.get(fields: Self.page + "Referer: https://app.test/a/secret\r\n")
    #expect(response.status == 200 && response.text == "hello")
    #expect(response.values("Access-Control-Allow-Origin") == ["https://app.test"])
    #expect(response.values("Vary") == ["Origin"])
    #expect(response.values("Access-Control-Allow-Credentials").isEmpty)
    let recorded = stage.recorded
    #expect(recorded.contains("\r\nOrigin: \(stage.origin)\r\n"))
    #expect(recorded.contains("\r\nReferer: \(stage.origin)/base/\r\n"))
    #expect(!recorded.contains("app.test") && !recorded.contains("Sec-Fetch-Site"))
    // Requests of programs are unaffected.
    #expect(try stage.get().values("Access-Control-Allow-Origin").isEmpty)
    stage.assertCanary(times: 2)
  }

  @Test func `T2: bearerd responds to preflights itself and allows only what the rules allow`() throws {
    let stage = try stage("rules: [{ match: /x, methods: [PUT] }]")
    func preflight(_ path: String, _ method: String, origin: String = "https://app.test") throws -> LocalClient.Response
    {
      try stage.request(
        """
        OPTIONS \(path) HTTP/1.1\r\nHost: HOST\r\nOrigin: \(origin)\r\nAccess-Control-Request-Method: \(method)\r
        Access-Control-Request-Headers: x-test\r\nAccess-Control-Request-Private-Network: true\r\n\r\n
        """)
    }
    let response = try preflight("/api/x", "PUT")
    #expect(response.status == 204)
    #expect(response.values("Access-Control-Allow-Methods") == ["PUT"])
    #expect(response.values("Access-Control-Allow-Private-Network") == ["true"])
    #expect(stage.log.wait(for: .request, ["method": "OPTIONS", "path": "/api/x", "status": 204, "up": 0, "down": 0]))
    #expect(stage.log.contains(.request, ["preflight": "true"]))
    #expect(try preflight("/api/x", "DELETE").status == 403)
    #expect(try preflight("/api/y", "PUT").status == 403)
    #expect(try preflight("/else/", "PUT").status == 404)
    for path in ["/api/x", "/else/"] {
      let refused = try preflight(path, "PUT", origin: "https://evil.test")
      #expect(refused.status == 403 && refused.text.contains("origin-not-allowed"))
      #expect(!refused.head.contains("Access-Control-"))
    }
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
  }

  @Test func `T2: other origins are refused, and the log names the line that would allow the origin`() throws {
    let stage = try stage()
    for fields in [
      "Origin: https://evil.test\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n",
      "Sec-Fetch-Site: cross-site\r\nReferer: https://app.test/\r\n", "Origin: https://app.test\r\nOrigin: null\r\n",
    ] {
      let response = try stage.get(fields: fields)
      #expect(response.status == 403 && !response.head.contains("Access-Control-"), "\(fields)")
    }
    #expect(
      try stage.get(fields: "Origin: https://evil.test\r\n").text.contains(
        "\"add\":\"browsers: { origins: [https://evil.test] }\""))
    #expect(
      stage.log.wait(
        for: .request,
        [
          "help": .naming(
            "listeners.main", "browsers: { origins: [https://app.test, http://localhost:3000, https://evil.test] }")
        ]))
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
  }

  @Test func `T2: a page from an allowed origin can read error responses`() throws {
    let stage = try Stage { connection in
      while (try? connection.readRequest()) != nil { connection.respond("no", status: "401 Unauthorized") }
    }
    let services = """
        rare: { upstream: "\(stage.origin)/", ca_file: ca.pem, credential: none, rate: 1/d }
        absent: { upstream: "\(stage.origin)/", ca_file: ca.pem, credential: absent }
      """
    try stage.start(
      stage.configuration(
        service: "rules: [{ match: /x }]",
        listener:
          "address: localhost:0\n    browsers: { origins: [https://app.test] }\n    clients: \(ClientTokens.both)",
        services: services
      ).replacing(
        "credentials:\n", with: "credentials:\n  absent: { origins: [\"\(stage.origin)\"], bearer: { file: absent } }\n"
      ))
    let token = "X-Api-Key: \(ClientTokens.ci.text)\r\n"
    for (path, fields, status) in [
      ("/api/x", "", 403), ("/api/x", "X-Api-Key: \(ClientTokens.Pair().text)\r\n", 403), ("/api/y", token, 403),
      ("/nowhere/", token, 404), ("/absent/x", token, 503), ("/api/x", token, 401), ("/rare/x", token, 401),
      ("/rare/x", token, 429), ("/api/../x", token, 400),
    ] {
      let response = try stage.get(path, fields: Self.page + fields)
      #expect(response.status == status, "\(path): \(response.head)")
      #expect(response.values("Access-Control-Allow-Origin") == ["https://app.test"], "\(path) \(status)")
      #expect(response.values("Access-Control-Expose-Headers") == ["*"] && response.values("Vary") == ["Origin"])
      let other = try stage.get(path, fields: "Origin: https://evil.test\r\n" + fields)
      #expect(other.status == 403 && !other.head.contains("Access-Control-"), "\(path)")
    }
    stage.assertCanary(times: 1)
  }

  @Test func `T3: an allowed origin can open a WebSocket, and a reload without the origin resets the connection`()
    throws
  {
    let stage = try stage()
    let other = try stage.get(fields: Stage.upgradeFields + "Origin: https://evil.test\r\n")
    #expect(other.status == 403 && stage.upstream.records.isEmpty)
    let client = try stage.raw()
    try client.send(stage.head("GET", fields: Stage.upgradeFields + "Origin: https://app.test\r\n"))
    #expect(try client.head().hasPrefix("HTTP/1.1 101 "))
    #expect(try stage.echoes(client))
    #expect(stage.recorded.contains("\r\nOrigin: \(stage.origin)\r\n"))
    try stage.reload(configuration(stage, "", origins: "[\"http://localhost:3000\"]"))
    #expect(client.rest() == ([], .reset))
    stage.assertCanary(times: 1)
  }

  /// Fields that browsers send for a page of bearerd itself, for a sandboxed page and for an image.
  @Test(arguments: [
    "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nReferer: http://HOST/api/page\r\n",
    "Sec-Fetch-Site: same-origin\r\nOrigin: http://HOST\r\n", "Sec-Fetch-Site: cross-site\r\nOrigin: null\r\n",
    "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n",
    "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n",
    "Sec-Fetch-Site: same-site\r\nOrigin: http://github.localhost\r\n", "Origin: http://HOST\r\n",
  ])
  func `T35: a page of one service cannot send requests to another service`(fields: String) throws {
    let stage = try Stage(handler: Self.generous)
    let services = "  other: { upstream: \"\(stage.origin)/\", ca_file: ca.pem, credential: canary }"
    try stage.start(
      stage.configuration(
        listener: "address: localhost:0\n    browsers: { origins: [https://app.test] }", services: services))
    let shown = try stage.get(fields: "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n")
    #expect(shown.values("Content-Security-Policy") == ["sandbox"])
    let response = try stage.request("GET /other/x HTTP/1.1\r\nHost: HOST\r\n\(fields)\r\n")
    #expect(response.status == 403, "\(fields)")
    #expect(!stage.recorded.contains("GET /x "))
    stage.assertCanary(times: 1)
  }
}
