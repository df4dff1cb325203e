import EventLoop
import Gateway
import Glibc
import Policy
import ServerSupport
import TestSupport
import Testing

@testable import Transport

@Suite struct ConnectorTests {
  @Test(arguments: [
    ([], []), (["4a"], ["4a"]), (["6a", "4a"], ["6a", "4a"]), (["4a", "4b", "6a"], ["4a", "6a", "4b"]),
    (["6a", "6b", "4a", "4b"], ["6a", "4a", "6b", "4b"]), (["4a", "4b", "4c", "6a"], ["4a", "6a", "4b", "4c"]),
    (["6a", "6b", "6c"], ["6a", "6b", "6c"]),
  ])
  func `the address families alternate, beginning with the resolver's first address`(
    _ names: [String], _ order: [String]
  ) {
    func address(_ name: String) -> SocketAddress {
      let last = name.utf8.last ?? 0
      return SocketAddress(ip: [UInt8](repeating: last, count: name.hasPrefix("4") ? 4 : 16), port: 443)
    }
    #expect(Connector.interleave(names.map(address)) == order.map(address))
  }

  @Test func `a closed port leads to connection-refused`() throws {
    let stage = try LoopStage()
    defer { stage.close() }
    let port = try PlainListener().port
    let pool = try stage.pool("http://127.0.0.1:\(port)/")
    #expect(stage.connect(pool).refusal == .connectionRefused)
    #expect(pool.connectionCount == 0)
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func `with a server name, bearerd connects to the host in the URL`(host: String) throws {
    let stage = try LoopStage()
    defer { stage.close() }
    let port = try PlainListener().port
    let open = try PlainListener()
    for (port, isOpen) in [(open.port, true), (port, false)] {
      var upstream = try Upstream(parsing: "https://\(host):\(port)/")
      upstream.setServerName(.name("name.invalid"))
      // Without TLS, the connection is ready as soon as it is open.
      let pool = UpstreamPool(upstream: upstream, context: nil, generation: 1)
      switch stage.connect(pool) {
      case .success(let connection)?:
        #expect(isOpen)
        connection.close()
      case .failure(let failure)?:
        #expect(!isOpen && failure.refusal.code == .connectionRefused)
        #expect(failure.detail.hasPrefix("at \(host):\(port): "))
      case nil: Issue.record("no outcome")
      }
    }
  }

  @Test func `an unanswered connection attempt ends with the connect timeout`() throws {
    let stage = try LoopStage()
    defer { stage.close() }
    let hole = try BlackHole()
    var timeouts = Timeouts()
    timeouts.connect = 60
    let pool = try stage.pool("http://127.0.0.1:\(hole.port)/")
    let began = stage.loop.now
    #expect(stage.connect(pool, timeouts: timeouts).refusal == .connectionTimeout)
    #expect(stage.loop.now - began >= 60)
  }

  @Test func `a cancelled connector does not call back and leaves nothing open`() throws {
    let stage = try LoopStage()
    defer { stage.close() }
    let hole = try BlackHole()
    let pool = try stage.pool("http://127.0.0.1:\(hole.port)/")
    var isTold = false
    let connector = Connector(
      pool: pool, timeouts: Timeouts(), tally: ServiceTally(name: "api"), context: stage.context
    ) { _ in isTold = true }
    connector.start()
    stage.loop.runOnce(waiting: true)
    connector.cancel()
    for _ in 0..<5 { stage.loop.runOnce(waiting: true) }
    #expect(!isTold && pool.connectionCount == 0)
  }
}

@Suite struct UpstreamPoolTests {
  let stage: LoopStage
  let listener: PlainListener
  let pool: UpstreamPool
  let run = TestRun()

  init() throws {
    stage = try LoopStage()
    listener = try PlainListener()
    pool = try stage.pool("http://127.0.0.1:\(listener.port)/")
  }

  @Test func `the connection that was released last serves the next request`() throws {
    let (first, second) = (try stage.connection(pool), try stage.connection(pool))
    #expect(pool.connectionCount == 2 && pool.idle.isEmpty)
    for connection in [first, second] {
      connection.begin(run)
      connection.release(run)
    }
    #expect(pool.idle.count == 2)
    #expect(pool.acquire(at: 0) === second)
    #expect(pool.acquire(at: 0) === first)
    #expect(pool.acquire(at: 0) == nil)
    first.close()
    second.close()
    #expect(pool.connectionCount == 0)
    stage.close()
  }

  @Test func `an idle connection is closed after the idle timeout`() throws {
    stage.context.limitIdleConnections(to: 1, time: 20)
    try stage.connection(pool).keep()
    #expect(pool.idle.count == 1)
    #expect(stage.run { pool.idle.isEmpty })
    #expect(pool.connectionCount == 0)
    stage.close()
  }

  @Test(arguments: ["end", "bytes", "reset"])
  func `T26: a connection that receives bytes while idle is not reused`(_ what: String) throws {
    try stage.connection(pool).keep()
    let peer = listener.accept()
    switch what {
    case "end": shutdown(peer, Int32(SHUT_WR))
    case "bytes": #expect(send(peer, "HTTP/1.1 200 OK\r\n", 17, Int32(MSG_NOSIGNAL)) == 17)
    default: listener.reset(peer)
    }
    #expect(stage.run { pool.idle.isEmpty })
    #expect(pool.acquire(at: 0) == nil && pool.connectionCount == 0)
    stage.close()
  }

  @Test func `T47: a connection from before a pool was invalidated or retired is not kept`() throws {
    let (before, idle) = (try stage.connection(pool), try stage.connection(pool))
    idle.keep()
    before.begin(run)
    pool.invalidate()
    #expect(pool.idle.isEmpty && idle.isClosed)
    before.release(run)
    #expect(pool.idle.isEmpty && before.isClosed)
    let after = try stage.connection(pool)
    after.keep()
    #expect(pool.idle.count == 1)
    pool.retire()
    #expect(pool.idle.isEmpty && after.isClosed)
    let late = try stage.connection(pool)
    late.keep()
    #expect(late.isClosed && pool.connectionCount == 0)
    stage.close()
  }

  @Test func `T25: a dedicated connection serves only the same caller and the same pool`() throws {
    let (ours, theirs) = (Caller(uid: 1), Caller(uid: 2))
    let other = try stage.pool("http://127.0.0.1:\(listener.port)/")
    for (pool, caller, isTaken) in [(self.pool, ours, true), (self.pool, theirs, false), (other, ours, false)] {
      let connection = try stage.connection(self.pool)
      connection.begin(run)
      let dedicated = try #require(DedicatedUpstream(connection, after: run, of: ours))
      #expect((dedicated.acquire(for: pool, caller, at: 0) === connection) == isTaken)
      #expect(connection.isClosed != isTaken)
      dedicated.close()
    }
    let retired = try stage.connection(self.pool)
    retired.begin(run)
    self.pool.retire()
    #expect(DedicatedUpstream(retired, after: run, of: ours) == nil && retired.isClosed)
    stage.close()
  }
}
