import EventLoop
import Foundation
import Gateway
import HTTP2
import HTTP1
import ServerSupport
import StatusModel
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

    /// - Parameter window: how many bytes of each response bearerd may send before `openWindow`.
    init(of stage: RunStage, window: Int) throws {
      self.stage = stage
      socket = try SocketClient(of: stage.worker)
      session = try HTTP2Session(.client)
      var bytes: [UInt8] = []
      try session.send { bytes += $0 }
      // The first setting is the window. `session` does not know this value, so that it accepts what `openWindow` allows.
      bytes.replaceSubrange(35..<39, with: [24, 16, 8, 0].map { UInt8(window >> $0 & 0xFF) })
      socket.send(bytes)
    }

    /// Lets bearerd send more of a response.
    func openWindow(of stream: Int32, by count: Int) {
      socket.send([0, 0, 4, 8, 0, 0, 0, 0, UInt8(stream), 0] + [16, 8, 0].map { UInt8(count >> $0 & 0xFF) })
    }

    var connection: ClientConnection { socket.connection }
    var run: RequestRun? { connection.streams?.runs.first }

    func get(
      _ path: String = "/api/x", method: String = "GET", more: [(String, String)] = [], endsStream: Bool = true
    ) throws -> Int32 {
      var bytes: [UInt8] = []
      let start = [(":method", method), (":scheme", "http"), (":authority", "localhost:7070"), (":path", path)]
      let fields = start + more
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
          case .trailers, .refused, .drained, .settings, .pong: break
          }
        }
        try flush()
      }
    }
  }

  private func withClient(
    _ configuration: String = RunStage.plain(), window: Int = 262_144, _ body: (Client, RunStage) throws -> Void
  ) throws {
    let stage = try RunStage(configuration)
    defer { stage.close() }
    try body(try Client(of: stage, window: window), stage)
  }

  /// Sends requests whose responses have long heads, until bearerd reads no more. Returns their number.
  private func fill(_ client: Client, _ stage: RunStage) throws -> Int {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Long: \(String(repeating: "x", count: 50_000))\r\n\r\n"
    for count in 1...40 {
      _ = try stage.idle()
      _ = try client.get(method: "HEAD")
      stage.endTurn()
      try client.run?.receive(head)
      stage.endTurn()
      stage.worker.loop.runOnce(waiting: false)
      if !client.connection.isReading { return count }
    }
    return 0
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

  @Test func `a slow reader gets its response, as long as it reads`() throws {
    try withClient(RunStage.plain(", timeouts: { body_silence: 5s }"), window: 0) { client, stage in
      _ = try stage.idle()
      let stream = try client.get()
      let body = String(repeating: "x", count: 10_000)
      try client.run?.receive("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n\(body)")
      for _ in 0..<6 {
        stage.advance(4_000)
        client.openWindow(of: stream, by: 1_000)
        try client.receive()
      }
      #expect(client.run == nil && client.bytes[stream] == 6_000 && client.failures.isEmpty)
      stage.advance(5_000)
      stage.advance(5_000)
      try client.receive()
      #expect(client.failures[stream] == .cancel && client.connection.streams?.isEmpty == true)
    }
  }

  @Test(arguments: ["", ", upgraded: 7s"])
  func `the slow reader of a gRPC call has the time limit of the call, also at its end`(key: String) throws {
    let service = ", protocol: http2, timeouts: { body_silence: 5s\(key) }"
    try withClient(RunStage.plain(service), window: 3) { client, stage in
      let upstream = try stage.idle(isHTTP2: true)
      let stream = try client.get(method: "POST", more: [("content-type", "application/grpc")])
      let run = try #require(client.run)
      func receive(_ fields: (String, String)...) -> HeaderBlock {
        var block = HeaderBlock()
        for (name, value) in fields { block.append(name: name.utf8.span, value: value.utf8.span) }
        return block
      }
      run.connection(
        upstream.connection, didReceive: .head(receive((":status", "200"), ("content-type", "application/grpc"))),
        isFollowed: false)
      run.connection(upstream.connection, didReceive: [0, 0, 0, 0, 2, 104, 105].span)
      try client.receive()
      #expect(client.heads[stream] == 200 && client.bytes[stream] == 3)
      stage.advance(key.isEmpty ? 10_000_000 : 6_999)
      #expect(client.run === run)
      run.connection(upstream.connection, didReceive: .trailers(receive(("grpc-status", "0"))), isFollowed: true)
      run.connection(upstream.connection, didReceive: .end, isFollowed: false)
      try client.receive()
      #expect(client.run == nil && client.ended.isEmpty)
      stage.advance(key.isEmpty ? 10_000_000 : 6_999)
      try client.receive()
      #expect(client.failures.isEmpty && client.connection.streams?.isEmpty == false)
      if key.isEmpty {
        client.openWindow(of: stream, by: 10)
      } else {
        stage.advance(1)
      }
      try client.receive()
      stage.endTurn()
      #expect(client.connection.streams?.isEmpty == true)
      #expect(key.isEmpty ? client.ended == [stream] : client.failures[stream] == .cancel)
      #expect(client.bytes[stream] == (key.isEmpty ? 7 : 3))
    }
  }

  @Test func `the timeout of a request does not end a complete response`() throws {
    try withClient(RunStage.plain(", timeouts: { total: 5s }"), window: 0) { client, stage in
      _ = try stage.idle()
      let stream = try client.get()
      try client.run?.receive("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
      stage.advance(100_000)
      client.openWindow(of: stream, by: 5)
      try client.receive()
      #expect(client.bytes[stream] == 5 && client.ended == [stream])
    }
  }

  @Test func `a header block that does not end ends the connection after client_head`() throws {
    try withClient { client, stage in
      _ = try stage.idle()
      _ = try client.get()
      try client.receive()
      // HEADERS without END_HEADERS.
      client.socket.send([0, 0, 1, 1, 1, 0, 0, 0, 3, 0x82])
      stage.advance(29_999)
      #expect(client.connection.state == .open)
      stage.advance(1)
      try client.receive()
      #expect(client.goAway == .noError && client.connection.state == .lingering)
      #expect(stage.records().map { $0["status"] } == ["499"])
      #expect(stage.lines(of: .http2Ended).map { $0["code"] } == ["NO_ERROR"])
    }
  }

  @Test func `a request fails at once if an interim head cannot be sent`() throws {
    try withClient { client, stage in
      _ = try stage.idle()
      let stream = try client.get()
      try client.receive()
      // A head without an empty line.
      let text = [UInt8]("HTTP/1.1 103 \r\nlink: </a>\r\n".utf8)
      try #require(client.run).client.sendHeads(text.span)
      try client.receive()
      #expect(client.run == nil && client.failures[stream] == .internalError)
      #expect(client.connection.streams?.isEmpty == true && client.connection.state == .open)
      #expect(stage.records().map { $0["status"] } == ["499"])
    }
  }

  // MARK: refused heads

  @Test func `T58: a head that nghttp2 refuses is recorded once, and gets no response`() throws {
    try withClient { client, stage in
      let bad = try client.get(more: [("Upper", "1")])
      let good = try client.get("/elsewhere")
      try client.receive()
      #expect(client.failures[bad] == .protocolError && client.heads[bad] == nil && client.heads[good] == 404)
      #expect(client.connection.streams?.isEmpty == true && client.connection.state == .open)
      #expect(stage.records().map { $0["reason"] } == ["badFieldName", nil])
    }
  }

  @Test func `T54: heads of a caller that is not admitted fill neither the log nor the connection`() throws {
    let configuration = RunStage.plain().replacingOccurrences(of: "[\(getuid())]", with: "[\(getuid() + 1)]")
    let stage = try RunStage(configuration)
    defer { stage.close() }
    for _ in 0..<200 {
      let client = try Client(of: stage, window: 262_144)
      _ = try client.get(more: [("Upper", "1")])
      try client.receive()
      #expect(client.goAway == .noError && client.connection.state == .lingering)
    }
    #expect((1...100).contains(stage.records().count))
  }

  // MARK: windows

  @Test func `the end of a response may wait for the window`() throws {
    try withClient(window: 5) { client, stage in
      _ = try stage.idle()
      let stream = try client.get()
      try client.run?.receive("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
      try client.receive()
      try client.run?.receive("0\r\nX-Sum: 1\r\n\r\n")
      try client.receive()
      #expect(client.run == nil && client.bytes[stream] == 5 && client.ended.isEmpty)
      client.openWindow(of: stream, by: 1)
      try client.receive()
      stage.endTurn()
      #expect(client.ended == [stream] && client.connection.streams?.isEmpty == true)
    }
  }

  @Test func `an early response does not stop the upload`() throws {
    try withClient(window: 0) { client, stage in
      _ = try stage.idle()
      let stream = try client.get(method: "POST", endsStream: false)
      try client.receive()
      let window = client.session.sendWindow(of: stream)
      let data = [UInt8](repeating: 1, count: 10_000)
      client.session.write(data.span, on: stream)
      try client.flush()
      try client.run?.receive("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
      #expect(client.run == nil)
      for _ in 0..<20 {
        client.session.write(data.span, on: stream)
        try client.flush()
        try client.receive()
      }
      #expect(client.session.sendWindow(of: stream) > window / 2 && client.session.queuedBytes(of: stream) == 0)
    }
  }

  // MARK: bounds

  @Test func `T54: a client that does not read its responses cannot send more requests`() throws {
    try withClient { client, stage in
      try client.receive()
      let count = try fill(client, stage)
      #expect(count > 0)
      stage.worker.loop.runOnce(waiting: false)
      stage.endTurn()
      #expect(!client.connection.isReading && client.connection.stream.queuedBytes < 500_000)
      for _ in 0..<50 where client.ended.count < count {
        stage.worker.loop.runOnce(waiting: false)
        try client.receive()
      }
      #expect(client.ended.count == count && client.connection.isReading)
    }
  }

  @Test func `T54: a request counts until its response has left`() throws {
    try withClient(RunStage.plain(more: "limits: { requests_per_user: 1 }"), window: 0) { client, stage in
      _ = try stage.idle()
      let first = try client.get()
      try client.run?.receive("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
      try client.receive()
      #expect(client.run == nil && client.connection.quota.requestsInProgress == 1)
      let second = try client.get()
      try client.receive()
      #expect(client.heads[second] == 429)
      client.openWindow(of: first, by: 5)
      try client.receive()
      #expect(client.ended == [first] && client.connection.quota.requestsInProgress == 0)
    }
  }

  @Test func `T54: one turn begins at most 64 requests of a connection`() throws {
    try withClient { client, stage in
      // The client learns how many streams it may open.
      try client.receive()
      let heads = (0..<200).map { try? client.get("/elsewhere", more: $0 % 2 == 0 ? [] : [("Upper", "1")]) }
      #expect(heads.count == 200 && !client.connection.isReading)
      #expect((1...64).contains(stage.records().count))
      try client.receive()
      #expect((1...64).contains(client.ended.count + client.failures.count))
      // On a slow machine, the last turn may have no time left to read again.
      for _ in 0..<200 where client.ended.count + client.failures.count < 200 || !client.connection.isReading {
        stage.worker.loop.runOnce(waiting: false)
        try client.receive()
      }
      #expect(client.ended.count == 100 && client.failures.count == 100 && client.connection.isReading)
      #expect(stage.records().count == 200)
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

  @Test(arguments: [1, 90])
  func `T54: a caller that is not admitted gets one response, and its other requests are not decoded`(count: Int) throws
  {
    let configuration = RunStage.plain(more: "limits: { head: 4KiB, target: 2KiB }")
      .replacingOccurrences(of: "[\(getuid())]", with: "[\(getuid() + 1)]")
    for fields in [[], [("x-long", String(repeating: "x", count: 5_000))]] {
      // The response does not fit into the window.
      for window in [0, 262_144] {
        try withClient(configuration, window: window) { client, stage in
          let first = try client.get(more: fields)
          var bytes: [UInt8] = []
          for _ in 1..<count {
            let fields = [
              (":method", "GET"), (":scheme", "http"), (":authority", "localhost:7070"), (":path", "/api/x"),
            ]
            _ = try withHTTP2Fields(fields) { fields throws(HTTP2Error) in
              try client.session.sendRequest(fields, endsStream: true) { bytes += $0 }
            }
          }
          client.socket.send(bytes)
          try client.receive()
          #expect(client.heads == [first: 403] && client.goAway == .noError)
          #expect(client.connection.state == .lingering && client.connection.streams == nil)
          #expect(stage.records().map { $0["refused"] } == ["caller-not-allowed"])
        }
      }
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
      #expect(stage.lines(of: .http2Ended).count == 1)
      try client.run?.receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      try client.receive()
      #expect(client.ended == [stream] && client.connection.state == .lingering)
    }
  }

  @Test func `draining sends all responses first, also if the socket is full`() throws {
    try withClient { client, stage in
      try client.receive()
      let count = try fill(client, stage)
      stage.worker.drain()
      for _ in 0..<50 where client.connection.state == .open {
        stage.worker.loop.runOnce(waiting: false)
        try client.receive()
      }
      try client.receive()
      #expect(count > 0 && client.ended.count == count && client.goAway == .noError)
    }
  }

  @Test func `a client that closes its side gets the response that has ended`() throws {
    try withClient { client, stage in
      _ = try stage.idle()
      let stream = try client.get()
      try client.run?.receive("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
      client.connection.streamDidEnd(client.connection.stream)
      try client.receive()
      #expect(client.ended == [stream] && client.bytes[stream] == 5)
      #expect(stage.records().map { $0["status"] } == ["200"])
    }
  }

  @Test func `T54: the connection of a user that a reload excludes ends after the next response`() throws {
    try withClient { client, stage in
      _ = try client.get("/elsewhere")
      try client.receive()
      try stage.reload(RunStage.plain().replacingOccurrences(of: "[\(getuid())]", with: "[\(getuid() + 1)]"))
      let stream = try client.get()
      try client.receive()
      #expect(client.heads[stream] == 403 && client.goAway == .noError)
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
