import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct TimeoutTests {
  /// Starts a stage whose upstream is at `port` of 127.0.0.1.
  private func stage(elsewhere port: UInt16, _ timeouts: String) throws -> Stage {
    let stage = try Stage()
    let text = stage.configuration(service: "timeouts: { \(timeouts) }")
    try stage.start(text.replacingOccurrences(of: stage.origin, with: "https://127.0.0.1:\(port)"))
    return stage
  }

  /// Asserts status and code of the response, and that it came after `limit` seconds, and not much later.
  private func expect(
    _ status: Int, _ code: String, after limit: Double, _ body: () throws -> LocalClient.Response,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    var response: LocalClient.Response?
    let time = try seconds { response = try body() }
    #expect(response?.status == status, sourceLocation: sourceLocation)
    #expect(response?.text.contains("urn:bearerd:error:\(code)") == true, sourceLocation: sourceLocation)
    #expect(time > limit * 0.9 && time < limit + 20, "\(time) s", sourceLocation: sourceLocation)
  }

  @Test func `the connect timeout ends an unanswered connection attempt`() throws {
    let hole = try BlackHole()
    let stage = try stage(elsewhere: hole.port, "connect: 300ms")
    try expect(504, "connection-timeout", after: 0.3) { try stage.get() }
    stage.assertCanary(times: 0)
  }

  @Test func `the handshake timeout ends a silent handshake`() throws {
    var options = UpstreamServer.Options()
    options.isPlain = true
    let mute = try UpstreamServer(chain: [], options: options) { $0.readToEnd() }
    defer { mute.stop() }
    let stage = try stage(elsewhere: mute.port, "handshake: 300ms")
    try expect(504, "handshake-timeout", after: 0.3) { try stage.get() }
    #expect(mute.wait { $0.first?.isFinished == true })
    stage.assertCanary(times: 0)
  }

  @Test func `the response_head timeout ends a missing or endless response head`() throws {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        guard head.contains("/drip") else { continue }
        connection.send("HTTP/1.1 200 OK\r\n")
        for _ in 0..<1_000 where (try? connection.write(Array("X: y\r\n".utf8))) != nil { usleep(20_000) }
      }
    }
    try stage.start(stage.configuration(service: "timeouts: { response_head: 300ms }"))
    for path in ["/api/mute", "/api/drip"] {
      try expect(504, "upstream-timeout", after: 0.3) { try stage.get(path) }
    }
    stage.assertCanary(times: 2)
  }

  @Test func `none sets no limit, also if the client may be idle only briefly`() throws {
    let stage = try Stage { connection in
      guard let (head, _) = connection.head() else { return }
      if head.contains("/slow") {
        usleep(900_000)
        return connection.respond("x")
      }
      connection.switchProtocols()
      connection.echo()
      connection.readToEnd()
    }
    try stage.start(
      stage.configuration(
        service: "timeouts: { response_head: none, upgraded: none }", more: "limits: { client_idle: 200ms }"))
    let silent = try stage.upgraded()
    #expect(try stage.get("/api/slow").status == 200)
    #expect(try stage.echoes(silent))
  }

  @Test func `T54 body_silence: a client that does not read its response is disconnected`() throws {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/alive") {
          connection.respond("alive")
          continue
        }
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(64 << 20)\r\n\r\n")
        try? Pattern.write(64 << 20, piece: 65_536) { try connection.write($0) }
      }
    }
    try stage.start(stage.configuration(service: "timeouts: { body_silence: 500ms }"))
    let client = try stage.raw(receiveBuffer: 16_384)
    try client.send(stage.head("GET"))
    let time = seconds { _ = stage.log.wait(for: .request, ["aborted": "true"]) }
    #expect(time > 0.4 && time < 30, "\(time) s")
    #expect(client.rest().ending == .reset)
    #expect(try stage.isAlive())
  }

  @Test func `the log line of an incomplete head has no data of the request before`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(
        more: "limits: { client_head: 300ms }",
        services: "  other: { upstream: \"https://localhost:1/\", credential: none }"))
    let client = try stage.raw()
    try client.send(stage.head("GET", "/other/x"))
    #expect(try client.response().head.hasPrefix("HTTP/1.1 502 "))
    try client.send("GET /other/y HTTP/1.1\r\n")
    #expect(try client.response().head.hasPrefix("HTTP/1.1 408 "))
    #expect(stage.log.wait(for: .request, ["refused": "request-timeout"]))
    #expect(stage.log.contains(.request, ["status": 502, "detail": .present]))
    let unasked = stage.log.lines(of: .request, ["status": 408]).flatMap(\.fields)
    #expect(unasked.filter { $0.name == "detail" }.map(\.value) == ["limits.client_head"])
    #expect(!unasked.contains { $0.value.contains("other") })
    stage.assertCanary(times: 0)
  }

  /// Returns the number of connected sockets with this port whose keep-alive timer runs.
  private func probed(port: UInt16) throws -> Int {
    let table = try run(["cat", "/proc/net/tcp", "/proc/net/tcp6"]).output
    let wanted = String(format: ":%04X", port)
    return table.split(separator: "\n").count { line in
      let columns = line.split(separator: " ")
      return columns.count > 5 && (columns[1].hasSuffix(wanted) || columns[2].hasSuffix(wanted)) && columns[3] == "01"
        && columns[5].hasPrefix("02:")
    }
  }

  @Test func `tcp_keepalive probes both connections of an open request`() throws {
    let stage = try Stage { connection in
      while connection.head() != nil {
        connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
      }
    }
    try stage.start()
    for isOn in [true, false] {
      if !isOn {
        try stage.reload(stage.configuration(more: "limits: { tcp_keepalive: off }"))
      }
      let client = try stage.raw()
      try client.send(stage.head("GET"))
      #expect(try client.head().hasPrefix("HTTP/1.1 200 "))
      // Until the sent bytes are acknowledged, another timer runs instead.
      for port in try [stage.daemon!.port("main"), stage.upstream.port] {
        if isOn {
          #expect(eventually { (try? probed(port: port)) == 1 }, "\(port)")
        } else {
          usleep(300_000)
          #expect(try probed(port: port) == 0)
        }
      }
      client.close()
      #expect(eventually { (try? probed(port: stage.upstream.port)) == 0 })
    }
  }

  @Test(arguments: [("timeout=2, max=100", true), ("timeout=1", false), ("timeout=0", false), ("max=5", true)])
  func `a session is closed before the upstream's Keep-Alive timeout`(value: String, isKept: Bool) throws {
    let stage = try Stage { connection in
      while connection.head() != nil { connection.respond("x", fields: "Keep-Alive: \(value)\r\n") }
    }
    try stage.start()
    for _ in 0..<2 { #expect(try stage.get().status == 200) }
    #expect(stage.upstream.records.count == (isKept ? 1 : 2))
    guard value.contains("timeout") else { return }
    let time = seconds { #expect(stage.upstream.wait { $0.allSatisfy(\.isFinished) }) }
    #expect(time < 30, "\(time) s")
  }

  @Test func `upstream_idle closes a pooled session`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "limits: { upstream_idle: 300ms }"))
    #expect(try stage.get().status == 200)
    #expect(stage.upstream.wait { $0.first?.isFinished == true })
    #expect(try stage.get().status == 200)
    #expect(stage.upstream.records.count == 2)
    stage.assertCanary(times: 2)
  }
}
