import EventLoop
import TestSupport
import Testing

@testable import Proxy
@testable import Transport

/// The timeouts of a client's connection, with a virtual clock. `TimeoutTests` has those that need a real upstream or the
/// kernel.
@Suite struct ClientTimeoutTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
  private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

  /// Returns a stage, a client, and an idle connection to the upstream.
  private func make(_ service: String = "", limits: String = "") throws -> (RunStage, SocketClient, FakeUpstream) {
    let more = limits.isEmpty ? "" : "limits: { \(limits) }"
    let stage = try RunStage(RunStage.plain(service.isEmpty ? "" : ", timeouts: { \(service) }", more: more))
    return (stage, try SocketClient(of: stage.worker), try stage.idle())
  }

  private func put(_ length: Int) -> String {
    "PUT /api/x HTTP/1.1\r\nHost: localhost:7070\r\nContent-Length: \(length)\r\n\r\n"
  }

  // MARK: between requests

  @Test func `T54 client_head: a silent connection closes without a response`() throws {
    let (stage, client, _) = try make(limits: "client_head: 7s, client_idle: 9s")
    defer { stage.close() }
    stage.advance(6_999)
    #expect(!client.connection.isClosed)
    stage.advance(1)
    #expect(client.connection.isClosed && client.received().isEmpty && stage.records().isEmpty)
  }

  @Test(arguments: [false, true])
  func `T54 client_head: dripping bytes do not extend the timeout`(isSecond: Bool) throws {
    let (stage, client, _) = try make(limits: "client_head: 7s, client_idle: 9s")
    defer { stage.close() }
    if isSecond {
      client.get("/elsewhere")
      #expect(client.received().hasPrefix("HTTP/1.1 404 "))
      stage.advance(5_000)
    }
    client.send("GET /api/x HTTP/1.1\r\nX-Slow: ")
    for _ in 0..<69 {
      stage.advance(100)
      client.send("x")
    }
    #expect(client.received().isEmpty)
    stage.advance(100)
    #expect(client.received().hasPrefix("HTTP/1.1 408 "))
    let record = try #require(stage.records().last)
    // The log has the time since the first byte, not an absolute time.
    #expect(record["refused"] == "request-timeout" && record["ms"] == "7000")
  }

  @Test func `client_idle closes an idle connection, and every request restarts the timeout`() throws {
    let (stage, client, _) = try make(limits: "client_head: 7s, client_idle: 9s")
    defer { stage.close() }
    // Refused requests also restart the timeout.
    for path in ["/api/x", "/elsewhere", "/elsewhere", "/api/x"] {
      client.get(path)
      if path == "/api/x" { try client.respond(Self.ok) }
      #expect(client.received().hasPrefix(path == "/api/x" ? "HTTP/1.1 200 " : "HTTP/1.1 404 "))
      stage.advance(8_999)
      #expect(!client.connection.isClosed)
    }
    stage.advance(1)
    #expect(client.connection.isClosed && client.received().isEmpty)
  }

  // MARK: the response

  @Test func `each request of a connection has its own response_head timeout`() throws {
    let (stage, client, _) = try make("response_head: 1500ms")
    defer { stage.close() }
    for _ in 0..<4 { client.get() }
    for _ in 0..<3 {
      stage.advance(1_499)
      try client.respond(Self.ok)
      #expect(client.received().hasPrefix("HTTP/1.1 200 "))
    }
    stage.advance(1_499)
    #expect(client.received().isEmpty)
    stage.advance(1)
    #expect(client.received().hasPrefix("HTTP/1.1 504 "))
  }

  @Test func `body_silence aborts a stalled response, but not a slow response`() throws {
    let (stage, client, upstream) = try make("body_silence: 1s")
    defer { stage.close() }
    client.get()
    try client.respond(Self.chunked)
    for _ in 0..<5 {
      stage.advance(999)
      try client.respond("1\r\nx\r\n")
    }
    stage.advance(999)
    #expect(!client.connection.isClosed)
    stage.advance(1)
    #expect(client.connection.isClosed && upstream.connection.isClosed)
    #expect(stage.records().map { $0["aborted"] } == ["true"])
  }

  @Test func `the total timeout aborts an endless response, and each request has its own timeout`() throws {
    let (stage, client, upstream) = try make("total: 1500ms", limits: "client_idle: 2s")
    defer { stage.close() }
    for _ in 0..<4 {
      client.get()
      stage.advance(1_000)
      try client.respond(Self.ok)
      #expect(client.received().hasPrefix("HTTP/1.1 200 "))
    }
    // The idle time begins after the last request.
    stage.advance(1_999)
    #expect(!client.connection.isClosed)
    client.get()
    try client.respond(Self.chunked)
    for _ in 0..<14 {
      stage.advance(100)
      try client.respond("1\r\nx\r\n")
    }
    stage.advance(99)
    #expect(!client.connection.isClosed)
    stage.advance(1)
    #expect(client.connection.isClosed && upstream.connection.isClosed)
    #expect(stage.records().map { $0["aborted"] } == [nil, nil, nil, nil, "true"])
  }

  @Test func `T54: a client that does not read its last response is disconnected after client_idle`() throws {
    let (stage, client, _) = try make(limits: "client_idle: 9s, client_head: 7s")
    defer { stage.close() }
    client.get()
    try client.respond("HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n" + String(repeating: "x", count: 4_000_000))
    stage.endTurn()
    #expect(client.connection.run == nil && client.connection.stream.queuedBytes > 0)
    stage.advance(8_999)
    #expect(client.connection.state == .open)
    stage.advance(1)
    #expect(client.connection.state == .closing)
    stage.advance(7_000)
    #expect(client.connection.isClosed)
  }

  // MARK: the request's body

  @Test func `body_silence aborts a stalled request`() throws {
    let (stage, client, upstream) = try make("body_silence: 3s")
    defer { stage.close() }
    client.send(put(10))
    stage.advance(2_999)
    client.send("12345")
    stage.advance(2_999)
    #expect(client.received().isEmpty)
    stage.advance(1)
    #expect(client.received().hasPrefix("HTTP/1.1 408 ") && upstream.connection.isClosed)
  }

  @Test(arguments: [false, true], ["", "body_silence: 3s"])
  func `an upload that waits for its upstream is not the client's fault`(isHTTP2: Bool, key: String) throws {
    let service = key.isEmpty ? "" : ", timeouts: { \(key) }"
    let stage = try RunStage(
      RunStage.plain(service + (isHTTP2 ? ", protocol: http2" : ""), more: "limits: { upstream_ping: none }"))
    defer { stage.close() }
    let (client, upstream) = (try SocketClient(of: stage.worker), try stage.idle(isHTTP2: isHTTP2))
    client.send(put(5_000_000))
    // The window of an HTTP/2 upstream has 65,535 bytes at the beginning.
    client.send(String(repeating: "x", count: isHTTP2 ? 70_000 : 4_000_000))
    stage.endTurn()
    let run = try #require(client.connection.run)
    #expect(run.upstream === upstream.connection && upstream.connection.isBlocked(run))
    stage.advance(2_999)
    #expect(client.received().isEmpty && client.connection.run === run)
    // The connection of HTTP/2 writes at the end of this turn.
    for isReading in [false, true] { upstream.connection.setReading(isReading, of: run) }
    stage.advance(1)
    guard key.isEmpty else {
      #expect(client.received().hasPrefix("HTTP/1.1 504 "))
      #expect(stage.records().map { $0["refused"] } == ["upstream-timeout"])
      return
    }
    for _ in 0..<5 { stage.advance(600_000) }
    #expect(client.connection.run === run && client.received().isEmpty)
  }

  @Test func `T54 client_body_rate: a trickling body is aborted, and a slow body is not`() throws {
    for piece in [1, 2_048] {
      let (stage, client, _) = try make("body_silence: 1s", limits: "client_body_rate: 1KiB")
      defer { stage.close() }
      client.send(put(60 * piece))
      // One piece in 50 milliseconds, for three windows of one second.
      for number in 1...60 where client.connection.run != nil {
        stage.advance(50)
        client.send(String(repeating: "x", count: piece))
        #expect((client.connection.run == nil) == (piece == 1 && number == 20))
      }
      if piece > 1 { try client.respond(Self.ok) }
      #expect(client.received().hasPrefix(piece == 1 ? "HTTP/1.1 408 " : "HTTP/1.1 200 "))
    }
  }

  @Test func `T54 client_body_rate: after an early response the client may take any time`() throws {
    let (stage, client, _) = try make("body_silence: 1s", limits: "client_body_rate: 1KiB")
    defer { stage.close() }
    client.send(put(60))
    try client.respond("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    for _ in 0..<60 {
      stage.advance(50)
      client.send("x")
    }
    try client.respond("hello")
    let response = client.received()
    #expect(response.hasPrefix("HTTP/1.1 200 ") && response.hasSuffix("\r\n\r\nhello"))
  }
}
