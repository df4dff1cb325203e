import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Each side of an upgraded connection notices how the other side ended. A connection ends when it is no longer
/// allowed.
@Suite(.inProcess) struct UpgradedConnectionsEnd {
  static let short = "limits: { revoked_grace: 100ms }"

  /// Options for a TLS version.
  private static func options(_ version: Int32) -> UpstreamServer.Options {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    return options
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `a client that has closed its sending side still receives data`(version: Int32) throws {
    let stage = try Stage(options: Self.options(version)) { connection in
      guard connection.head() != nil else { return }
      connection.switchProtocols()
      let said = (try? connection.readRequest())?.text ?? ""
      if let end = try? connection.read(), end.isEmpty { connection.send("heard \(said)") }
    }
    try stage.start()
    let client = try stage.upgraded()
    try client.send("all\r\n\r\n")
    client.shutdownSending()
    #expect(client.rest() == (Array("heard all\r\n\r\n".utf8), .clean))
    #expect(stage.log.wait(for: .request, ["status": 101, "up": 7, "down": 13]))
    #expect(!stage.log.contains(.request, ["aborted": .present]))
    stage.assertCanary(times: 1)
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `an upstream that has closed its sending side still receives data`(version: Int32) throws {
    let stage = try Stage(options: Self.options(version)) { connection in
      guard connection.head() != nil else { return }
      connection.switchProtocols("all")
      connection.close()
    }
    try stage.start()
    let client = try stage.upgraded()
    #expect(client.rest() == (Array("all".utf8), .clean))
    try client.send("the rest")
    client.close()
    #expect(stage.upstream.wait { $0.last?.isFinished == true })
    #expect(stage.recorded.hasSuffix("\r\n\r\nthe rest"))
    #expect(stage.log.wait(for: .request, ["status": 101, "up": 8, "down": 3]))
    #expect(!stage.log.contains(.request, ["aborted": .present]))
    stage.assertCanary(times: 1)
  }

  @Test func `both sides can close separately over plain HTTP to loopback`() throws {
    let stage = try Stage()
    var options = UpstreamServer.Options()
    options.isPlain = true
    let plain = try UpstreamServer(
      chain: [], options: options,
      handler: { connection in
        guard connection.head() != nil else { return }
        connection.switchProtocols()
        connection.echo()
        connection.send("bye")
      })
    defer { plain.stop() }
    try stage.start(
      stage.configuration(
        services: "  plain: { upstream: \"http://127.0.0.1:\(plain.port)/\", credential: none }"))
    let client = try stage.upgraded("/plain/x")
    #expect(try stage.echoes(client))
    client.shutdownSending()
    #expect(client.rest() == (Array("bye".utf8), .clean))
    stage.assertCanary(times: 0)
  }

  @Test(arguments: [true, false])
  func `the client sees a reset if the upstream aborts the connection`(resets: Bool) throws {
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.switchProtocols("half")
      _ = try? connection.read()
      if resets { connection.reset() } else { connection.closeWithoutNotify() }
    }
    try stage.start()
    let client = try stage.upgraded()
    #expect(try client.exactly(4) == Array("half".utf8))
    try client.send("go")
    #expect(client.rest() == ([], .reset))
    #expect(stage.log.wait(for: .request, ["refused": "upstream-closed"]))
    #expect(stage.log.contains(.request, ["aborted": "true"]))
    stage.assertCanary(times: 1)
  }

  @Test(arguments: [true, false])
  func `the upstream sees an abort if the client resets the connection`(resets: Bool) throws {
    let (clean, broken) = (Gate(), Gate())
    let stage = try Stage(handler: Stage.echoing { $0 ? clean.open() : broken.open() })
    try stage.start()
    let client = try stage.upgraded()
    #expect(try stage.echoes(client))
    if resets { client.reset() } else { client.close() }
    #expect(resets ? broken.pass() : clean.pass())
    #expect(stage.log.wait(for: .request, ["status": 101, "up": 4, "down": 4]))
    #expect(stage.log.contains(.request, ["aborted": "true"]) == resets)
    stage.assertCanary(times: 1)
  }

  @Test func `T47: a connection that a reload no longer allows is reset after revoked_grace`() throws {
    for (name, change) in [
      ("rule", { $0.configuration(service: "rules: [{ match: /other }]", more: Self.short) }),
      ("pins", { $0.configuration(pins: [$0.ca.pin, $0.backup.pin], more: Self.short) }),
      ("caller", { $0.configuration(service: "allow_users: [12345]", more: Self.short) }),
      ("grant", { $0.configuration(more: Self.short).replacing("credential: canary", with: "credential: none") }),
      ("upgrade", { $0.configuration(service: "upgrades: []", more: Self.short) }),
    ] as [(String, (Stage) -> String)] {
      let broken = Gate()
      let stage = try Stage(handler: Stage.echoing { if !$0 { broken.open() } })
      try stage.start(stage.configuration(more: Self.short))
      let client = try stage.upgraded()
      #expect(try stage.echoes(client))
      try stage.reload(change(stage))
      #expect(client.rest() == ([], .reset), "\(name)")
      #expect(broken.pass(), "\(name)")
      #expect(stage.log.wait(for: .request, ["status": 101, "up": 4, "down": 4]), "\(name)")
      #expect(stage.log.contains(.request, ["aborted": "true"]), "\(name)")
      stage.assertCanary(times: 1)
    }
  }

  @Test func `T47: a connection that is still allowed survives reloads and new secrets`() throws {
    let stage = try Stage(handler: Stage.echoing())
    let second = """
        second:
          upstream: \(stage.origin)/
          ca_file: ca.pem
          credential: canary

      """
    try stage.start(stage.configuration(more: Self.short, services: second))
    let (kept, cut) = (try stage.upgraded(), try stage.upgraded("/second/x"))
    try stage.scratch.write("canary.token", "ANOTHER-secret\n")
    #expect(stage.log.wait(for: .credentialChanged))
    #expect(try stage.echoes(kept) && stage.echoes(cut))
    try stage.reload(
      stage.configuration(
        service: "cookies: pass\nupgrades: [tcp, websocket]\nrules: [{ match: /x }]", more: Self.short,
        services: second + "    rules: [{ match: /other }]\n"))
    // The time of grace is over for both connections.
    #expect(cut.rest() == ([], .reset))
    #expect(try stage.echoes(kept))
    stage.assertCanary(times: 2)
  }

  @Test func `a stop waits for an upgraded connection until the end of the drain`() throws {
    for (limit, cut) in [("30s", 0), ("300ms", 1)] {
      let stage = try Stage(handler: Stage.echoing())
      let daemon = try stage.start(stage.configuration(more: "limits: { drain: \(limit) }"))
      let client = try stage.upgraded()
      daemon.beginStop()
      #expect(daemon.log.wait(for: .stopping))
      if cut == 0 {
        #expect(try stage.echoes(client))
        client.close()
      } else {
        #expect(client.rest() == ([], .reset))
      }
      #expect(daemon.waitForExit() == 0)
      #expect(daemon.log.contains(.stopped, ["cut": "\(cut)"]))
      stage.assertCanary(times: 1)
    }
  }

  @Test func `only timeouts.upgraded ends a silent connection`() throws {
    let stage = try Stage(handler: { connection in
      guard let (head, _) = connection.head() else { return }
      if head.contains("/stuck") { return connection.readToEnd() }
      connection.switchProtocols()
      connection.echo()
      connection.readToEnd()
    })
    let second = """
        second:
          upstream: \(stage.origin)/
          ca_file: ca.pem
          credential: canary
          timeouts: { upgraded: 300ms }

      """
    try stage.start(
      stage.configuration(service: "timeouts: { body_silence: 200ms, total: 400ms }", services: second))
    let (patient, silent) = (try stage.upgraded(), try stage.upgraded("/second/x"))
    #expect(try stage.echoes(silent))
    #expect(silent.rest() == ([], .reset))
    #expect(stage.log.wait(for: .request, ["refused": "upstream-timeout"]))
    // This request lasts longer than all timeouts of the first service.
    #expect(try stage.get("/api/stuck").status == 504)
    #expect(try stage.echoes(patient))
    stage.assertCanary(times: 3)
  }

  @Test func `T54: a half-closed connection is reset after body_silence`() throws {
    let goes = Gate()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.switchProtocols()
      goes.pass()
    }
    try stage.start(stage.configuration(service: "timeouts: { body_silence: 300ms }"))
    let client = try stage.upgraded()
    client.shutdownSending()
    #expect(client.rest() == ([], .reset))
    goes.open()
    stage.assertCanary(times: 1)
  }
}
