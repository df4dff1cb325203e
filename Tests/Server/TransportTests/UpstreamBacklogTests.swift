import EventLoop
import Gateway
import Glibc
import HTTP1
import Policy
import Primitives
import ServerSupport
import TestSupport
import Testing

@testable import Transport

/// T54: input of an HTTP/2 upstream that takes long is processed on several turns of the loop.
@Suite struct UpstreamBacklogTests {
  let stage: LoopStage
  let listener: PlainListener
  let pool: UpstreamPool

  init() throws {
    stage = try LoopStage()
    listener = try PlainListener()
    pool = UpstreamPool(
      upstream: try Upstream(parsing: "http://127.0.0.1:\(listener.port)/"), context: nil, generation: 1,
      plainProtocol: .http2)
  }

  /// A run that takes long for each event.
  private final class SlowRun: UpstreamRunDelegate {
    var data: [UInt8] = []
    var events: [String] = []
    /// Called for each event.
    var onEvent: (UpstreamConnection) -> Void = { _ in }

    private func record(_ event: String?, _ connection: UpstreamConnection) {
      if let event { events.append(event) }
      usleep(100)
      onEvent(connection)
    }

    func connection(_ connection: UpstreamConnection, didReceive plaintext: Span<UInt8>) {
      data.append(contentsOf: (0..<plaintext.count).map { plaintext[$0] })
      record(nil, connection)
    }
    func connectionEnded(_ connection: UpstreamConnection, isClean: Bool) { record("ended", connection) }
    func connection(_ connection: UpstreamConnection, didFail refusal: RefusalCode, detail: String) {
      record("failed", connection)
    }
    func connectionDidDrain(_ connection: UpstreamConnection) {}
    func connection(_ connection: UpstreamConnection, didReceive message: StreamMessage, isFollowed: Bool) {
      switch message {
      case .head: record("head", connection)
      case .trailers: record("trailers", connection)
      case .end: record("end", connection)
      }
    }
    func connectionDidRefuse(_ connection: UpstreamConnection, isUnprocessed: Bool, detail: String) {
      connection.release(self)
      record("refused", connection)
    }
    func connectionDidReset(_ connection: UpstreamConnection, detail: String) { record("reset", connection) }
  }

  /// The frame with these parts (RFC 9113 section 4.1).
  private static func frame(_ type: UInt8, _ flags: UInt8, _ stream: Int, _ payload: [UInt8]) -> [UInt8] {
    [
      0, UInt8(payload.count >> 8), UInt8(payload.count & 255), type, flags, 0, 0, UInt8(stream >> 8),
      UInt8(stream & 255),
    ]
      + payload
  }
  /// HEADERS with `:status: 200`.
  private static func head(_ stream: Int) -> [UInt8] { frame(1, 4, stream, [0x88]) }
  /// A DATA frame for each byte.
  private static func data(_ bytes: [UInt8], on stream: Int = 1) -> [UInt8] {
    bytes.flatMap { frame(0, 0, stream, [$0]) }
  }
  private static let bytes = (0..<200).map { UInt8($0) }
  private static let end = frame(0, 1, 1, [])

  /// Begins runs with the streams 1, 3, 5 and so on.
  private func begin(_ count: Int) throws -> (connection: UpstreamConnection, runs: [SlowRun], peer: Int32) {
    let connection = try stage.connection(pool)
    let peer = listener.accept()
    // Nagle's algorithm would delay later bytes.
    var isOn: Int32 = 1
    setsockopt(peer, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    write(Self.frame(4, 0, 0, []), peer)
    let runs = (0..<count).map { _ in SlowRun() }
    for run in runs {
      connection.begin(run)
      var request = OutgoingRequest()
      request.begin(method: Array("GET".utf8).span, authority: Array("a.test".utf8))
      request.line.append(contentsOf: Array("/".utf8))
      try connection.streams?.send(request, of: run, body: Span(), endsBody: true)
    }
    for _ in 0..<3 { stage.loop.runOnce(waiting: true) }
    return (connection, runs, peer)
  }

  private func write(_ bytes: [UInt8], _ peer: Int32) {
    #expect(send(peer, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
  }

  /// Number of bytes that wait in the kernel.
  private func unread(_ connection: UpstreamConnection) -> Int {
    var count: Int32 = 0
    guard ioctl(connection.stream.descriptor, UInt(FIONREAD), &count) == 0 else { return -1 }
    return Int(count)
  }

  /// Sends bytes, and runs the loop until some of them have had their effect.
  private func writeAndBegin(_ bytes: [UInt8], _ peer: Int32, _ connection: UpstreamConnection) throws {
    write(bytes, peer)
    #expect(stage.run { connection.streams?.isBacklogged != false })
    try #require(connection.streams?.isBacklogged == true)
  }

  @Test func `data arrives in its order, a part on each turn, and then the connection reads again`() throws {
    let (connection, runs, peer) = try begin(2)
    write(Self.head(1) + Self.data(Self.bytes) + Self.end, peer)
    var most = 0
    for _ in 0..<10_000 where runs[0].events.last != "end" {
      let before = runs[0].data.count
      stage.loop.runOnce(waiting: false)
      most = max(most, runs[0].data.count - before)
      if runs[0].data.isEmpty { usleep(1_000) }
    }
    #expect(runs[0].data == Self.bytes && runs[0].events == ["head", "end"])
    #expect(most <= 64)
    connection.release(runs[0])
    write(Self.head(3) + Self.data([1], on: 3), peer)
    #expect(stage.run { runs[1].data == [1] })
    connection.close()
    stage.close()
  }

  @Test func `while bytes wait, no further ones are read`() throws {
    let (connection, runs, peer) = try begin(1)
    try writeAndBegin(Self.head(1) + Self.data(Self.bytes), peer, connection)
    write(Self.end, peer)
    stage.loop.runOnce(waiting: false)
    #expect(connection.streams?.isBacklogged == true)
    #expect(unread(connection) == Self.end.count)
    // An idle connection reads, but not before its backlog is processed.
    connection.release(runs[0])
    #expect(pool.idle.count == 1 && connection.streams?.isBacklogged == true)
    #expect(unread(connection) == Self.end.count)
    #expect(stage.run { unread(connection) == 0 } && connection.streams?.isBacklogged == false)
    connection.close()
    stage.close()
  }

  @Test(arguments: ["ended", "failed"])
  func `the end of the connection and a violation come after the bytes before them`(ending: String) throws {
    let (connection, runs, peer) = try begin(1)
    // DATA on stream 0 is a violation.
    let last = ending == "failed" ? Self.frame(0, 0, 0, [0]) : []
    try writeAndBegin(Self.head(1) + Self.data(Self.bytes) + last, peer, connection)
    if ending == "ended" { shutdown(peer, Int32(SHUT_WR)) }
    #expect(stage.run { runs[0].events.last == ending })
    #expect(runs[0].data == Self.bytes && runs[0].events == ["head", ending])
    connection.close()
    stage.close()
  }

  @Test(arguments: [false, true])
  func `bytes that wait are dropped when the connection is closed`(byRun: Bool) throws {
    let (connection, runs, peer) = try begin(1)
    if byRun { runs[0].onEvent = { [run = runs[0]] in if run.data.count == 100 { $0.close() } } }
    try writeAndBegin(Self.head(1) + Self.data(Self.bytes), peer, connection)
    weak let streams = connection.streams
    let received = byRun ? 100 : runs[0].data.count
    #expect(received > 0 && received < Self.bytes.count)
    if !byRun { connection.close() }
    for _ in 0..<5 { stage.loop.runOnce(waiting: true) }
    #expect(runs[0].data.count == received && streams == nil && connection.isClosed)
    stage.close()
  }

  @Test func `a connection with bytes that wait is not silent`() throws {
    let (connection, runs, peer) = try begin(1)
    try writeAndBegin(Self.head(1) + Self.data(Self.bytes), peer, connection)
    for _ in 0..<4 { #expect(connection.streams?.check() != nil) }
    #expect(stage.run { runs[0].data == Self.bytes })
    connection.close()
    stage.close()
  }

  @Test func `large heads that come one after the other are not counted together`() throws {
    let (connection, runs, peer) = try begin(40)
    // Each of 48 KiB: 1,000 fields with "accept-encoding: gzip, deflate" (RFC 7541 appendix A).
    let block = [0x88] + [UInt8](repeating: 0x90, count: 1_000)
    let heads = (0..<40).flatMap { Self.frame(1, 5, 2 * $0 + 1, block) }
    for run in runs { run.onEvent = { _ in usleep(2_000) } }
    write(heads, peer)
    #expect(stage.run { runs[39].events.last == "end" || connection.isClosed })
    #expect(runs.allSatisfy { $0.events == ["head", "end"] })
    connection.close()
    stage.close()
  }

  @Test func `a stream that is paused does not hold up the others`() throws {
    let (connection, runs, peer) = try begin(2)
    connection.setReading(false, of: runs[0])
    write(Self.head(1) + Self.head(3) + Self.data(Self.bytes) + Self.data(Self.bytes, on: 3), peer)
    #expect(stage.run { runs[1].data == Self.bytes } && runs[0].data == Self.bytes)
    connection.close()
    stage.close()
  }

  @Test func `GOAWAY refuses many requests on several turns, before what follows it`() throws {
    let (connection, runs, peer) = try begin(90)
    let goAway = Self.frame(7, 0, 0, [0, 0, 0, 1, 0, 0, 0, 0])
    try writeAndBegin(Self.head(1) + goAway + Self.data(Self.bytes) + Self.end, peer, connection)
    #expect(stage.run { runs.contains { $0.events == ["refused"] } })
    #expect(runs.count { $0.events == ["refused"] } < 89 && runs[0].data.isEmpty)
    #expect(!connection.hasRoom)
    #expect(stage.run { runs[0].events.last == "end" })
    #expect(runs.dropFirst().allSatisfy { $0.events == ["refused"] } && runs[0].data == Self.bytes)
    connection.release(runs[0])
    #expect(connection.isClosed)
    stage.close()
  }

  @Test(arguments: ["failed", "ended"])
  func `many requests hear on several turns that their connection has failed or ended`(event: String) throws {
    let (connection, runs, peer) = try begin(90)
    if event == "failed" { listener.reset(peer) } else { shutdown(peer, Int32(SHUT_WR)) }
    #expect(stage.run { !runs[0].events.isEmpty })
    // Ends before its turn.
    let ended = try #require(runs.last { $0.events.isEmpty })
    connection.cancel(ended, isCut: true)
    #expect(stage.run { runs.count { $0.events == [event] } == 89 })
    stage.loop.runOnce(waiting: true)
    #expect(ended.events.isEmpty && runs.allSatisfy { $0.events.count <= 1 })
    connection.close()
    stage.close()
  }
}
