import Gateway
import Glibc
import Policy
import Primitives
import ServerSupport
import TestSupport
import Testing

@testable import Transport

/// The runs of one upstream connection. HTTP/1 has one run at a time, and other protocols can have several.
@Suite struct UpstreamRunTests {
  let stage: LoopStage
  let listener: PlainListener
  let pool: UpstreamPool
  let first = TestRun()
  let second = TestRun()

  init() throws {
    stage = try LoopStage()
    listener = try PlainListener()
    pool = try stage.pool("http://127.0.0.1:\(listener.port)/")
  }

  /// Returns a connection with two runs.
  private func shared() throws -> UpstreamConnection {
    let connection = try stage.connection(pool)
    connection.limitRuns(to: 2)
    connection.begin(first)
    #expect(pool.acquire(at: 0) === connection)
    connection.begin(second)
    return connection
  }

  @Test func `an HTTP/1 connection in use takes no further run, and an interrupted run closes it`() throws {
    let connection = try stage.connection(pool)
    connection.begin(first)
    #expect(pool.acquire(at: 0) == nil && pool.idle.isEmpty && pool.connectionCount == 1)
    let peer = listener.accept()
    #expect(send(peer, "200", 3, Int32(MSG_NOSIGNAL)) == 3)
    #expect(stage.run { first.received == "200" })
    connection.cancel(first, isCut: false)
    #expect(connection.isClosed && first.events.isEmpty && pool.connectionCount == 0)
    stage.close()
  }

  @Test func `a connection with room stays available while it has runs`() throws {
    let connection = try shared()
    #expect(pool.acquire(at: 0) == nil && pool.idle.isEmpty)
    connection.release(first)
    #expect(pool.acquire(at: 0) === connection && pool.idle.isEmpty)
    connection.release(second)
    #expect(pool.idle.count == 1 && pool.acquire(at: 0) === connection)
    connection.close()
    stage.close()
  }

  @Test func `an interrupted run does not end the other run of its connection`() throws {
    let connection = try shared()
    connection.cancel(first, isCut: true)
    connection.cancel(first, isCut: true)
    #expect(!connection.isClosed && first.events.isEmpty && second.events.isEmpty)
    let peer = listener.accept()
    #expect(send(peer, "x", 1, Int32(MSG_NOSIGNAL)) == 1)
    #expect(stage.run { second.received == "x" } && first.received.isEmpty)
    connection.close()
    stage.close()
  }

  @Test func `a connection that refuses further runs closes after its last run`() throws {
    let connection = try shared()
    connection.refuseRuns()
    connection.release(first)
    #expect(pool.acquire(at: 0) == nil && !connection.isClosed)
    connection.release(second)
    #expect(connection.isClosed && pool.connectionCount == 0)
    stage.close()
  }

  @Test func `T46: an invalidated connection takes no further run and closes after its last run`() throws {
    let connection = try shared()
    pool.invalidate()
    connection.release(first)
    #expect(pool.acquire(at: 0) == nil && !connection.isClosed)
    connection.release(second)
    #expect(connection.isClosed && pool.connectionCount == 0)
    stage.close()
  }

  @Test func `every run hears of the end of its connection, unless it has ended before`() throws {
    for endsSecond in [false, true] {
      let connection = try shared()
      if endsSecond { first.onEnd = { [second] in $0.release(second) } }
      shutdown(listener.accept(), Int32(SHUT_WR))
      #expect(stage.run { !first.events.isEmpty })
      #expect(first.events == ["ended"] && second.events == (endsSecond ? [] : ["ended"]))
      #expect(pool.acquire(at: 0) == nil)
      connection.close()
      (first.events, second.events) = ([], [])
    }
    stage.close()
  }

  @Test func `every run hears of the failure of its connection`() throws {
    let connection = try shared()
    listener.reset(listener.accept())
    #expect(stage.run { !second.events.isEmpty })
    #expect(
      first.events == ["failed"] && second.events == ["failed"] && connection.isClosed && pool.connectionCount == 0)
    stage.close()
  }

  @Test func `trailers that HTTP/2 cannot carry fail their request in words, after the event that sends them`() throws {
    let connection = try stage.connection(pool)
    let streams = try UpstreamStreams(of: connection)
    streams.begin(first, on: 1)
    streams.begin(second, on: 3)
    var trailers = ByteBuffer()
    trailers.append(contentsOf: Array("X-Sum\r\n".utf8))
    streams.end(first, trailers: trailers)
    #expect(first.events.isEmpty)
    #expect(stage.run { !first.events.isEmpty } && first.events == ["failed"] && first.detail.contains("trailers"))
    #expect(second.events.isEmpty)
    for run in [first, second] { streams.close(run) }
    connection.close()
    stage.close()
  }

  @Test func `T26: a connection that receives bytes after its last run is not reused`() throws {
    let connection = try shared()
    for run in [first, second] { connection.release(run) }
    let peer = listener.accept()
    #expect(send(peer, "x", 1, Int32(MSG_NOSIGNAL)) == 1)
    #expect(stage.run { connection.isClosed } && pool.idle.isEmpty)
    stage.close()
  }

  @Test func `T25: a connection that is dedicated to a client's login is never kept in its pool`() throws {
    let connection = try stage.connection(pool)
    connection.limitRuns(to: 2)
    connection.begin(first)
    connection.dedicate()
    #expect(pool.acquire(at: 0) == nil)
    connection.release(first)
    #expect(connection.isClosed && pool.idle.isEmpty)
    stage.close()
  }

  @Test func `a parked connection closes when it receives bytes`() throws {
    let connection = try stage.connection(pool)
    connection.begin(first)
    connection.dedicate()
    let dedicated = try #require(DedicatedUpstream(connection, after: first, of: Caller(uid: 1)))
    let peer = listener.accept()
    #expect(send(peer, "x", 1, Int32(MSG_NOSIGNAL)) == 1)
    #expect(stage.run { connection.isClosed } && first.received.isEmpty)
    #expect(dedicated.acquire(for: pool, Caller(uid: 1), at: 0) == nil)
    stage.close()
  }
}
