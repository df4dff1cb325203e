import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A client token identifies callers that have the same uid or none. The caller sends the token in place of the API's
/// key, and bearerd does not forward it.
@Suite(.inProcess) struct ClientTokensIdentifyClients {
  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T6: a local caller needs both a client token and an allowed uid`() throws {
    let stage = try Stage.withClients()
    let token = "X-Api-Key: \(ClientTokens.ci.text)"
    #expect(try stage.sendRequest(as: [], field: token).output.hasPrefix("HTTP/1.1 200 "))
    let stranger = try stage.sendRequest(as: Stage.user(12_345), field: token)
    #expect(stranger.output.contains("urn:bearerd:error:caller-not-allowed"))
    #expect(try stage.sendRequest(as: []).output.contains("urn:bearerd:error:client-unknown"))
    stage.assertNoClientToken()
    stage.assertCanary(times: 1)
  }

  @Test func `T6: allow_clients of a service or credential applies to requests`() throws {
    let stage = try Stage.withClients("allow_clients: [ci]")
    let ci = "X-Api-Key: \(ClientTokens.ci.text)\r\n"
    let dev = "X-Api-Key: \(ClientTokens.dev.text)\r\n"
    #expect(try stage.get(fields: ci).status == 200)
    let narrowed = try stage.get(fields: dev)
    #expect(narrowed.status == 403 && narrowed.text.contains("urn:bearerd:error:client-not-allowed"))
    #expect(stage.log.wait(for: .request, ["client": "dev", "help": .naming("allow_clients", "services.api")]))

    try stage.reload(
      try String(contentsOfFile: stage.daemon!.file, encoding: .utf8).replacing("    allow_clients: [ci]\n", with: "")
        .replacing("bearer: { file: canary.token }", with: "bearer: { file: canary.token }\n    allow_clients: [dev]"))
    #expect(try stage.get(fields: dev).status == 200)
    let ungranted = try stage.get(fields: ci)
    #expect(ungranted.status == 403 && ungranted.text.contains("urn:bearerd:error:client-not-allowed"))
    #expect(stage.log.wait(for: .request, ["client": "ci", "help": .naming("allow_clients", "credentials.canary")]))
    stage.assertNoClientToken()
    stage.assertCanary(times: 2)
  }
}

/// By default, bearerd listens only on loopback addresses. For other addresses, callers need client tokens.
@Suite(.inProcess) struct OtherMachinesNeedTokens {
  /// With one worker, this is the oldest connection. With several workers, it is the oldest of one of them.
  private func hasEnded(oneOf clients: [RawClient]) -> Bool {
    clients.contains { client in
      client.setTimeout(seconds: 1)
      return client.rest().ending != .silent
    }
  }

  private func response(_ stage: Stage, ip: String, _ fields: String, host: String? = nil) throws
    -> LocalClient.Response
  {
    let port = try stage.daemon!.port()
    let client = try LocalClient(port: port, ip: ip)
    try client.send("GET /api/x HTTP/1.1\r\nHost: \(host ?? "\(ip):\(port)")\r\n\(fields)\r\n")
    return try client.response()
  }

  @Test(.enabled(if: ClientTokens.ownAddress != nil, "needs an address that is not loopback"))
  func `T4: by default, bearerd does not listen on addresses other than loopback`() throws {
    let stage = try Stage()
    try stage.start()
    let ip = try #require(ClientTokens.ownAddress)
    #expect(throws: (any Error).self) { try LocalClient(port: try stage.daemon!.port(), ip: ip) }
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1)
  }

  @Test(.enabled(if: ClientTokens.ownAddress != nil, "needs an address that is not loopback"))
  func `T4: a caller from the network is identified by its client token, and has no uid`() throws {
    let stage = try Stage()
    let ip = try #require(ClientTokens.ownAddress)
    let token = "X-Api-Key: \(ClientTokens.ci.text)\r\n"
    let text = stage.configuration(listener: "address: \(ip):0\n    clients: \(ClientTokens.both)")
      .replacing("    allow_users: [\(getuid())]\n", with: "")
    try stage.start(text)
    #expect(try response(stage, ip: ip, token).status == 200)
    #expect(stage.log.wait(for: .request, ["client": "ci"]))
    #expect(!stage.log.contains(.request, ["uid": .present]))
    for (fields, code) in [("", "client-unknown"), ("X-Api-Key: bearerd_\r\n", "client-unknown")] {
      let refusal = try response(stage, ip: ip, fields)
      #expect(refusal.status == 403 && refusal.text.contains("urn:bearerd:error:\(code)"))
    }
    // A name that an attacker points to this address, and loopback names.
    for host in ["evil.test:\(try stage.daemon!.port())", "localhost:\(try stage.daemon!.port())"] {
      #expect(try response(stage, ip: ip, token, host: host).status == 421)
    }
    // A caller without a uid matches no `allow_users`.
    try stage.reload(
      text.replacing("    credential: canary\n", with: "    credential: canary\n    allow_users: [\(getuid())]\n"))
    let narrowed = try response(stage, ip: ip, token)
    #expect(narrowed.status == 403 && narrowed.text.contains("urn:bearerd:error:caller-not-allowed"))
    stage.assertCanary(times: 1)
  }

  @Test(.enabled(if: ClientTokens.ownAddress != nil, "needs an address that is not loopback"))
  func `T54 T58: connections without a token share a small limit, make room, and get few log lines`()
    throws
  {
    let stage = try Stage()
    let ip = try #require(ClientTokens.ownAddress)
    let token = "X-Api-Key: \(ClientTokens.ci.text)\r\n"
    try stage.start(
      stage.configuration(
        listener: "address: \(ip):0\n    clients: \(ClientTokens.both)", more: "limits: { connections: 64 }"
      ).replacing("    allow_users: [\(getuid())]\n", with: ""))
    let port = try stage.daemon!.port()
    func head(_ fields: String) -> String { "GET /api/x HTTP/1.1\r\nHost: \(ip):\(port)\r\n\(fields)\r\n" }
    // Eight connections may be open that have not sent a token. A further connection ends the oldest of them.
    let silent = try (0..<8).map { _ in try RawClient(port: port, ip: ip) }
    var proven: [LocalClient] = []
    for number in 0..<12 {
      let client = try LocalClient(port: port, ip: ip)
      try client.send(head(token))
      #expect(try client.response().status == 200, "\(number)")
      proven.append(client)
    }
    #expect(hasEnded(oneOf: silent), "the oldest one was to end")
    // Connections that have sent a token no longer count.
    for client in proven {
      try client.send(head(token))
      #expect(try client.response().status == 200)
    }
    for request in [head(""), "G@T\r\n\r\n"] {
      for _ in 0..<100 {
        let client = try RawClient(port: port, ip: ip)
        try client.send(request)
        let text = String(decoding: client.rest().bytes, as: UTF8.self)
        #expect(text.contains("\r\nConnection: close\r\n"))
      }
    }
    let lines = stage.log.lines(of: .request, ["refused": .present]).count
    #expect((50...101).contains(lines), "\(lines)")
    #expect(stage.log.contains(.request, ["refused": "client-unknown"]))
    stage.assertCanary(times: 24)
  }

  @Test(.enabled(if: ClientTokens.ownAddress != nil, "needs an address that is not loopback"))
  func `T54: local users who are not admitted cannot block callers from the network`() throws {
    let stage = try Stage()
    let ip = try #require(ClientTokens.ownAddress)
    try stage.start(
      stage.configuration(
        listener: "address: 0.0.0.0:0\n    clients: \(ClientTokens.both)", more: "limits: { connections: 64 }"
      ).replacing("allow_users: [\(getuid())]", with: "allow_users: [12345]"))
    let silent = try (0..<8).map { _ in try stage.raw() }
    #expect(try eventually { try stage.control("metrics").contains("bearerd_client_connections 8") })
    for _ in 0..<4 {
      #expect(try response(stage, ip: ip, "X-Api-Key: \(ClientTokens.ci.text)\r\n").status == 200)
    }
    #expect(hasEnded(oneOf: silent), "the oldest one was to end")
    stage.assertCanary(times: 4)
  }

  @Test(.enabled(if: ClientTokens.ownAddress != nil, "needs an address that is not loopback"))
  func `T4: a systemd socket on the network needs client tokens, and a reload cannot remove them`() throws {
    let stage = try Stage()
    let ip = try #require(ClientTokens.ownAddress)
    let unit = SocketUnit()
    _ = try unit.listen("main", on: "0.0.0.0")
    let text = stage.configuration(
      listener: "address: systemd:main\n    clients: \(ClientTokens.both)\n    hosts: [\"bearerd:1\"]")
    try stage.start(unit, text)
    let token = "X-Api-Key: \(ClientTokens.ci.text)\r\n"
    #expect(try response(stage, ip: ip, token, host: "bearerd:1").status == 200)
    #expect(try response(stage, ip: ip, "", host: "bearerd:1").status == 403)
    try stage.reload(text.replacing("    clients: \(ClientTokens.both)\n", with: ""))
    #expect(stage.log.wait(for: .reloadFailed))
    #expect(try response(stage, ip: ip, "", host: "bearerd:1").status == 403)
    #expect(try response(stage, ip: ip, token, host: "bearerd:1").status == 200)
    stage.assertCanary(times: 2)
  }

  @Test(.enabled(if: ClientTokens.ownAddress != nil, "needs an address that is not loopback"))
  func `T4 T6: on a listener for all addresses, loopback callers also need an allowed uid`() throws {
    let stage = try Stage()
    let ip = try #require(ClientTokens.ownAddress)
    let text = stage.configuration(
      listener: "address: 0.0.0.0:0\n    clients: \(ClientTokens.both)\n    hosts: [\"bearerd:1\"]"
    ).replacing("allow_users: [\(getuid())]", with: "allow_users: [12345]")
    try stage.start(text)
    let token = "X-Api-Key: \(ClientTokens.ci.text)\r\n"
    let local = try response(stage, ip: "127.0.0.1", token)
    #expect(local.status == 403 && local.text.contains("urn:bearerd:error:caller-not-allowed"))
    #expect(try response(stage, ip: ip, token, host: "bearerd:1").status == 200)
    // Only the address to which the caller connected is a valid host.
    let port = try stage.daemon!.port()
    #expect(try response(stage, ip: ip, token).status == 200)
    let client = try RawClient(port: port, ip: ip)
    try client.send("GET http://\(ip):\(port)/api/x HTTP/1.1\r\nHost: \(ip):\(port)\r\n\(token)\r\n")
    #expect(try client.response().head.hasPrefix("HTTP/1.1 200 "))
    for host in ["0.0.0.0:\(port)", "\(ip):\(port - 1)", ip, "\(ip).evil.test:\(port)", "192.0.2.77:\(port)"] {
      #expect(try response(stage, ip: ip, token, host: host).status == 421, "\(host)")
    }
    #expect(try response(stage, ip: ip, "", host: "bearerd:1").status == 403)
    #expect(try response(stage, ip: "127.0.0.1", token, host: "\(ip):\(port)").status == 403)
    stage.assertCanary(times: 3)
    // The same for loopback addresses, with an allowed uid.
    try stage.reload(text.replacing("allow_users: [12345]", with: "allow_users: [\(getuid())]"))
    #expect(try response(stage, ip: "127.0.0.3", token).status == 200)
    #expect(try response(stage, ip: "127.0.0.3", token, host: "127.0.0.2:\(port)").status == 421)
    stage.assertCanary(times: 4)
  }
}
