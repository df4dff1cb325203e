import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// NTLM and Negotiate authenticate a connection: what is logged in there is one client's alone.
@Suite(.inProcess) struct LoginsOfConnections {
  /// Whose connections the daemon has closed.
  private let ended = Guarded(Set<String>())

  /// An upstream that knows whom a connection belongs to: three steps, as NTLM's, and then each request on it is theirs.
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
        let step = request.text.firstMatch(of: /\r\nAuthorization: (?:NTLM|Negotiate) (\S+)/).map { String($0.1) }
        if let step, step.hasPrefix("login-"), isBegun { user = String(step.dropFirst("login-".count)) }
        if step == "begin" { isBegun = true }
        let isStranger = step != nil && user == nil
        let challenge = isBegun ? "NTLM Y2hhbGxlbmdl" : "NTLM"
        connection.answer(
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
  func `T25: two clients that log in on their connections are never taken for each other`(workers: Int) throws {
    let stage = try stage(dedicated, workers: workers)
    let names = ["zoe", "adam", "eve"]
    let clients = try names.map { _ in try stage.client() }
    for (client, name) in zip(clients, names) {
      let answer = try logIn(client, stage, name)
      #expect(answer.status == 200 && answer.text == "you are \(name)")
    }
    for _ in 0..<50 {
      for (client, name) in zip(clients, names) { #expect(try ask(client, stage).text == "you are \(name)") }
      // Nobody who has not logged in is anybody.
      #expect(try stage.get().status == 401)
    }
    // One for each of them; those of the others are used once.
    #expect(stage.upstream.records.count { String(decoding: $0.bytes, as: UTF8.self).contains("login-") } == 3)
  }

  @Test func `T25: without the setting, no login lasts for one request more`() throws {
    let stage = try stage("")
    let client = try stage.client()
    #expect(try ask(client, stage).status == 401)
    #expect(try ask(client, stage, "NTLM begin").values("WWW-Authenticate") == ["NTLM Y2hhbGxlbmdl"])
    let answer = try ask(client, stage, "NTLM login-zoe")
    #expect(answer.status == 401)
    #expect(stage.upstream.records.count == 3)
  }

  @Test func `T25: what was logged in on ends with its client`() throws {
    let stage = try stage(dedicated)
    let client = try stage.raw()
    for login in ["begin", "login-zoe"] {
      try client.send(stage.head("GET", fields: "Authorization: NTLM \(login)\r\n"))
      #expect(try client.answer().head.hasPrefix("HTTP/1.1 \(login == "begin" ? 401 : 200) "))
    }
    client.close()
    #expect(eventually { ended.withLock { $0.contains("zoe") } })
    for _ in 0..<5 { #expect(try stage.get().status == 401) }
  }

  @Test func `T25: it is for the same service, and for requests with the program's own login, alone`() throws {
    let rules = ", rules: [{ match: /bare, credential: none }, { match: \"/**\" }]"
    let stage = try stage(dedicated, rules: rules)
    let client = try stage.client()
    #expect(try logIn(client, stage, "zoe").status == 200)
    #expect(try ask(client, stage, nil, "/api/bare").status == 401)
    #expect(try ask(client, stage).text == "you are zoe")
    #expect(try ask(client, stage, nil, "/other/x").status == 401)
  }

  @Test func `T25: a reload ends it`() throws {
    let stage = try stage(dedicated)
    let client = try stage.client()
    #expect(try logIn(client, stage, "zoe").status == 200)
    try stage.daemon!.reload()
    #expect(try ask(client, stage).status == 401)
  }

  @Test func `A challenge of a scheme that nobody knows reaches the program as it came`() throws {
    let stage = try Stage { connection in
      while (try? connection.readRequest()) != nil {
        connection.answer("no", status: "401 Unauthorized", fields: "WWW-Authenticate: Strange x=\"y, z\", Other\r\n")
      }
    }
    try stage.start(
      """
      listeners: { main: { address: localhost:0, allow_users: [\(getuid())] } }
      services: { api: { upstream: "\(stage.origin)/", ca_file: ca.pem, credential: pass } }
      """)
    let answer = try stage.get(fields: "Proxy-Authorization: Basic eDp5\r\n")
    #expect(answer.status == 401 && answer.values("WWW-Authenticate") == ["Strange x=\"y, z\", Other"])
    #expect(!stage.recorded.lowercased().contains("proxy-authorization"))
  }
}
