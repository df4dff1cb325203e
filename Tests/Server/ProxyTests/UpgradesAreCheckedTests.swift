import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// An upgrade passes the same checks as any other request.
@Suite(.inProcess) struct UpgradesAreChecked {
  @Test func `a WebSocket handshake gets the credential, and then bytes flow both ways`() throws {
    let stage = try Stage(handler: Stage.echoing())
    try stage.start()
    let client = try stage.client()
    try client.send(
      stage.head("GET", fields: Stage.upgradeFields + "Authorization: Bearer mine\r\nSec-WebSocket-Protocol: chat\r\n"))
    let response = try client.response()
    #expect(response.status == 101)
    #expect(response.values("Connection") == ["upgrade"] && response.values("Upgrade") == ["websocket"])
    for text in ["one", "GET /api/x HTTP/1.1\r\n\r\n", "\u{0}\u{81}"] {
      try client.send(text)
      while !String(decoding: client.received, as: UTF8.self).hasSuffix(text) { try client.drain() }
    }
    let recorded = stage.recorded
    #expect(recorded.contains("\r\nConnection: upgrade\r\nUpgrade: websocket\r\n") && !recorded.contains("mine"))
    #expect(recorded.contains("\r\nSec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\n"))
    #expect(recorded.contains("\r\nSec-WebSocket-Protocol: chat\r\n"))
    client.abandon()
    #expect(stage.log.wait(for: .request, ["method": "GET", "path": "/api/x", "status": 101, "up": 29, "down": 29]))
    #expect(!stage.log.contains(.request, ["aborted": .present]))
    #expect(try stage.isAlive())
    #expect(stage.upstream.records.count == 2)
    stage.assertCanary(times: 2)
  }

  @Test(arguments: [
    ("Origin: https://evil.test\r\n", "", "origin-not-allowed"),
    ("Sec-Fetch-Site: cross-site\r\n", "", "cross-site"),
    ("", "rules: [{ match: /x, deny: true }, { match: \"/**\" }]", "denied"),
    ("", "rules: [{ match: \"/**\", methods: [POST] }]", "no-rule"),
    ("", "allow_users: [12345]", "caller-not-allowed"),
  ])
  func `T3: an upgrade that the rules refuse opens no connection`(fields: String, service: String, code: String)
    throws
  {
    let stage = try Stage(handler: Stage.echoing())
    try stage.start(stage.configuration(service: service))
    let response = try stage.get(fields: Stage.upgradeFields + fields)
    #expect(response.status == 403 && response.text.contains("error:\(code)\""))
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
  }

  @Test func `T22: an unverified upstream gets no upgrade request`() throws {
    let stage = try Stage(handler: Stage.echoing())
    try stage.start(stage.configuration(pins: [Stage.leaf(issuer: stage.ca).pin, stage.backup.pin]))
    let response = try stage.get(fields: Stage.upgradeFields)
    #expect(response.status == 502 && response.text.contains("error:pin-mismatch\""))
    stage.assertCanary(times: 0)
  }

  @Test func `T40: without the secret the upstream gets no upgrade request`() throws {
    let stage = try Stage(handler: Stage.echoing())
    try stage.start(stage.configuration(credential: "bearer: { file: missing.token }"))
    let response = try stage.get(fields: Stage.upgradeFields)
    #expect(response.status == 503 && response.text.contains("error:credential-unavailable\""))
    stage.assertCanary(times: 0)
  }

  @Test(arguments: [
    ("", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"),
    ("", "Connection: Upgrade\r\nUpgrade: tcp, TLS/1.0\r\n"), ("", "Upgrade: websocket\r\n"),
    ("upgrades: []", asking), ("upgrades: [tcp]", asking),
  ])
  func `T18: an upgrade that is not in upgrades is sent as a plain request`(service: String, fields: String) throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: service))
    let client = try stage.raw()
    for _ in 0..<2 {
      try client.send(stage.head("GET", fields: fields))
      #expect(try client.response().body == "hello")
    }
    let recorded = stage.recorded.lowercased()
    #expect(!recorded.contains("upgrade:") && !recorded.contains("connection:") && !recorded.contains("http2-settings"))
    stage.assertCanary(times: 2)
  }

  private static let asking = Stage.upgradeFields

  @Test func `an upgrade that is in upgrades is sent, also with a body`() throws {
    let stage = try Stage { connection in
      guard let request = try? connection.readRequest(), request.body == Array("{}".utf8) else { return }
      connection.switchProtocols(to: "TCP")
      connection.echo()
    }
    try stage.start(stage.configuration(service: "upgrades: [tcp]"))
    let client = try stage.raw()
    try client.send(
      stage.head("POST", fields: "Connection: Upgrade\r\nUpgrade: websocket, tcp\r\nContent-Length: 2\r\n") + "{}")
    #expect(try client.head().hasSuffix("\r\nConnection: upgrade\r\nUpgrade: tcp\r\n"))
    #expect(try stage.echoes(client))
    stage.assertCanary(times: 1)
  }

  @Test(arguments: [
    (asking, "h2c"), (asking, "websocket, h2c"), ("", "websocket"),
    ("Connection: Upgrade\r\nUpgrade: h2c\r\n", "h2c"),
  ])
  func `T26: an unrequested upgrade is refused, and its session is closed`(fields: String, name: String)
    throws
  {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/alive") {
          connection.respond("alive")
        } else {
          connection.switchProtocols(to: name, "\u{1}evil")
        }
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET", fields: fields))
    let response = try client.response()
    #expect(response.head.hasPrefix("HTTP/1.1 502 "))
    #expect(response.body.contains("unrequested-upgrade"))
    try client.send(stage.head("GET", "/api/alive"))
    #expect(try client.response().body == "alive")
    #expect(stage.upstream.records.count == 2)
    stage.assertCanary(times: 2)
  }
}
