import Gateway
import Generations
import HTTP1
import Policy
import TestSupport
import Testing

@testable import EventLoop
@testable import Proxy
@testable import Transport

/// `RequestRun` with a fake client and a virtual clock: what one request holds, waits for and gives back.
@Suite struct RequestRunTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
  private static let unavailable = "HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n"

  // MARK: the end of a request

  @Test func `T34: a refused request acquires nothing, has one record, and its slot is wiped for the next request`()
    throws
  {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let slot = ObjectIdentifier(stage.reusedSlot { _ in })
    let client = stage.client()
    client.get("/elsewhere/x")
    #expect(client.status == 404 && client.events == ["ended"] && client.unread.isEmpty)
    #expect(client.quota.requestsInProgress == 0 && stage.worker.generation.upstreamPools.isEmpty)
    #expect(stage.records().map { $0["status"] } == ["404"])
    let next = stage.reusedSlot { slot in
      #expect(slot.machine.phase == .awaitingHead)
      let record = slot.machine.relay.exchange.record
      #expect(record.status == 0 && record.refusal == nil && record.caller == nil)
      #expect(slot.machine.relay.exchange.head.bytes.allSatisfy { $0 == 0 })
      let path = slot.machine.relay.exchange.target.path
      #expect(!path.isEmpty && path.allSatisfy { $0 == 0 })
    }
    #expect(ObjectIdentifier(next) == slot)
  }

  @Test func `a response ends the request once, and its connection serves the next request`() throws {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let (client, upstream) = (stage.client(), try stage.idle())
    for path in ["/api/1", "/api/2"] {
      client.get(path)
      let run = try #require(client.run)
      #expect(run.upstream === upstream.connection && client.quota.requestsInProgress == 1)
      #expect(upstream.received().hasPrefix("GET \(path.dropFirst(4)) HTTP/1.1\r\n"))
      try run.receive(Self.ok)
      #expect(client.run == nil && client.quota.requestsInProgress == 0)
      #expect(try stage.pool().idle.count == 1)
    }
    #expect(client.events == ["ended", "ended"] && client.sent.hasSuffix("\r\n\r\nhi"))
    #expect(stage.records().map { $0["path"] } == ["/api/1", "/api/2"])
  }

  // MARK: waiting

  @Test func `a request keeps its body until the client passes the connection on`() throws {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let client = stage.client()
    client.feedsWhenSettled = false
    client.send("PUT /api/x HTTP/1.1\r\nHost: localhost:7070\r\nContent-Length: 5\r\n\r\nhello")
    let run = try #require(client.run)
    #expect(run.phase == .awaitingUpstream && client.unread == "hello" && client.quota.requestsInProgress == 1)
    let settled = client.settleCount
    let upstream = try stage.open(for: run)
    #expect(client.settleCount == settled + 1 && run.hasOutcome)
    #expect(run.phase == .awaitingUpstream && run.upstream == nil && upstream.received().isEmpty)
    client.feed()
    #expect(run.phase == .exchanging && run.upstream === upstream.connection && client.unread.isEmpty)
    let sent = upstream.received()
    #expect(sent.hasPrefix("PUT /x HTTP/1.1\r\n") && sent.hasSuffix("\r\n\r\nhello"))
  }

  @Test func `a failed acquisition is passed on by the client, not by the call that reports it`() throws {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let client = stage.client()
    client.feedsWhenSettled = false
    client.get()
    let run = try #require(client.run)
    stage.advance(10_000)
    #expect(run.hasOutcome && client.sent.isEmpty && stage.records().isEmpty)
    client.feed()
    #expect(client.status == 504 && client.run == nil)
    #expect(stage.records().map { $0["refused"] } == ["connection-timeout"])
  }

  /// Whether the connection has been opened, but not yet passed on.
  @Test(arguments: [false, true])
  func `a client that disconnects cancels the connection, and gives back quota and rate`(isOpened: Bool) throws {
    let stage = try RunStage(RunStage.plain(", rate: 2/d"))
    defer { stage.close() }
    let client = stage.client()
    client.feedsWhenSettled = false
    client.get()
    let run = try #require(client.run)
    let connector = try stage.connector(of: run)
    #expect(stage.rateLeft == 1 && client.quota.requestsInProgress == 1 && !connector.isFinished)
    let upstream = isOpened ? try stage.open(for: run) : nil
    client.disconnect()
    #expect(connector.isFinished && upstream?.connection.isClosed != false)
    #expect(stage.rateLeft == 2 && client.quota.requestsInProgress == 0)
    #expect(try stage.pool().connectionCount == 0)
    #expect(client.events == ["close", "ended"] && client.sent.isEmpty)
    #expect(stage.records().map { $0["status"] } == ["499"])
  }

  // MARK: protocols

  @Test func `requests wait for one connection with HTTP/2, and a WebSocket gets its own with HTTP/1.1`() throws {
    let stage = try RunStage(RunStage.plain(", protocol: http2"))
    defer { stage.close() }
    let clients = (0..<3).map { _ in stage.client() }
    for client in clients.dropLast() { client.get() }
    clients[2].get(fields: "Connection: Upgrade\r\nUpgrade: websocket\r\n")
    let runs = try clients.map { try #require($0.run) }
    for run in runs.dropLast() { #expect(try stage.opening(for: run) is SharedWait) }
    let own = try stage.connector(of: runs[2])
    #expect(try stage.pool().opening != nil && stage.pool().http1Only().opening == nil)
    for client in clients { client.disconnect() }
    #expect(try own.isFinished && stage.pool().opening == nil && stage.pool().connectionCount == 0)
  }

  // MARK: reloads

  @Test func `T47: a request that was not sent is decided again by the new configuration`() throws {
    let stage = try RunStage(RunStage.plain(", rate: 2/d"))
    defer { stage.close() }
    let client = stage.client()
    client.get()
    let run = try #require(client.run)
    let (connector, former) = (try stage.connector(of: run), try stage.pool())
    try stage.reload(RunStage.plain(", rate: 2/d, timeouts: { total: 9s }"))
    #expect(run.configurationChanged())
    #expect(connector.isFinished && former.connectionCount == 0)
    #expect(run.generation === stage.worker.generation && run.routeContext?.generation == 2)
    #expect(stage.rateLeft == 1 && client.quota.requestsInProgress == 1)
    let upstream = try stage.open(for: run)
    #expect(try upstream.connection.pool === stage.pool() && upstream.received().hasPrefix("GET /x "))
    try run.receive(Self.ok)
    #expect(stage.rateLeft == 1)
    #expect(stage.records().map { $0["generation"] } == ["2"])
  }

  /// Whether the request waits for its second attempt, not for its first connection.
  @Test(arguments: [false, true])
  func `T47: a request that the new configuration refuses is not sent`(isRetry: Bool) throws {
    let stage = try RunStage(RunStage.plain(", retry: { on: [503] }"))
    defer { stage.close() }
    let client = stage.client()
    if isRetry { _ = try stage.idle() }
    client.get()
    let run = try #require(client.run)
    let connector = isRetry ? nil : try stage.connector(of: run)
    if isRetry { try run.receive(Self.unavailable) }
    #expect(run.phase == (isRetry ? .awaitingRetry : .awaitingUpstream))
    try stage.reload(RunStage.plain(name: "other"))
    #expect(run.configurationChanged())
    #expect(connector?.isFinished != false && client.status == 404 && client.run == nil)
    #expect(client.quota.requestsInProgress == 0 && stage.worker.generation.upstreamPools.isEmpty)
    #expect(stage.records().map { $0["generation"] } == ["2"])
  }

  @Test func `T47: a request that resumes after a reload is decided again`() throws {
    let secret = "credentials: { one: { origins: [\"https://127.0.0.1:1\"], bearer: { file: one.token } } }"
    func configuration(_ name: String) -> String {
      RunStage.plain(name: name, more: secret)
        .replacing("http:", with: "https:").replacing("credential: none", with: "credential: one")
    }
    let stage = try RunStage(configuration("api"), files: ["one.token": "SECRET-of-one"])
    defer { stage.close() }
    let client = stage.client()
    client.get()
    let run = try #require(client.run)
    #expect(run.opensAtTurnEnd && client.quota.requestsInProgress == 0)
    // The worker has not told the request of the reload.
    try stage.reload(configuration("other"))
    stage.endTurn()
    #expect(client.status == 404 && client.run == nil && stage.worker.generation.upstreamPools.isEmpty)
  }

  @Test func `the removal of the listener refuses a request that was not sent`() throws {
    let stage = try RunStage(RunStage.plain(", rate: 2/d"))
    defer { stage.close() }
    for resumes in [false, true] {
      let client = stage.client()
      client.get()
      let run = try #require(client.run)
      let connector = try stage.connector(of: run)
      client.isOrphaned = true
      if resumes {
        run.cancelWait()
        run.decideAgain()
      } else {
        run.listenerRemoved()
      }
      #expect(client.status == 503 && client.events.contains("ended") && connector.isFinished)
      #expect(stage.rateLeft == 2 && client.quota.requestsInProgress == 0)
    }
    #expect(stage.records().map { $0["refused"] } == ["listener-removed", "listener-removed"])
  }

  @Test func `T47: an exchange in progress is cut only if it is no longer allowed`() throws {
    for isAllowed in [true, false] {
      let stage = try RunStage(RunStage.plain())
      defer { stage.close() }
      let (client, upstream) = (stage.client(), try stage.idle())
      client.get()
      let run = try #require(client.run)
      try stage.reload(RunStage.plain(name: isAllowed ? "api" : "other"))
      #expect(run.configurationChanged() == isAllowed && run.upstream === upstream.connection)
      run.cutIfNotAllowed()
      #expect(client.events == (isAllowed ? [] : ["reset", "ended"]))
      #expect(upstream.connection.isClosed == !isAllowed && client.quota.requestsInProgress == (isAllowed ? 1 : 0))
      #expect(stage.records().map { $0["aborted"] } == (isAllowed ? [] : ["true"]))
    }
  }

  @Test func `T47: an exchange in progress survives the removal of its listener until it is cut`() throws {
    let stage = try RunStage(RunStage.plain())
    defer { stage.close() }
    let (client, upstream) = (stage.client(), try stage.idle())
    client.get()
    let run = try #require(client.run)
    client.isOrphaned = true
    run.listenerRemoved()
    #expect(run.phase == .exchanging && client.events.isEmpty)
    run.cutIfNotAllowed()
    #expect(client.events == ["reset", "ended"] && upstream.connection.isClosed)
  }

  // MARK: further attempts

  @Test func `each attempt counts once toward the rate, and a wait for the next attempt holds no permit`() throws {
    let stage = try RunStage(RunStage.plain(", rate: 3/d, retry: { on: [503] }"))
    defer { stage.close() }
    let (client, upstream) = (stage.client(), try stage.idle())
    client.get()
    let run = try #require(client.run)
    #expect(stage.rateLeft == 2 && run.attempt.hasSpentRate)
    try run.receive(Self.unavailable)
    #expect(run.phase == .awaitingRetry && run.upstream == nil && !run.attempt.hasSpentRate)
    #expect(stage.rateLeft == 2 && client.quota.requestsInProgress == 1 && client.sent.isEmpty)
    let wait = try #require(run.time(of: .retry))
    #expect((125...250).contains(wait))
    stage.advance(wait)
    #expect(run.time(of: .retry) == 0)
    client.deadlinePassed()
    #expect(stage.rateLeft == 1 && run.upstream === upstream.connection)
    #expect(upstream.received().split(separator: "GET /x ", omittingEmptySubsequences: false).count == 3)
    try run.receive(Self.ok)
    #expect(client.status == 200 && client.quota.requestsInProgress == 0)
    #expect(stage.records().map { $0["retries"] } == ["1"])
  }

  @Test func `an attempt beyond the rate is refused`() throws {
    let stage = try RunStage(RunStage.plain(", rate: 1/d, retry: { on: [503] }"))
    defer { stage.close() }
    let (client, upstream) = (stage.client(), try stage.idle())
    client.get()
    try #require(client.run).receive(Self.unavailable)
    _ = upstream.received()
    stage.advance(250)
    client.deadlinePassed()
    #expect(client.status == 429 && client.run == nil && upstream.received().isEmpty)
    #expect(client.quota.requestsInProgress == 0)
  }

  @Test func `an attempt that was not sent gives back its permit of the rate`() throws {
    let stage = try RunStage(RunStage.plain(", rate: 2/d, retry: {}"))
    defer { stage.close() }
    let client = stage.client()
    client.get()
    let run = try #require(client.run)
    #expect(stage.rateLeft == 1)
    stage.advance(10_000)
    #expect(run.phase == .awaitingRetry && stage.rateLeft == 2 && client.quota.requestsInProgress == 1)
    stage.advance(try #require(run.time(of: .retry)))
    client.deadlinePassed()
    #expect(stage.rateLeft == 1)
    _ = try stage.open(for: run)
    #expect(stage.rateLeft == 1 && run.attempt.hasSpentRate)
  }

  @Test func `a stale connection is replaced by a new one, and the request counts once toward the rate`() throws {
    let stage = try RunStage(RunStage.plain(", rate: 3/d"))
    defer { stage.close() }
    let (client, other, stale) = (stage.client(), try stage.idle(), try stage.idle())
    client.get()
    let run = try #require(client.run)
    #expect(run.upstream === stale.connection && stage.rateLeft == 2)
    try run.endOfUpstream()
    #expect(run.phase == .awaitingUpstream && run.mustOpenFresh && stale.connection.isClosed)
    let fresh = try stage.open(for: run)
    #expect(stage.rateLeft == 2 && run.upstream === fresh.connection && fresh.received().hasPrefix("GET /x "))
    #expect(other.received().isEmpty)
    try run.receive(Self.ok)
    #expect(stage.records().map { $0["retried"] } == ["true"])
  }

  @Test func `a client that leaves while its request waits for the next attempt cancels the attempt`() throws {
    for isPipelining in [false, true] {
      let stage = try RunStage(RunStage.plain(", retry: { on: [503] }"))
      defer { stage.close() }
      let (client, upstream) = (stage.client(), try stage.idle())
      client.get()
      let run = try #require(client.run)
      try run.receive(Self.unavailable)
      _ = upstream.received()
      if isPipelining {
        client.isGone = true
        stage.advance(250)
        client.deadlinePassed()
      } else {
        run.step { machine, output in machine.clientEnded(output: &output) }
      }
      #expect(client.events == ["close", "ended"] && upstream.received().isEmpty)
      #expect(client.quota.requestsInProgress == 0)
      #expect(stage.records().map { $0["status"] } == ["499"])
    }
  }

  // MARK: time

  @Test func `the total timeout ends a request that waits for its connection`() throws {
    let stage = try RunStage(RunStage.plain(", timeouts: { total: 2s }"))
    defer { stage.close() }
    let client = stage.client()
    client.get()
    let run = try #require(client.run)
    let connector = try stage.connector(of: run)
    #expect(run.timing.totalBy == stage.worker.loop.now + 2_000)
    stage.advance(1_999)
    client.deadlinePassed()
    #expect(client.run === run && !connector.isFinished)
    stage.advance(1)
    client.deadlinePassed()
    #expect(client.status == 504 && client.run == nil && connector.isFinished)
    #expect(client.quota.requestsInProgress == 0)
    #expect(stage.records().map { $0["ms"] } == ["2000"])
  }

  @Test func `the total timeout ends a request that waits for its next attempt`() throws {
    let stage = try RunStage(RunStage.plain(", timeouts: { total: 2s }, retry: { on: [503] }"))
    defer { stage.close() }
    let (client, upstream) = (stage.client(), try stage.idle())
    client.get()
    try #require(client.run).receive(Self.unavailable.replacing("\r\n\r\n", with: "\r\nRetry-After: 3\r\n\r\n"))
    _ = upstream.received()
    stage.advance(2_000)
    client.deadlinePassed()
    #expect(client.status == 504 && client.run == nil && upstream.received().isEmpty)
  }

  @Test func `the response_head timeout ends a request without a response`() throws {
    let stage = try RunStage(RunStage.plain(", timeouts: { response_head: 3s }"))
    defer { stage.close() }
    let (client, upstream) = (stage.client(), try stage.idle())
    client.get()
    let run = try #require(client.run)
    #expect(run.deadline == .responseHead && run.time(of: .responseHead) == 3_000)
    stage.advance(3_000)
    client.deadlinePassed()
    #expect(client.status == 504 && client.run == nil && upstream.connection.isClosed)
    #expect(stage.records().map { $0["refused"] } == ["upstream-timeout"])
  }

  @Test func `the timeouts come from the service, or from the limits while there is none`() throws {
    let stage = try RunStage(
      RunStage.plain(
        ", timeouts: { response_head: 3s, upgraded: 4s, body_silence: 5s }",
        more: "limits: { client_head: 7s, client_idle: 8s }"))
    defer { stage.close() }
    let all: [Deadline] = [.head, .none, .idle, .linger, .retry, .responseHead, .silence, .upgraded]
    let client = stage.client()
    client.send("GET /api/x")
    let run = try #require(client.run)
    #expect(run.deadline == .head)
    #expect(all.map { run.time(of: $0) } == [7_000, nil, nil, nil, 0, 8_000, 8_000, 8_000])
    client.send(" HTTP/1.1\r\nHost: localhost:7070\r\n\r\n")
    #expect(all.map { run.time(of: $0) } == [7_000, nil, nil, nil, 0, 3_000, 5_000, 4_000])
  }

  @Test func `without body_silence, only a client within its request body has a time limit`() throws {
    for rate in ["1KiB", "0"] {
      let stage = try RunStage(RunStage.plain(more: "limits: { client_body_rate: \(rate) }"))
      defer { stage.close() }
      let (client, _) = (stage.client(), try stage.idle())
      client.send("PUT /api/x HTTP/1.1\r\nHost: localhost:7070\r\nContent-Length: 2\r\n\r\n")
      let run = try #require(client.run)
      #expect(run.awaitsRequestBody && run.time(of: .silence) == (rate == "0" ? nil : 600_000))
      client.send("hi")
      #expect(!run.awaitsRequestBody && run.time(of: .silence) == nil)
    }
  }
}

extension RunStage {
  /// Lends a slot of the pool, and returns it.
  fileprivate func reusedSlot(_ body: (ExchangeSlot) -> Void) -> ExchangeSlot {
    let slot = worker.acquireSlot()
    body(slot)
    worker.release(slot)
    return slot
  }
}
