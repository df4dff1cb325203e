import EventLoop
import Gateway
import TestSupport
import Testing

@testable import Proxy
@testable import Transport

/// `ClientConnection` over a pair of sockets, on a worker whose loop stands still.
@Suite struct ClientConnectionTests {
  // MARK: draining

  @Test(arguments: [false, true])
  func `draining closes an idle connection`(hasServed: Bool) throws {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let client = try SocketClient(of: stage.worker)
    if hasServed {
      client.get("/elsewhere")
      #expect(client.received().hasPrefix("HTTP/1.1 404 "))
    }
    #expect(stage.worker.connectionCount == 1 && !client.connection.isClosed)
    var isDrained = false
    stage.worker.onDrained = { isDrained = true }
    stage.worker.drain()
    #expect(stage.worker.connectionCount == 0 && client.connection.isClosed && isDrained)
  }

  @Test func `draining lets the request in progress end, and closes its connection`() throws {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let client = try SocketClient(of: stage.worker)
    client.send("GET /elsewhere HTTP/1.1\r\n")
    stage.worker.drain()
    #expect(stage.worker.connectionCount == 1)
    client.send("Host: localhost:7070\r\n\r\n")
    let response = client.received()
    #expect(response.hasPrefix("HTTP/1.1 404 ") && response.contains("\r\nConnection: close\r\n"))
    stage.advance(2_000)
    #expect(client.connection.isClosed)
  }

  @Test func `a stop refuses requests that were not sent, and aborts an exchange in progress`() throws {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let (half, waiting, sent) = (
      try SocketClient(of: stage.worker), try SocketClient(of: stage.worker), try SocketClient(of: stage.worker)
    )
    half.send("GET /api/x HTTP/1.1\r\n")
    waiting.get()
    let connector = try stage.connector(of: try #require(waiting.connection.run))
    let upstream = try stage.idle()
    sent.get()
    for client in [half, waiting, sent] { client.connection.stop() }
    #expect(half.received().hasPrefix("HTTP/1.1 503 ") && waiting.received().hasPrefix("HTTP/1.1 503 "))
    #expect(connector.isFinished && upstream.connection.isClosed && sent.received().isEmpty)
    #expect(stage.records().map { $0["refused"] } == ["draining", "draining", nil])
    #expect(stage.worker.connectionCount == 0)
  }

  // MARK: reloads

  @Test func `the removal of its listener closes an idle connection`() throws {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let client = try SocketClient(of: stage.worker)
    try stage.reload(RunStage.plain())
    #expect(stage.worker.connectionCount == 1 && !client.connection.isClosed)
    try stage.reload(RunStage.plain(), listener: ListenerID(number: 1))
    #expect(stage.worker.connectionCount == 0 && client.connection.isClosed && client.received().isEmpty)
  }

  @Test func `a connection that lingers after its last response is not closed by the removal of its listener`() throws {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let client = try SocketClient(of: stage.worker)
    client.send("PUT /elsewhere HTTP/1.1\r\nHost: localhost:7070\r\nContent-Length: 100\r\n\r\nsome")
    #expect(client.received().hasPrefix("HTTP/1.1 404 ") && client.connection.state == .lingering)
    try stage.reload(RunStage.plain(), listener: ListenerID(number: 1))
    #expect(!client.connection.isClosed)
    stage.advance(2_000)
    #expect(client.connection.isClosed)
  }

  @Test func `T46: a request that is no longer allowed keeps nothing after its end`() throws {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let (client, _) = (try SocketClient(of: stage.worker), try stage.idle())
    client.get()
    weak let run = client.connection.run
    try stage.reload(RunStage.plain(name: "other"))
    #expect(run != nil)
    try client.respond("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    #expect(run == nil && !client.connection.isClosed)
  }

  @Test func `a request that has begun when its listener is removed is refused`() throws {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let client = try SocketClient(of: stage.worker)
    client.send("GET /api/x HTTP/1.1\r\n")
    try stage.reload(RunStage.plain(), listener: ListenerID(number: 1))
    #expect(client.received().hasPrefix("HTTP/1.1 503 "))
    #expect(stage.records().map { $0["refused"] } == ["listener-removed"])
  }

  @Test func `T47: an exchange that is no longer allowed is cut after revoked_grace`() throws {
    let grace = "limits: { revoked_grace: 5s }"
    for removes in ["service", "listener"] {
      let stage = try RunStage(RunStage.plain(more: grace))
      defer { stage.close() }
      let (client, upstream) = (try SocketClient(of: stage.worker), try stage.idle())
      client.get()
      if removes == "listener" {
        try stage.reload(RunStage.plain(more: grace), listener: ListenerID(number: 1))
      } else {
        try stage.reload(RunStage.plain(name: "other", more: grace))
      }
      stage.advance(4_999)
      #expect(!client.connection.isClosed && !upstream.connection.isClosed)
      stage.advance(1)
      #expect(client.connection.isClosed && upstream.connection.isClosed)
      #expect(stage.records().map { $0["aborted"] } == ["true"])
    }
  }

  // MARK: upgraded connections

  @Test func `after half of an upgraded connection has ended, the other half goes on`() throws {
    for isClient in [true, false] {
      let stage = try RunStage(RunStage.plain(", upgrades: [websocket]"))
      defer { stage.close() }
      let (client, upstream) = (try SocketClient(of: stage.worker), try stage.idle())
      client.send(
        "GET /api/x HTTP/1.1\r\nHost: localhost:7070\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
          + "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\nSec-WebSocket-Version: 13\r\n\r\n")
      try client.respond("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
      let run = try #require(client.connection.run)
      #expect(run.phase == .upgraded && client.received().hasPrefix("HTTP/1.1 101 "))
      _ = upstream.received()
      if isClient {
        client.connection.streamDidEnd(client.connection.stream)
        try client.respond("more")
        #expect(!client.connection.isReading && client.received() == "more")
      } else {
        run.connectionEnded(upstream.connection, isClean: true)
        client.send("more")
        #expect(client.connection.isReading && upstream.received() == "more")
      }
      #expect(run.phase == .upgraded)
    }
  }

  // MARK: clients that leave

  @Test(arguments: [false, true])
  func `a client that disconnects while its request waits cancels the next attempt`(isPipelining: Bool) throws {
    let stage = try RunStage(RunStage.plain(", retry: { on: [503] }"))
    defer { stage.close() }
    let (client, upstream) = (try SocketClient(of: stage.worker), try stage.idle())
    client.get()
    if isPipelining { client.get() }
    try client.respond("HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n")
    #expect(upstream.received().hasPrefix("GET /x ") && client.connection.run?.phase == .awaitingRetry)
    // bearerd does not read from the client while an unread request is buffered.
    #expect(client.connection.isReading != isPipelining)
    client.disconnect()
    if isPipelining { stage.advance(250) } else { #expect(stage.run { client.connection.isClosed }) }
    #expect(client.connection.isClosed && upstream.received().isEmpty)
    #expect(stage.records().map { $0["status"] } == ["499"])
  }
}
