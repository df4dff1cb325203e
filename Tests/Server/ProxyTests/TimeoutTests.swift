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

  @Test func `each request of a connection has its own response_head timeout`() throws {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/slow") { usleep(500_000) }
        connection.respond("x")
      }
    }
    try stage.start(stage.configuration(service: "timeouts: { response_head: 1500ms }"))
    let client = try stage.raw()
    try client.send((0..<4).map { _ in try! stage.head("GET", "/api/slow") }.joined())
    for _ in 0..<4 { #expect(try client.response().body == "x") }
  }

  @Test func `body_silence aborts a stalled response, but not a slow response`() throws {
    let stage = try Stage { connection in
      guard let (head, _) = connection.head() else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
      if head.contains("/stuck") {
        connection.send("12345")
        connection.readToEnd()
      } else {
        for _ in 0..<10 {
          usleep(120_000)
          connection.send("x")
        }
      }
    }
    try stage.start(stage.configuration(service: "timeouts: { body_silence: 1s }"))
    let stuck = try stage.raw()
    try stuck.send(stage.head("GET", "/api/stuck"))
    var ending = RawClient.Ending.silent
    let time = seconds { ending = stuck.rest().ending }
    #expect(ending == .reset)
    #expect(time > 0.9 && time < 20)
    #expect(stage.log.wait(for: .request, ["aborted": "true"]))
    #expect(try stage.get("/api/slow").text == "xxxxxxxxxx")
  }

  @Test func `body_silence aborts a stalled request`() throws {
    let stage = try Stage { connection in
      _ = connection.head()
      connection.readToEnd()
    }
    try stage.start(stage.configuration(service: "timeouts: { body_silence: 300ms }"))
    try expect(408, "request-timeout", after: 0.3) {
      try stage.request("PUT /api/x HTTP/1.1\r\nHost: HOST\r\nContent-Length: 10\r\n\r\n", body: "12345")
    }
  }

  /// Sends pieces of a body with pauses until a response begins. Returns the response and the seconds it took.
  private func drip(_ stage: Stage, _ path: String, piece: Int, count: Int) throws -> (response: String, time: Double) {
    let client = try stage.raw()
    client.setTimeout(seconds: 5)
    try client.send(stage.head("PUT", path, fields: "Content-Length: \(piece * count)\r\n"))
    var bytes: [UInt8] = []
    let time = try seconds {
      for _ in 0..<count where bytes.isEmpty {
        usleep(50_000)
        guard (try? client.send(String(repeating: "x", count: piece))) != nil else { break }
        bytes = client.readWithoutWaiting()
      }
      if bytes.isEmpty { bytes = try client.read() }
    }
    return (String(decoding: bytes, as: UTF8.self), time)
  }

  @Test func `T54 client_body_rate: a trickling body is aborted, and a slow body is not`() throws {
    let stage = try Stage { connection in
      while let (head, rest) = connection.head() {
        // An early response: from then on the client may take any time.
        if head.contains("/early") { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n") }
        let wanted = head.firstMatch(of: #/Content-Length: (\d+)/#).flatMap { Int($0.1) } ?? 0
        var got = rest.count
        while got < wanted, let more = try? connection.read(), !more.isEmpty { got += more.count }
        if head.contains("/early") { connection.send("hello") } else { connection.respond("hello") }
      }
    }
    try stage.start(
      stage.configuration(
        service: "timeouts: { body_silence: 1s }", more: "limits: { client_body_rate: 1KiB }"))
    let trickle = try drip(stage, "/api/trickle", piece: 1, count: 1_000)
    #expect(trickle.response.hasPrefix("HTTP/1.1 408 "))
    #expect(trickle.time > 0.9 && trickle.time < 30, "\(trickle.time) s")
    #expect(stage.log.wait(for: .request, ["refused": "request-timeout"]))
    // Each piece is 2 KiB, and the limit is 1 KiB per second. 30 pieces take longer than one window.
    let slow = try drip(stage, "/api/slow", piece: 2_048, count: 30)
    #expect(slow.response.hasPrefix("HTTP/1.1 200 "), "\(slow.response)")
    // The early response must arrive now. The body continues for two windows.
    let early = try stage.raw()
    try early.send(stage.head("PUT", "/api/early", fields: "Content-Length: 50\r\n"))
    #expect(try early.head().hasPrefix("HTTP/1.1 200 "))
    for _ in 0..<50 {
      usleep(50_000)
      try early.send("x")
    }
    #expect(try early.exactly(5) == Array("hello".utf8))
    stage.assertCanary(times: 3)
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

  @Test func `the total timeout aborts an endless response, and each request has its own timeout`() throws {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/alive") {
          connection.respond("alive")
          continue
        }
        connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while (try? connection.write(Array("1\r\nx\r\n".utf8))) != nil { usleep(20_000) }
      }
    }
    try stage.start(
      stage.configuration(service: "timeouts: { total: 1500ms }", more: "limits: { client_idle: 2s }"))
    let endless = try stage.raw()
    try endless.send(stage.head("GET"))
    var ending = RawClient.Ending.silent
    let time = seconds { ending = endless.rest().ending }
    #expect(ending == .reset)
    #expect(time > 1.4 && time < 20)
    let client = try stage.raw()
    for pause: UInt32 in [0, 600_000, 600_000, 600_000] {
      usleep(pause)
      try client.send(stage.head("GET", "/api/alive"))
      #expect(try client.response().body == "alive")
    }
    // The idle time begins after the last request.
    client.setTimeout(seconds: 20)
    #expect(client.rest() == ([], .clean))
  }

  @Test func `T54 client_head: dripping bytes do not extend the timeout`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "limits: { client_head: 500ms }"))
    for isSecond in [false, true] {
      let client = try stage.raw()
      if isSecond {
        try client.send(stage.head("GET"))
        #expect(try client.response().body == "hello")
      }
      try client.send("GET /api/x HTTP/1.1\r\nX-Slow: ")
      client.setTimeout(seconds: 1)
      var bytes: [UInt8] = []
      var drops = 0
      let time = seconds {
        // Sends bytes until a response arrives.
        while bytes.isEmpty, drops < 200, (try? client.send("x")) != nil {
          drops += 1
          usleep(30_000)
          bytes = client.readWithoutWaiting()
        }
      }
      #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 408 "))
      #expect(time > 0.4 && time < 20, "\(time) s")
    }
    stage.assertCanary(times: 1)
  }

  @Test func `client_idle closes an idle connection, and every request restarts the timeout`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "limits: { client_idle: 1500ms }"))
    let used = try stage.raw()
    // Refused requests also restart the timeout.
    for (path, status) in [
      ("/api/x", "200"), ("/nowhere", "404"), ("/nowhere", "404"), ("/nowhere", "404"), ("/api/x", "200"),
    ] {
      try used.send(stage.head("GET", path))
      #expect(try used.response().head.dropFirst(9).hasPrefix(status))
      usleep(400_000)
    }
    used.setTimeout(seconds: 20)
    #expect(used.rest() == ([], .clean))
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

  @Test func `T54: client_head closes a silent connection without a response`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "limits: { client_head: 300ms }"))
    let silent = try stage.raw()
    silent.setTimeout(seconds: 20)
    #expect(silent.rest() == ([], .clean))
    let slow = try stage.raw()
    try slow.send("GET /api/x HTTP/1.1\r\nHo")
    #expect(try slow.response().head.hasPrefix("HTTP/1.1 408 "))
    // The log has the time that the connection waited, not an absolute time.
    #expect(stage.log.wait(for: .request, ["status": 408]))
    let line = try #require(stage.log.lines(of: .request, ["status": 408]).first)
    let waited = try #require(line["ms"].flatMap { Int($0) })
    #expect(waited >= 290 && waited < 60_000, "\(line)")
    #expect(stage.upstream.records.isEmpty)
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
