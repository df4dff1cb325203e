import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// Two identities, Zoe and Adam, at the same server and API, stay apart (T25, T34). Removing one does not change the
/// other.
@Suite(.inProcess) struct IdentitiesStayApart {
  private static let names = ["zoe", "adam"]
  private static func token(_ name: String) -> String { "TOKEN-of-\(name)-0123456789" }
  private static func refresh(_ name: String) -> String { "REFRESH-of-\(name)-0123456789" }

  /// Responds with a cookie, an entity tag and a body for the identity of the token.
  private static let handler: @Sendable (AcceptedConnection) -> Void = { connection in
    for number in 1...9 {
      guard let request = try? connection.readRequest() else { return }
      let name = names.first { request.text.contains("Bearer \(token($0))\r\n") } ?? "nobody"
      let fields =
        "ETag: \"\(name)-1\"\r\nSet-Cookie: session=\(name)\r\n" + (number == 9 ? "Connection: close\r\n" : "")
      let isKnown = request.text.contains("\r\nIf-None-Match: \"\(name)-1\"\r\n")
      if isKnown {
        connection.send("HTTP/1.1 304 Not Modified\r\n\(fields)\r\n")
      } else {
        connection.respond("\(name) \(request.path)", fields: fields)
      }
      if number == 9 { return }
    }
  }

  private static func stage() throws -> TokenStage {
    let stage = try TokenStage(handler: handler)
    let onDecision: @Sendable (UpstreamRequest) -> TokenServer.Response? = { request in
      let shown = request.form["refresh_token"] ?? request.form["token"] ?? ""
      guard let name = names.first(where: { shown.contains($0) }) else { return .error(400, "invalid_grant") }
      if request.form["token"] != nil { return TokenStage.revoked }
      return .token(token(name), expiresIn: 3600, refresh: refresh(name))
    }
    stage.tokens.onDecision.withLock { $0 = onDecision }
    for name in names { try stage.stage.scratch.write("\(name).token", "FIRST-\(name)") }
    return stage
  }

  private static func configuration(_ stage: TokenStage, _ names: [String] = names, workers: Int = 1) -> String {
    let pins = "ca_file: ca.pem, pins: [\(stage.stage.leaf.pin), \(stage.stage.backup.pin)]"
    let url = stage.tokens.url
    let credentials = names.map { name in
      """
        \(name):
          origins: ["\(stage.stage.origin)"]
          oauth2: { token_url: "\(url)"\(stage.revocation), grant: refresh_token, client_id: bearerd, refresh_token: { file: \(name).token }, store: \(name).login, ca_file: ca.pem }
      """
    }
    let services = names.map { name in
      "  \(name): { upstream: \(stage.stage.origin)/base/, \(pins), credential: \(name), cookies: pass }"
    }
    return """
      listeners: { main: { address: localhost:0, allow_users: [\(getuid())] } }
      control: control.sock
      workers: \(workers)
      credentials:
      \(credentials.joined(separator: "\n"))
      services:
      \(services.joined(separator: "\n"))

      """
  }

  private func login(_ stage: TokenStage, _ name: String) -> Data? {
    FileManager.default.contents(atPath: "\(stage.stage.scratch.path)/\(name).login")
  }

  @Test(arguments: [1, 3])
  func `T25 T34: two identities share no connection, cookie or entity tag in 1,000 requests`(workers: Int) throws {
    let stage = try Self.stage()
    try stage.stage.start(Self.configuration(stage, workers: workers))
    let clients = try (0..<8).map { _ in try stage.stage.client() }
    let port = try stage.stage.daemon!.port()
    var state: UInt32 = 7
    for round in 0..<125 {
      let requests = clients.indices.map { client in
        state = state &* 1_664_525 &+ 1_013_904_223
        let name = Self.names[Int(state >> 16) % 2]
        // A program may send an entity tag of the other identity.
        return (name: name, tag: Self.names[Int(state >> 20) % 2], path: "/\(round)-\(client)")
      }
      for (client, request) in zip(clients, requests) {
        try client.send(
          "GET /\(request.name)\(request.path) HTTP/1.1\r\nHost: localhost:\(port)\r\nIf-None-Match: \"\(request.tag)-1\"\r\n\r\n"
        )
      }
      for (client, request) in zip(clients, requests) {
        let response = try client.response()
        #expect(response.values("ETag") == ["\"\(request.name)-1\""] && response.values("Set-Cookie").count == 1)
        #expect(response.values("Set-Cookie").first?.hasPrefix("session=\(request.name)") == true, "\(response.head)")
        if request.tag == request.name {
          #expect(response.status == 304)
        } else {
          #expect(response.status == 200 && response.text == "\(request.name) \(request.path)", "\(response.text)")
        }
      }
    }
    try check(stage.stage.upstream.records)
  }

  /// Asserts that each connection had one token, also the connection from which its session was resumed, and no
  /// cookies.
  private func check(_ records: [UpstreamServer.Record]) throws {
    var whose: [Int: String] = [:]
    for record in records where !record.bytes.isEmpty {
      let text = String(decoding: record.bytes, as: UTF8.self)
      let names = Self.names.filter { text.contains(Self.token($0)) }
      #expect(names.count == 1, "one person to a connection: \(names)")
      #expect(!text.contains("nobody") && !text.contains("Cookie:"))
      whose[record.connection] = names.first
    }
    for record in records where record.isResumed {
      let source = try #require(record.resumedFrom)
      #expect(whose[source] == whose[record.connection], "\(source) gave its session to \(record.connection)")
    }
    #expect(Set(whose.values) == Set(Self.names))
  }

  @Test(arguments: [1, 2])
  func `T46: removing or logging out one identity leaves the other's stored login unchanged`(
    workers: Int
  ) throws {
    let stage = try Self.stage()
    let daemon = try stage.stage.start(Self.configuration(stage, workers: workers))
    for name in Self.names { #expect(try stage.stage.get("/\(name)/x").status == 200) }
    let (zoe, adam) = (login(stage, "zoe"), login(stage, "adam"))
    #expect(zoe != nil && adam != nil && zoe != adam)
    let asked = stage.tokens.requests.count
    func generation() throws -> [String: Any]? {
      let status = try JSONSerialization.jsonObject(with: Data(try stage.stage.control("status").utf8.dropFirst(3)))
      let all = (status as? [String: Any])?["credentials"] as? [[String: Any]]
      return all?.first { $0["name"] as? String == "zoe" }
    }
    let before = try generation()

    // Remove Adam from the configuration.
    try stage.stage.reload(Self.configuration(stage, ["zoe"], workers: workers))
    #expect(try stage.stage.get("/adam/x").status == 404)
    #expect(try stage.stage.get("/zoe/x").text == "zoe /x")
    #expect(login(stage, "zoe") == zoe && login(stage, "adam") == adam)
    #expect(stage.tokens.requests.count == asked, "zoe's token is still the same one")
    // Add Adam again, with the stored login.
    try stage.stage.reload(Self.configuration(stage, workers: workers))
    #expect(try stage.stage.get("/adam/x").text == "adam /x")
    #expect(stage.tokens.forms.last?["refresh_token"] == Self.refresh("adam"))
    let adamAgain = login(stage, "adam")
    #expect(adamAgain == adam && login(stage, "zoe") == zoe)

    // Log Adam out.
    try stage.stage.logOut("adam")
    #expect(try stage.stage.get("/adam/x").isRefused("login-required"))
    #expect(try stage.stage.get("/zoe/x").text == "zoe /x")
    #expect(login(stage, "zoe") == zoe && login(stage, "adam") != adam)
    let after = try generation()
    for key in ["fingerprint", "generation", "changed"] {
      #expect("\(before?[key] ?? "-")" == "\(after?[key] ?? "-")", "\(key)")
    }
    #expect(daemon.stop() == 0)
    try stage.stage.start(Self.configuration(stage, workers: workers))
    #expect(try stage.stage.get("/zoe/x").text == "zoe /x")
    #expect(stage.tokens.forms.last?["refresh_token"] == Self.refresh("zoe"))
    #expect(try stage.stage.get("/adam/x").isRefused("login-required"))
    #expect(login(stage, "zoe") == zoe)
    #expect(stage.log.hides(Self.token("zoe")))
  }
}
