import Gateway
import Glibc
import Policy
import ServerSupport
import TLS
import TestServer
import TestSupport
import Testing

@testable import EventLoop
@testable import Transport

/// Requests that need a connection at the same time share it if the upstream may speak HTTP/2.
@Suite struct SharedOpeningTests {
  /// A request that gets a connection, and begins its run on it.
  private final class Request: UpstreamAcquirer {
    let run = TestRun()
    var opening: (any UpstreamOpening)?
    var outcomes: [UpstreamOutcome] = []
    /// Uses the connection. By default, begins the run.
    var use: (Request, UpstreamConnection) -> Void = { $1.begin($0.run) }

    func connectionIsBeingOpened(by opening: any UpstreamOpening) { self.opening = opening }

    func acquired(_ outcome: UpstreamOutcome) {
      outcomes.append(outcome)
      if let connection { use(self, connection) }
    }

    var connection: UpstreamConnection? {
      if case .connection(let connection, _)? = outcomes.first { connection } else { nil }
    }
    var isReused: Bool? { if case .connection(_, let isReused)? = outcomes.first { isReused } else { nil } }
    var failure: ConnectFailure? { if case .failed(let failure)? = outcomes.first { failure } else { nil } }
  }

  private let stage: LoopStage
  private let listener: PlainListener
  /// A pool for an upstream without TLS that is known to speak HTTP/2.
  private let pool: UpstreamPool

  init() throws {
    stage = try LoopStage()
    listener = try PlainListener()
    pool = try Self.plain(listener.port)
  }

  private static func plain(_ port: UInt16, _ spoken: ApplicationProtocol = .http2) throws -> UpstreamPool {
    UpstreamPool(
      upstream: try Upstream(parsing: "http://127.0.0.1:\(port)/"), context: nil, generation: 1, plainProtocol: spoken)
  }

  /// Returns a pool that offers `offered` in the TLS handshake.
  private func pool(
    _ port: UInt16, offering offered: [ApplicationProtocol] = [.http2, .http1], certificate: Certificate
  ) throws -> UpstreamPool {
    let upstream = try Upstream(parsing: "https://localhost:\(port)/")
    let store = try TrustStore(pem: Array(certificate.pem.utf8), name: "test")
    let identity = SessionIdentity(
      origin: upstream.origin, trust: TrustPolicy(), trustFingerprint: store.fingerprint, grant: nil, generation: 1,
      protocols: offered)
    return UpstreamPool(
      upstream: upstream, context: try ClientContext(identity: identity, store: store), generation: 1)
  }

  private func certificate() throws -> Certificate {
    var options = Certificate.Options()
    options.dnsNames = ["localhost"]
    return try Certificate(options)
  }

  /// Returns a server that selects this protocol with ALPN, and sends nothing.
  private func server(_ selected: String?, _ certificate: Certificate) throws -> UpstreamServer {
    var options = UpstreamServer.Options()
    options.selectedProtocol = selected
    return try UpstreamServer(chain: [certificate], options: options) { connection in
      while let bytes = try? connection.read(), !bytes.isEmpty {}
    }
  }

  /// Begins requests that need a connection.
  /// - Parameter room: how many requests each connection accepts at the same time.
  private func begin(
    _ count: Int, _ pool: UpstreamPool? = nil, room: Int = 1_000, choice: UpstreamPool.Choice? = .any,
    timeouts: Timeouts = Timeouts(), needsHTTP1: Bool = false
  ) -> [Request] {
    let pool = pool ?? self.pool
    return (0..<count).map { _ in
      let request = Request()
      request.use = { request, connection in
        if request.isReused == false, connection.applicationProtocol == .http2 { connection.limitRuns(to: room) }
        connection.begin(request.run)
      }
      pool.acquire(
        choice, needsHTTP1: needsHTTP1, for: request, timeouts: timeouts, tally: ServiceTally(name: "api"),
        context: stage.context)
      return request
    }
  }

  private func wait(for requests: [Request]) {
    #expect(stage.run { requests.allSatisfy { !$0.outcomes.isEmpty } })
    for _ in 0..<3 { stage.loop.runOnce(waiting: true) }
    #expect(requests.allSatisfy { $0.outcomes.count == 1 && $0.opening?.isFinished != false })
  }

  private func connections(_ requests: [Request]) -> [ObjectIdentifier] {
    var all: [ObjectIdentifier] = []
    for case let connection? in requests.map(\.connection) where !all.contains(ObjectIdentifier(connection)) {
      all.append(ObjectIdentifier(connection))
    }
    return all
  }

  private func close(_ requests: [Request]) {
    for request in requests { request.connection?.close() }
  }

  // MARK: HTTP/2

  /// Whether the requests may use a connection that exists.
  @Test(arguments: [UpstreamPool.Choice.any, nil])
  func `a hundred requests at once open one connection, and get it in their order`(choice: UpstreamPool.Choice?) {
    defer { stage.close() }
    let order = Guarded([Int]())
    let requests = begin(100, choice: choice)
    for (index, request) in requests.enumerated() {
      let use = request.use
      request.use = { request, connection in
        order.withLock { $0.append(index) }
        use(request, connection)
      }
    }
    #expect(requests.allSatisfy { $0.opening?.isFinished == false } && pool.opening != nil)
    wait(for: requests)
    #expect(order.withLock { $0 } == Array(0..<100))
    #expect(connections(requests).count == 1 && pool.connectionCount == 1 && pool.opening == nil)
    #expect(requests.map(\.isReused) == [false] + [Bool?](repeating: true, count: 99))
    // Later requests use the same connection, and wait for nothing.
    let later = begin(1)
    #expect(later[0].connection === requests[0].connection && later[0].opening == nil)
    close(requests)
    #expect(pool.connectionCount == 0)
  }

  @Test func `requests for which a connection has no room share the next one`() {
    defer { stage.close() }
    let requests = begin(7, room: 3)
    wait(for: requests)
    #expect(connections(requests).count == 3 && pool.connectionCount == 3)
    #expect(requests.map(\.isReused) == [false, true, true, false, true, true, false])
    close(requests)
  }

  @Test func `if the first request leaves the connection unused, the next one gets it`() throws {
    defer { stage.close() }
    let requests = begin(3)
    requests[0].use = { _, connection in
      connection.limitRuns(to: 10)
      connection.keep()
    }
    wait(for: requests)
    #expect(connections(requests).count == 1 && requests.map(\.isReused) == [false, true, true] && pool.idle.isEmpty)
    // A request that leaves the connection unused while others use it does not make it idle.
    try #require(requests[0].connection).keep()
    #expect(pool.idle.isEmpty)
    close(requests)
    #expect(pool.connectionCount == 0)
  }

  @Test func `if the first request closes the connection, the others share another one`() {
    defer { stage.close() }
    let requests = begin(3)
    requests[0].use = { $1.close() }
    wait(for: requests)
    #expect(connections(requests).count == 2 && requests.map(\.isReused) == [false, false, true])
    close(requests)
  }

  @Test func `requests that the turn of the loop has no time for get the connection on the next turn`() throws {
    defer { stage.close() }
    let requests = begin(4)
    let use = requests[0].use
    requests[0].use = { request, connection in
      use(request, connection)
      // Longer than a turn may take.
      usleep(30_000)
    }
    #expect(stage.run { !requests[0].outcomes.isEmpty })
    #expect(requests.map(\.isReused) == [false, true, nil, nil])
    try #require(requests[3].opening).cancel()
    wait(for: Array(requests.dropLast()))
    #expect(requests.map(\.isReused) == [false, true, true, nil] && connections(requests).count == 1)
    close(requests)
  }

  @Test func `a request that waits for a second connection takes a stream that becomes free on the first`() throws {
    defer { stage.close() }
    let first = begin(1, room: 1)
    wait(for: first)
    let others = begin(3, room: 1)
    #expect(others.allSatisfy { $0.opening?.isFinished == false } && pool.opening != nil)
    let connection = try #require(first[0].connection)
    connection.release(first[0].run)
    stage.loop.runOnce(waiting: true)
    #expect(others[0].connection === connection && others[0].isReused == true)
    wait(for: others)
    #expect(connections(others).count == 3 && pool.connectionCount == 3)
    close(others)
  }

  @Test func `a connection that no request needs any more is kept`() throws {
    defer { stage.close() }
    let first = begin(1, room: 1)
    wait(for: first)
    let second = begin(1, room: 1)
    try #require(first[0].connection).release(first[0].run)
    wait(for: second)
    #expect(second[0].connection === first[0].connection)
    #expect(stage.run { pool.opening == nil && pool.idle.count == 1 })
    #expect(pool.connectionCount == 2)
    close(second)
    pool.closeIdle()
    #expect(pool.connectionCount == 0)
  }

  // MARK: cancellations and failures

  @Test func `a request that no longer waits does not hold up the others`() throws {
    defer { stage.close() }
    let requests = begin(3)
    try #require(requests[0].opening).cancel()
    #expect(requests[0].opening?.isFinished == true && pool.opening != nil)
    wait(for: Array(requests.dropFirst()))
    #expect(requests[0].outcomes.isEmpty && requests.map(\.isReused) == [nil, false, true])
    close(requests)
  }

  @Test func `a request that the first one cancels gets nothing`() throws {
    defer { stage.close() }
    let requests = begin(3)
    let (use, second) = (requests[0].use, try #require(requests[1].opening))
    requests[0].use = { request, connection in
      second.cancel()
      use(request, connection)
    }
    wait(for: [requests[0], requests[2]])
    #expect(requests[1].outcomes.isEmpty && requests.map(\.isReused) == [false, nil, true])
    close(requests)
  }

  /// Whether the TCP connection exists, so that the TLS handshake is in progress.
  @Test(arguments: [false, true])
  func `the connection is given up when no request waits for it`(isConnected: Bool) throws {
    defer { stage.close() }
    // The listener never sends the server's part of the handshake.
    let pool = isConnected ? try pool(listener.port, certificate: certificate()) : self.pool
    let requests = begin(3, pool)
    if isConnected { #expect(stage.run { pool.connectionCount == 1 }) }
    for request in requests { try #require(request.opening).cancel() }
    #expect(pool.opening == nil && pool.connectionCount == 0)
    for _ in 0..<5 { stage.loop.runOnce(waiting: true) }
    #expect(requests.allSatisfy(\.outcomes.isEmpty) && pool.connectionCount == 0)
    // The next request begins anew.
    if isConnected { return }
    let next = begin(1)
    wait(for: next)
    #expect(next[0].isReused == false)
    close(next)
  }

  @Test func `all requests get the same failure, and later requests try again`() throws {
    defer { stage.close() }
    let pool = try Self.plain(try PlainListener().port)
    for _ in 0..<2 {
      let requests = begin(10, pool)
      wait(for: requests)
      #expect(requests.allSatisfy { $0.failure?.refusal.code == .connectionRefused })
      #expect(
        Set(requests.compactMap(\.failure?.detail)).count == 1 && pool.opening == nil && pool.connectionCount == 0)
    }
  }

  @Test func `a request waits no longer than its own timeouts allow`() throws {
    defer { stage.close() }
    let pool = try pool(listener.port, certificate: certificate())
    var short = Timeouts()
    (short.connect, short.handshake) = (100, 200)
    let requests = begin(1, pool) + begin(1, pool, timeouts: short) + begin(1, pool)
    #expect(stage.run { pool.connectionCount == 1 })
    stage.loop.advance(by: 300)
    stage.context.deadlines.fire()
    #expect(requests[1].failure?.refusal.code == .connectionTimeout && requests[1].opening?.isFinished == true)
    #expect(requests[0].outcomes.isEmpty && requests[2].outcomes.isEmpty && pool.opening != nil)
    for request in requests { request.opening?.cancel() }
    #expect(pool.connectionCount == 0)
  }

  // MARK: HTTP/1.1

  @Test func `if the upstream speaks HTTP/1.1, each request gets its own connection`() throws {
    defer { stage.close() }
    let certificate = try certificate()
    let server = try server(nil, certificate)
    defer { server.stop() }
    let pool = try pool(server.port, certificate: certificate)
    let requests = begin(5, pool)
    wait(for: requests)
    #expect(connections(requests).count == 5 && requests.allSatisfy { $0.isReused == false })
    #expect(pool.upstreamSpeaksHTTP1 && pool.connectionCount == 5)
    // The pool knows the protocol now.
    let later = begin(2, pool)
    #expect(later.allSatisfy { $0.opening is Connector } && pool.opening == nil)
    wait(for: later)
    close(requests + later)
    #expect(pool.connectionCount == 0)
  }

  @Test func `a request that no longer waits for its own connection gets nothing`() throws {
    defer { stage.close() }
    let certificate = try certificate()
    let server = try server(nil, certificate)
    defer { server.stop() }
    let pool = try pool(server.port, certificate: certificate)
    let requests = begin(3, pool)
    #expect(stage.run { requests[0].connection != nil })
    #expect(requests[1].outcomes.isEmpty && requests[1].opening?.isFinished == false)
    try #require(requests[1].opening).cancel()
    wait(for: [requests[0], requests[2]])
    #expect(requests[1].outcomes.isEmpty && pool.connectionCount == 2)
    close(requests)
  }

  @Test func `requests share connections again after the upstream has begun to select HTTP/2`() throws {
    defer { stage.close() }
    let certificate = try certificate()
    let (old, new) = (try server(nil, certificate), try server("h2", certificate))
    defer { for server in [old, new] { server.stop() } }
    let pool = try pool(old.port, certificate: certificate)
    let first = begin(1, pool)
    wait(for: first)
    let successor = try self.pool(new.port, certificate: certificate)
    let second = begin(1, successor)
    wait(for: second)
    #expect(!pool.sharesOpenings && successor.sharesOpenings)
    // The outcome of each new connection counts, not only of the first one.
    pool.learnProtocol(of: try #require(second[0].connection))
    #expect(pool.sharesOpenings)
    close(first + second)
  }

  // MARK: invalidation

  @Test func `T46: a request after an invalidation does not get a connection that was begun before it`() throws {
    defer { stage.close() }
    let certificate = try certificate()
    let server = try server("h2", certificate)
    defer { server.stop() }
    let pool = try pool(server.port, certificate: certificate)
    let before = begin(2, pool)
    #expect(stage.run { pool.connectionCount == 1 })
    pool.invalidate()
    let after = begin(2, pool)
    wait(for: before + after)
    #expect(connections(before).count == 1 && connections(after).count == 1 && connections(before + after).count == 2)
    let later = begin(1, pool)
    #expect(later[0].connection === after[0].connection)
    close(before + after)
    #expect(pool.connectionCount == 0)
  }

  @Test func `requests of a retired pool still get a connection`() {
    defer { stage.close() }
    let before = begin(2)
    pool.retire()
    let after = begin(2)
    wait(for: before + after)
    #expect(connections(before + after).count == 2)
    close(before + after)
    #expect(pool.connectionCount == 0)
  }

  // MARK: the pool with only HTTP/1.1

  @Test func `requests that need HTTP/1.1 use a second pool`() throws {
    defer { stage.close() }
    let certificate = try certificate()
    let server = try server(nil, certificate)
    defer { server.stop() }
    let pool = try pool(server.port, certificate: certificate)
    let twin = try pool.http1Only()
    #expect(try twin !== pool && twin === pool.http1Only() && twin === twin.http1Only() && !twin.offersHTTP2)
    #expect(twin.context?.identity.protocols == [.http1] && twin.upstream == pool.upstream)
    let requests = begin(2, pool, needsHTTP1: true)
    #expect(requests.allSatisfy { $0.opening is Connector } && pool.opening == nil)
    wait(for: requests)
    #expect(requests.allSatisfy { $0.connection?.pool === twin } && connections(requests).count == 2)
    close(requests)
  }

  @Test func `a pool that offers only HTTP/1.1 has no second pool`() throws {
    defer { stage.close() }
    let plain = try Self.plain(listener.port, .http1)
    #expect(try plain.http1Only() === plain && !plain.offersHTTP2 && !plain.sharesOpenings)
    let prior = try pool.http1Only()
    #expect(prior !== pool && prior.plainProtocol == .http1)
  }

  @Test func `the counts, closings and invalidations of a pool include its second pool`() throws {
    defer { stage.close() }
    let twin = try pool.http1Only()
    func keep() throws -> [UpstreamConnection] {
      let made = [try stage.connection(pool), try stage.connection(twin)]
      for connection in made { connection.keep() }
      #expect(pool.idle.count == 1 && pool.idleCount == 2 && pool.connectionCount == 2)
      return made
    }
    #expect(try keep().allSatisfy { pool.owns($0) } && !twin.owns(pool.idle[0]))
    pool.closeIdle()
    #expect(pool.idleCount == 0 && pool.connectionCount == 0)
    _ = try keep()
    pool.invalidate()
    #expect(pool.idleCount == 0 && pool.connectionCount == 0)
    let last = try keep()
    pool.retire()
    #expect(last.allSatisfy(\.isClosed) && twin.isRetired && pool.connectionCount == 0)
    let late = try Self.plain(listener.port)
    late.retire()
    #expect(try late.http1Only().isRetired)
  }

  @Test func `T25: a login's connection in the second pool serves only requests of its pool`() throws {
    defer { stage.close() }
    let connection = try stage.connection(try pool.http1Only())
    let run = TestRun()
    connection.begin(run)
    connection.dedicate()
    let own = try #require(DedicatedUpstream(connection, after: run, of: Caller(uid: 1)))
    #expect(own.acquire(for: pool, Caller(uid: 1), at: 0) === connection)
    #expect(own.acquire(for: try Self.plain(listener.port), Caller(uid: 1), at: 0) == nil && connection.isClosed)
  }

  @Test func `after the upstream has required HTTP/1.1, all requests use the second pool`() throws {
    defer { stage.close() }
    let certificate = try certificate()
    let server = try server("h2", certificate)
    defer { server.stop() }
    let pool = try pool(server.port, certificate: certificate)
    let first = begin(1, pool)
    wait(for: first)
    first[0].connection?.release(first[0].run)
    #expect(pool.idle.count == 1)
    #expect(pool.requireHTTP1() && pool.requireHTTP1() && pool.prefersHTTP1 && pool.idle.isEmpty)
    let later = begin(2, pool)
    #expect(later.allSatisfy { $0.opening is Connector } && pool.opening == nil)
    for request in later { request.opening?.cancel() }
    // A service with `protocol: http2` never uses HTTP/1.1 for ordinary requests.
    let strict = try self.pool(server.port, offering: [.http2], certificate: certificate)
    #expect(!strict.requireHTTP1() && !strict.prefersHTTP1)
    #expect(!self.pool.requireHTTP1() && !self.pool.prefersHTTP1)
    #expect(try Self.plain(listener.port, .http1).requireHTTP1())
  }
}
