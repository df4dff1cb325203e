import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// NTLM and Negotiate authenticate a connection. bearerd never shares such a connection between clients.
@Suite(.inProcess) struct ConnectionLoginTests {
  /// Users whose connections the daemon has closed.
  private let ended = Guarded(Set<String>())

  /// Starts a stage whose upstream authenticates connections in three steps, like NTLM.
  private func stage(_ more: String, rules: String = "", workers: Int = 1) throws -> Stage {
    let ended = ended
    let stage = try Stage { connection in
      var user: String?
      var isBegun = false
      func next() -> UpstreamRequest? {
        do {
          if let request = try connection.readRequest() { return request }
          if let user { ended.withLock { _ = $0.insert(user) } }
        } catch {}
        return nil
      }
      while let request = next() {
        let step = request.text.firstMatch(of: /\r\n[Aa]uthorization: (?:NTLM|Negotiate) (\S+)/).map { String($0.1) }
        if let step, step.hasPrefix("login-"), isBegun { user = String(step.dropFirst("login-".count)) }
        if step == "begin" { isBegun = true }
        let isStranger = step != nil && user == nil
        let challenge = isBegun ? "NTLM Y2hhbGxlbmdl" : "NTLM"
        connection.respond(
          user.map { "you are \($0)" } ?? "who are you?", status: user == nil ? "401 Unauthorized" : "200 OK",
          fields: user == nil ? "WWW-Authenticate: \(challenge)\r\nX-Step: \(isStranger)\r\n" : "")
      }
    }
    try stage.start(
      """
      listeners: { main: { address: localhost:0, allow_users: [\(getuid())] } }
      workers: \(workers)
      services:
        api: { upstream: "\(stage.origin)/base/", ca_file: ca.pem, credential: pass\(more)\(rules) }
        other: { upstream: "\(stage.origin)/other/", ca_file: ca.pem, credential: pass\(more) }
        plain: { upstream: "\(stage.origin)/plain/", ca_file: ca.pem, credential: none }
      """)
    return stage
  }

  private func ask(
    _ client: LocalClient, _ stage: Stage, _ authorization: String? = nil, _ path: String = "/api/x"
  ) throws -> LocalClient.Response {
    try client.send(stage.head("GET", path, fields: authorization.map { "Authorization: \($0)\r\n" } ?? ""))
    return try client.response()
  }

  private func logIn(_ client: LocalClient, _ stage: Stage, _ name: String) throws -> LocalClient.Response {
    #expect(try ask(client, stage).values("WWW-Authenticate") == ["NTLM"])
    #expect(try ask(client, stage, "NTLM begin").values("WWW-Authenticate") == ["NTLM Y2hhbGxlbmdl"])
    return try ask(client, stage, "NTLM login-\(name)")
  }

  private let dedicated = ", dedicated_connections: true"

  @Test(arguments: [1, 2])
  func `T25: clients with NTLM logins never share a connection`(workers: Int) throws {
    let stage = try stage(dedicated, workers: workers)
    let names = ["zoe", "adam", "eve"]
    let clients = try names.map { _ in try stage.client() }
    for (client, name) in zip(clients, names) {
      let response = try logIn(client, stage, name)
      #expect(response.status == 200 && response.text == "you are \(name)")
    }
    for _ in 0..<50 {
      for (client, name) in zip(clients, names) { #expect(try ask(client, stage).text == "you are \(name)") }
      #expect(try stage.get().status == 401)
    }
    // One connection for each login. Other requests used other connections.
    #expect(stage.upstream.records.count { String(decoding: $0.bytes, as: UTF8.self).contains("login-") } == 3)
  }

  @Test func `T25: without dedicated_connections an NTLM login does not last`() throws {
    let stage = try stage("")
    let client = try stage.client()
    #expect(try ask(client, stage).status == 401)
    #expect(try ask(client, stage, "NTLM begin").values("WWW-Authenticate") == ["NTLM Y2hhbGxlbmdl"])
    let response = try ask(client, stage, "NTLM login-zoe")
    #expect(response.status == 401)
    #expect(stage.upstream.records.count == 3)
  }

  @Test func `T25: a logged-in connection is closed with its client's connection`() throws {
    let stage = try stage(dedicated)
    let client = try stage.raw()
    for login in ["begin", "login-zoe"] {
      try client.send(stage.head("GET", fields: "Authorization: NTLM \(login)\r\n"))
      #expect(try client.response().head.hasPrefix("HTTP/1.1 \(login == "begin" ? 401 : 200) "))
    }
    client.close()
    #expect(eventually { ended.withLock { $0.contains("zoe") } })
    for _ in 0..<5 { #expect(try stage.get().status == 401) }
  }

  @Test func `T25: over HTTP/2, only requests that are sent one after another share a login`() throws {
    let stage = try stage(dedicated)
    let client = try stage.http2()
    func ask(_ authorization: String? = nil, _ path: String = "/api/x") throws -> String {
      let fields = authorization.map { [(name: "authorization", value: $0)] } ?? []
      return try client.response(client.begin("GET", path, fields: fields, endsStream: true)).text
    }
    #expect(try ask() == "who are you?" && ask("NTLM begin") == "who are you?")
    #expect(try ask("NTLM login-zoe") == "you are zoe" && ask() == "you are zoe")
    // A request of a service without a login, and then one that uses the login.
    for (path, text) in [("/plain/x", "who are you?"), ("/api/x", "you are zoe")] {
      let other = try client.begin("POST", path)
      try client.write([1], on: other)
      #expect(try ask() == "who are you?")
      try client.end(other)
      #expect(try client.response(other).text == text)
      #expect(try ask() == "you are zoe")
    }
  }

  @Test func `T25: a logged-in connection serves only the same service with credential: pass`() throws {
    let rules = ", rules: [{ match: /bare, credential: none }, { match: \"/**\" }]"
    let stage = try stage(dedicated, rules: rules)
    let client = try stage.client()
    #expect(try logIn(client, stage, "zoe").status == 200)
    #expect(try ask(client, stage, nil, "/api/bare").status == 401)
    #expect(try ask(client, stage).text == "you are zoe")
    #expect(try ask(client, stage, nil, "/other/x").status == 401)
  }

  @Test func `T25: a reload ends the login of a connection`() throws {
    let stage = try stage(dedicated)
    let client = try stage.client()
    #expect(try logIn(client, stage, "zoe").status == 200)
    try stage.daemon!.reload()
    #expect(try ask(client, stage).status == 401)
  }

  @Test func `a challenge with an unknown scheme is forwarded unchanged`() throws {
    let stage = try Stage { connection in
      while (try? connection.readRequest()) != nil {
        connection.respond("no", status: "401 Unauthorized", fields: "WWW-Authenticate: Strange x=\"y, z\", Other\r\n")
      }
    }
    try stage.start(
      """
      listeners: { main: { address: localhost:0, allow_users: [\(getuid())] } }
      services: { api: { upstream: "\(stage.origin)/", ca_file: ca.pem, credential: pass } }
      """)
    let response = try stage.get(fields: "Proxy-Authorization: Basic eDp5\r\n")
    #expect(response.status == 401 && response.values("WWW-Authenticate") == ["Strange x=\"y, z\", Other"])
    #expect(!stage.recorded.lowercased().contains("proxy-authorization"))
  }
}
