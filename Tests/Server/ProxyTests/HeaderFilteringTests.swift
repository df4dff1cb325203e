import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// bearerd sends one credential, and removes dangerous fields from requests and responses.
@Suite(.inProcess) struct HeaderFilteringTests {
  private func send(_ stage: Stage, _ fields: String, path: String = "/api/x") throws -> Int {
    try stage.get(path, fields: fields).status
  }

  @Test func `T14: on_client_header rejects or keeps the client's field, and never sends two`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "on_client_header: reject"))
    let rejected = try stage.get(fields: "authorization: Bearer mine\r\n")
    #expect(rejected.status == 400 && rejected.text.contains("client-credential-field"))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1)
    try stage.reload(stage.configuration(service: "on_client_header: keep"))
    #expect(try stage.get(fields: "authorization: Bearer mine\r\n").status == 200)
    #expect(stage.recorded.contains("Bearer mine"))
    stage.assertCanary(times: 1)
  }

  @Test func `T15: Connection cannot remove a field that bearerd adds, but removes others`() throws {
    let stage = try Stage()
    try stage.start()
    #expect(try stage.get(fields: "Connection: Authorization\r\n").text.contains("reserved-field-in-connection"))
    #expect(try stage.get(fields: "Connection: X-Mine\r\nX-Mine: hop\r\nX-Other: end\r\n").status == 200)
    #expect(!stage.recorded.contains("hop") && stage.recorded.contains("X-Other: end"))
    stage.assertCanary(times: 1)
  }

  @Test func `T45: a program can send an impersonation field only if the service allows the field`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "allow_client_headers: [Stripe-Account]"))
    #expect(try send(stage, "Stripe-Account: mine\r\nSudo: evil\r\n") == 200)
    #expect(stage.recorded.contains("Stripe-Account: mine") && !stage.recorded.contains("evil"))
    stage.assertCanary(times: 1)
  }

  @Test func `T45: the log lists removed fields under their canonical names`() throws {
    let stage = try Stage()
    try stage.start()
    let fields = "Authorization: x\r\nSUDO: y\r\nx.API!key: z\r\nSec-WebSocket-Protocol: openai-insecure-api-key.x\r\n"
    #expect(try send(stage, fields, path: "/api/x?_METHOD=DELETE") == 200)
    #expect(stage.log.wait(for: .request, ["removed": "x-api-key,sudo,_method,sec-websocket-protocol"]))
    #expect(try send(stage, "Authorization: x\r\n", path: "/api/plain") == 200)
    #expect(stage.log.wait(for: .request, ["path": "/api/plain", "removed": .absent]))
    stage.assertCanary(times: 2)
  }

  @Test func `a service sets and removes header fields`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(service: "set_headers: { X-Trace: build }\nremove_headers: [Referer]\nvia: true"))
    #expect(try send(stage, "X_Trace: app\r\nx-trace: app\r\nreferer: secret-page\r\nX-Kept: 1\r\n") == 200)
    #expect(stage.recorded.contains("X-Trace: build\r\n") && !stage.recorded.contains("app"))
    #expect(!stage.recorded.contains("secret-page") && stage.recorded.contains("X-Kept: 1\r\n"))
    #expect(stage.recorded.contains("Via: 1.1 bearerd\r\n"))
    stage.assertCanary(times: 1)
  }

  // MARK: what comes back

  private func responding(_ head: String) -> @Sendable (AcceptedConnection) -> Void {
    UpstreamServer.httpHandler(response: "HTTP/1.1 \(head)\r\nContent-Length: 0\r\n\r\n")
  }

  @Test func `T32: a redirect within the upstream is rewritten to the service's local address`() throws {
    for (target, wanted) in [
      ("/base/other?x=1#y", "/api/other?x=1#y"), ("next", "next"), ("ORIGIN/base/deep/x", "/api/deep/x"),
    ] {
      let port = Ports()
      let stage = try Stage { connection in
        while (try? connection.readRequest()) != nil {
          let target = target.replacing("ORIGIN", with: "https://localhost:\(port.value)")
          try? connection.write(
            Array("HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n".utf8))
        }
      }
      port.value = stage.upstream.port
      try stage.start()
      let location = try stage.get().values("Location").first ?? ""
      let local = "http://localhost:\(try stage.daemon!.port())"
      #expect(location == wanted || location == local + wanted, "\(location)")
      stage.assertCanary(times: 1)
    }
  }

  /// A port that is known only after the server has started.
  private final class Ports: @unchecked Sendable { var value: UInt16 = 0 }

  @Test func `T34: cookies are removed in both directions by default`() throws {
    let handler = responding("200 OK\r\nSet-Cookie: session=UPSTREAM; Domain=localhost; Path=/base/\r\nset-cookie: b=2")
    let stage = try Stage(handler: handler)
    try stage.start()
    let response = try stage.get(fields: "Cookie: app=APP\r\n")
    #expect(response.status == 200 && response.values("Set-Cookie").isEmpty)
    #expect(!stage.recorded.contains("APP"))
    try stage.reload(stage.configuration(service: "cookies: pass"))
    let passed = try stage.get(fields: "Cookie: app=APP\r\n")
    #expect(passed.values("Set-Cookie").count == 2)
    #expect(passed.values("Set-Cookie").first?.contains("Path=/api/") == true, "\(passed.values("Set-Cookie"))")
    #expect(passed.values("Set-Cookie").first?.contains("Domain") == false)
    #expect(stage.recorded.contains("Cookie: app=APP"))
    stage.assertCanary(times: 2)
  }

  /// A client that stores cookies like RFC 6265 section 5.2 and 5.4, for all ports of localhost.
  private struct Jar {
    var cookies: [(pair: String, path: String, domain: String)] = []

    mutating func keep(_ line: String, of path: String) {
      let parts = line.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
      var cookie = (
        pair: parts.first ?? "", path: String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]), domain: ""
      )
      for part in parts.dropFirst() {
        let sides = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
        let value = sides.count > 1 ? sides[1] : ""
        if sides.first?.lowercased() == "path", value.hasPrefix("/") { cookie.path = value }
        if sides.first?.lowercased() == "domain" { cookie.domain = value }
      }
      cookies.append(cookie)
    }

    func field(for path: String) -> String {
      let fitting = cookies.filter { cookie in
        path == cookie.path || path.hasPrefix(cookie.path.hasSuffix("/") ? cookie.path : cookie.path + "/")
      }
      return fitting.isEmpty ? "" : "Cookie: " + fitting.map(\.pair).joined(separator: "; ") + "\r\n"
    }
  }

  @Test func `T34: a cookie of one service is never sent to another service`() throws {
    let lines = [
      "e1=EVIL; Path =/; HttpOnly", "e2=EVIL; Domain =localhost; Path\t=\t/", "e3=EVIL; path=/base/; PATH = /",
      "e4=EVIL",
    ]
    let stage = try Stage(
      handler: responding("200 OK\r\n" + lines.map { "Set-Cookie: \($0)" }.joined(separator: "\r\n")))
    try stage.start(
      stage.configuration(
        service: "cookies: pass",
        services: """
            other:
              upstream: \(stage.origin)/other/
              ca_file: ca.pem
              credential: none
              cookies: pass
          """))
    var jar = Jar()
    for line in try stage.get("/api/x").values("Set-Cookie") { jar.keep(line, of: "/api/x") }
    #expect(jar.cookies.count == lines.count && jar.cookies.allSatisfy { $0.domain.isEmpty }, "\(jar.cookies)")
    #expect(try stage.get("/other/x", fields: jar.field(for: "/other/x")).status == 200)
    #expect(!stage.recorded.contains("EVIL"))
    #expect(try stage.get("/api/y", fields: jar.field(for: "/api/y")).status == 200)
    #expect(stage.recorded.contains("Cookie: e1=EVIL; e2=EVIL; e3=EVIL; e4=EVIL\r\n"))
    stage.assertCanary(times: 2)
  }

  /// A registry client fetches a token from `realm` automatically, and sends it to the registry.
  @Test func `T32: a challenge that names another local service is refused`() throws {
    let ours = Ports()
    let stage = try Stage { connection in
      while (try? connection.readRequest()) != nil {
        let challenge = "Bearer realm=\"http://localhost:\(ours.value)/other/token\",service=\"registry\""
        try? connection.write(
          Array("HTTP/1.1 401 No\r\nWWW-Authenticate: \(challenge)\r\nContent-Length: 0\r\n\r\n".utf8))
      }
    }
    try stage.start(
      stage.configuration(
        service: "rules: [{ match: \"/**\", credential: pass }]",
        services: """
            other:
              upstream: \(stage.origin)/other/
              ca_file: ca.pem
              credential: canary
          """))
    ours.value = try stage.daemon!.port()
    let response = try stage.get("/api/v2/")
    #expect(response.status == 502 && response.text.contains("urn:bearerd:error:redirect-to-self"))
    #expect(response.values("WWW-Authenticate").isEmpty && !response.text.contains("/other/token"))
    stage.assertCanary(times: 0)
  }

  @Test func `T34: a cookie of one caller is never sent for another caller`() throws {
    let stage = try Stage(handler: responding("200 OK\r\nSet-Cookie: session=OF-CI"))
    try stage.start(
      stage.configuration(
        service: "cookies: pass", listener: "address: localhost:0\n    clients: \(ClientTokens.both)"))
    let (ci, dev) = ("X-Api-Key: \(ClientTokens.ci.text)\r\n", "X-Api-Key: \(ClientTokens.dev.text)\r\n")
    #expect(try stage.get(fields: ci).values("Set-Cookie").count == 1)
    #expect(try stage.get("/api/ci", fields: ci + "Cookie: session=OF-CI\r\n").status == 200)
    #expect(try stage.get("/api/dev", fields: dev).status == 200)
    let requests = stage.recorded.components(separatedBy: "GET /base/")
    #expect(requests.filter { $0.contains("Cookie: session=OF-CI") }.map { $0.prefix(2) } == ["ci"])
    stage.assertCanary(times: 3)
  }

  @Test(arguments: [401, 407])
  func `T36: a rejected credential causes no password prompt`(_ status: Int) throws {
    let challenge = "WWW-Authenticate: Basic realm=\"type it here\"\r\nProxy-Authenticate: Basic realm=\"or here\""
    let stage = try Stage(handler: responding("\(status) No\r\n\(challenge)\r\nAuthentication-Info: x=y"))
    try stage.start()
    let response = try stage.get()
    #expect(response.status == status)
    #expect(!response.head.contains("Basic") && !response.head.contains("realm") && !response.head.contains("x=y"))
    #expect(response.values("Proxy-Status").first?.contains("credential-rejected") == true)
    try stage.reload(stage.configuration(service: "on_rejected: \"502\""))
    let refused = try stage.get()
    #expect(refused.status == 502 && refused.text.contains("urn:bearerd:error:credential-rejected"))
    #expect(!refused.head.contains("Basic"))
    // For the program's own credential the upstream's challenge is forwarded.
    try stage.reload(stage.configuration(service: "rules: [{ match: \"/**\", credential: pass }]"))
    if status == 401 { #expect(try stage.get().head.contains("type it here")) }
    stage.assertCanary(times: 2)
  }

  @Test func `T53: responses are not compressed, even if the client accepts compression`() throws {
    let text = String(repeating: "a", count: 4_096)
    let stage = try Stage(
      handler: UpstreamServer.httpHandler(response: "HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n\(text)"))
    try stage.start()
    let response = try stage.get(fields: "Accept-Encoding: gzip, br\r\n")
    #expect(response.status == 200 && response.text == text && response.values("Content-Encoding").isEmpty)
    stage.assertCanary(times: 1)
  }
}
