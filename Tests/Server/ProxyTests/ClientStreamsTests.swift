import EventLoop
import Foundation
import Gateway
import HTTP2
import HTTP1
import ServerSupport
import TestSupport
import Testing

@testable import Proxy
@testable import Transport

/// `ClientStreams` over a pair of sockets, on a worker whose loop stands still.
@Suite struct ClientStreamsTests {
  /// A client that speaks HTTP/2 to a worker.
  private final class Client {
    let stage: RunStage
    let socket: SocketClient
    let session: HTTP2Session
    private(set) var heads: [Int32: Int] = [:]
    private(set) var ended: Set<Int32> = []
    private(set) var bytes: [Int32: Int] = [:]
    private(set) var failures: [Int32: HTTP2Code] = [:]
    private(set) var goAway: HTTP2Code?

    init(of stage: RunStage) throws {
      self.stage = stage
      socket = try SocketClient(of: stage.worker)
      session = try HTTP2Session(.client)
      try flush()
    }

    var connection: ClientConnection { socket.connection }
    var run: RequestRun? { connection.streams?.runs.first }

    func get(_ path: String = "/api/x", method: String = "GET", endsStream: Bool = true) throws -> Int32 {
      var bytes: [UInt8] = []
      let fields = [(":method", method), (":scheme", "http"), (":authority", "localhost:7070"), (":path", path)]
      let stream = try withHTTP2Fields(fields) { fields throws(HTTP2Error) in
        try session.sendRequest(fields, endsStream: endsStream) { bytes += $0 }
      }
      socket.send(bytes)
      return stream
    }

    func flush() throws {
      var bytes: [UInt8] = []
      try session.send { bytes += $0 }
      if !bytes.isEmpty { socket.send(bytes) }
    }

    /// Ends the turn of the worker's loop, and receives what it has sent.
    func receive() throws {
      stage.endTurn()
      while case let bytes = socket.receivedBytes(), !bytes.isEmpty {
        try session.receive(bytes.span)
        while let event = session.nextEvent() {
          switch event {
          case .head(let stream, let block):
            heads[stream] = Int(String(decoding: block.bytes[block.lines[0].value], as: UTF8.self))
          case .data(let stream, let range): self.bytes[stream, default: 0] += range.count
          case .end(let stream): ended.insert(stream)
          case .failed(let stream, let code, _): failures[stream] = code
          case .goAway(_, let code): goAway = code
          case .trailers, .drained, .settings, .pong: break
          }
        }
        try flush()
      }
    }
  }

  private func withClient(_ configuration: String = RunStage.plain(), _ body: (Client, RunStage) throws -> Void) throws
  {
    let stage = try RunStage(configuration)
    defer { stage.close() }
    try body(try Client(of: stage), stage)
  }

  // MARK: time

  @Test func `a connection without a stream ends after client_head`() throws {
    try withClient { client, stage in
      try client.receive()
      stage.advance(29_999)
      #expect(client.connection.state == .open)
      stage.advance(1)
      try client.receive()
      #expect(client.goAway == .noError && client.connection.state == .lingering)
      stage.advance(2_000)
      #expect(client.connection.isClosed)
    }
  }

  @Test func `an idle connection ends after client_idle, also if the client sends PING frames`() throws {
    try withClient { client, stage in
      let stream = try client.get("/elsewhere")
      try client.receive()
      #expect(client.heads[stream] == 404 && client.ended == [stream])
      stage.advance(400_000)
      client.session.ping()
      try client.flush()
      stage.advance(199_999)
      #expect(client.connection.state == .open)
      stage.advance(1)
      try client.receive()
      #expect(client.goAway == .noError)
    }
  }

  @Test func `a connection with a request in progress does not become idle`() throws {
    try withClient(RunStage.plain(", timeouts: { response_head: none }")) { client, stage in
      _ = try stage.idle()
      _ = try client.get()
      stage.advance(10_000_000)
      try client.receive()
      #expect(client.goAway == nil && client.run != nil)
      try client.run?.receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      try client.receive()
      #expect(client.ended.count == 1)
    }
  }

  @Test func `a silent body is refused, and its stream is reset after the response`() throws {
    try withClient(RunStage.plain(", timeouts: { body_silence: 5s }")) { client, stage in
      _ = try stage.idle()
      let stream = try client.get(method: "POST", endsStream: false)
      try client.receive()
      stage.advance(5_000)
      try client.receive()
      #expect(client.heads[stream] == 408 && client.ended == [stream])
      #expect(client.connection.streams?.isEmpty == true)
      #expect(stage.records().map { $0["status"] } == ["408"])
    }
  }

  @Test func `a response that the client does not read is reset`() throws {
    try withClient(RunStage.plain(", timeouts: { body_silence: 5s }")) { client, stage in
      _ = try stage.idle()
      let stream = try client.get()
      let body = String(repeating: "x", count: 300_000)
      // The window of the client has 256 KiB, and this client does not open it.
      try client.run?.receive("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n\(body)")
      for _ in 0..<50 where client.bytes[stream] != 262_144 {
        stage.worker.loop.runOnce(waiting: false)
        try client.receive()
      }
      #expect(client.run == nil && client.heads[stream] == 200 && client.bytes[stream] == 262_144)
      stage.advance(5_000)
      try client.receive()
      #expect(client.failures[stream] == .cancel && client.connection.streams?.isEmpty == true)
    }
  }

  // MARK: bounds

  @Test func `T54: one turn begins at most 64 requests of a connection`() throws {
    try withClient { client, stage in
      // The client learns how many streams it may open.
      try client.receive()
      let heads = (0..<200).map { _ in try? client.get("/elsewhere") }
      #expect(heads.count == 200 && !client.connection.isReading)
      try client.receive()
      #expect((1...64).contains(client.ended.count))
      for _ in 0..<200 where client.ended.count < 200 {
        stage.worker.loop.runOnce(waiting: false)
        try client.receive()
      }
      #expect(client.ended.count == 200 && client.connection.isReading)
    }
  }

  @Test func `T54: the connection of a caller that is not admitted ends after its first response`() throws {
    let configuration = RunStage.plain().replacingOccurrences(of: "[\(getuid())]", with: "[\(getuid() + 1)]")
    try withClient(configuration) { client, stage in
      let stream = try client.get()
      try client.receive()
      #expect(client.heads[stream] == 403 && client.ended == [stream] && client.goAway == .noError)
      #expect(client.connection.state == .lingering)
    }
  }

  // MARK: the end

  @Test func `draining ends an idle connection, and lets a request in progress end`() throws {
    try withClient { client, stage in
      _ = try stage.idle()
      let stream = try client.get()
      stage.worker.drain()
      try client.receive()
      #expect(client.goAway == .noError && client.run != nil)
      try client.run?.receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      try client.receive()
      #expect(client.ended == [stream] && client.connection.state == .lingering)
    }
  }

  @Test func `a stop refuses requests that were not sent`() throws {
    try withClient { client, stage in
      let stream = try client.get()
      client.connection.stop()
      try client.receive()
      #expect(client.heads[stream] == 503 && stage.records().map { $0["refused"] } == ["draining"])
      #expect(stage.worker.connectionCount == 0)
    }
  }

  @Test func `T47: a request that is no longer allowed is cut, and the connection goes on`() throws {
    try withClient(RunStage.plain(more: "limits: { revoked_grace: 5s }")) { client, stage in
      _ = try stage.idle()
      let stream = try client.get()
      try stage.reload(RunStage.plain(name: "other", more: "limits: { revoked_grace: 5s }"))
      stage.advance(5_000)
      try client.receive()
      #expect(client.failures[stream] == .internalError && client.connection.state == .open)
      #expect(stage.records().map { $0["aborted"] } == ["true"])
    }
  }

  @Test func `T46: a stream keeps nothing after its end`() throws {
    try withClient { client, stage in
      _ = try stage.idle()
      _ = try client.get()
      weak let run = client.run
      #expect(run != nil)
      try client.run?.receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      try client.receive()
      #expect(run == nil)
    }
  }

  @Test func `nothing is left of a connection that was closed`() throws {
    try withClient { client, stage in
      _ = try stage.idle()
      _ = try client.get()
      weak let streams = client.connection.streams
      client.connection.close(reset: true)
      stage.endTurn()
      #expect(streams == nil && stage.worker.connectionCount == 0)
      #expect(stage.records().map { $0["status"] } == ["499"])
    }
  }
}
