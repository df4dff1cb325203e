// Called by `UpstreamPool.acquire` (`UpstreamAcquisition.swift`), for pools that offer HTTP/2.
// Calls `Connector`.

internal import EventLoop
internal import Gateway
internal import Policy
internal import TLS

/// A connection that is being opened for all requests that need one now, because with HTTP/2 it can carry many of them.
final class SharedOpening {
  private let pool: UpstreamPool
  private let context: WorkerContext
  private var connector: Connector?
  /// In the order of their arrival.
  private var waiting: ArraySlice<SharedWait> = []
  /// Whether requests are about to get room on an existing connection.
  private var servesLater = false
  /// When the connector has given up at the latest, in milliseconds of the loop's clock.
  let endsBy: UInt64

  init(of pool: UpstreamPool, endsBy: UInt64, context: WorkerContext) {
    (self.pool, self.endsBy, self.context) = (pool, endsBy, context)
  }

  func add(_ wait: SharedWait) { waiting.append(wait) }

  func start(timeouts: Timeouts, tally: ServiceTally) {
    let connector = Connector(pool: pool, timeouts: timeouts, tally: tally, context: context) { self.finished($0) }
    self.connector = connector
    connector.start()
  }

  /// Removes a request. After the last one, stops opening the connection.
  func remove(_ wait: SharedWait) {
    guard let index = waiting.firstIndex(where: { $0 === wait }) else { return }
    waiting.remove(at: index)
    guard waiting.isEmpty, let connector else { return }
    detach()
    connector.cancel()
  }

  /// Lets no further request join.
  private func detach() {
    connector = nil
    if pool.opening === self { pool.opening = nil }
  }

  private func finished(_ result: Result<UpstreamConnection, ConnectFailure>) {
    detach()
    let outcome = pool.outcome(of: result)
    if let first = takeFirst() {
      first.end(outcome)
    } else if case .connection(let connection, _) = outcome {
      // All requests have got room on other connections.
      connection.keep()
    }
    pass(on: result)
  }

  /// Lets requests use an existing connection of the pool, on the next turn of the loop. The new connection is still opened: the
  /// others have probably had no room for a while.
  func connectionHasRoom() {
    guard !servesLater, !waiting.isEmpty else { return }
    servesLater = true
    context.loop.onNextTurn { self.serve() }
  }

  private func serve() {
    servesLater = false
    if pool.prefersHTTP1 { return }
    defer { waiting.removeAll(where: \.isFinished) }
    var unavailable: Set<UpstreamPool.Choice?> = [nil]
    // Each call may cancel other requests, or begin new ones.
    for wait in waiting where !wait.isFinished && !unavailable.contains(wait.choice) {
      guard let existing = wait.acquireExisting() else {
        unavailable.insert(wait.choice)
        continue
      }
      wait.end(.connection(existing, isReused: true))
      if context.loop.isStepLong { return connectionHasRoom() }
    }
  }

  /// Passes the result on to all other requests, on a later turn of the loop if this turn has no time left.
  private func pass(on result: Result<UpstreamConnection, ConnectFailure>) {
    var isFirst = true
    // Each call may cancel other requests, begin new ones, or close the connection.
    while !waiting.isEmpty {
      if !isFirst, context.loop.isStepLong { return context.loop.onNextTurn { self.pass(on: result) } }
      isFirst = false
      guard let next = takeFirst() else { return }
      switch result {
      case .success(let connection):
        if canShare(connection) { next.end(.connection(connection, isReused: true)) } else { next.proceed() }
      case .failure(let failure): next.end(.failed(failure))
      }
    }
  }

  private func takeFirst() -> SharedWait? {
    let first = waiting.popFirst()
    // A slice still has what was removed from it.
    if waiting.isEmpty { waiting = [] }
    return first
  }

  /// Whether another request can use the connection, which was passed to a request before.
  private func canShare(_ connection: UpstreamConnection) -> Bool {
    // If the first request has left the connection unused, the pool offers it.
    !pool.prefersHTTP1 && connection.applicationProtocol == .http2 && connection.hasRoom
      && !pool.idle.contains { $0 === connection }
  }
}

/// A request that waits for a `SharedOpening`. If the connection cannot carry it, the request gets another connection.
final class SharedWait: PendingAcquisition, UpstreamOpening {
  private enum State {
    case idle
    case shared(SharedOpening)
    /// The upstream speaks HTTP/1.1, and a connection is being opened for this request alone.
    case own(Connector)
  }

  private var state = State.idle

  /// Waits for the connection that is being opened, or opens one.
  func open() {
    let endsBy = context.loop.now + timeouts.connect + timeouts.handshake
    guard pool.sharesOpenings else {
      limitTime(endsBy: endsBy)
      return openOwn()
    }
    let known = pool.opening
    let opening = known ?? SharedOpening(of: pool, endsBy: endsBy, context: context)
    state = .shared(opening)
    limitTime(endsBy: opening.endsBy)
    opening.add(self)
    if known != nil { return }
    pool.opening = opening
    opening.start(timeouts: timeouts, tally: tally)
  }

  private func openOwn() {
    let connector = connector { [unowned self] in end(pool.outcome(of: $0)) }
    state = .own(connector)
    connector.start()
  }

  /// Gets another connection, because the one that the request has waited for cannot carry it.
  func proceed() {
    state = .idle
    do throws(TLSError) {
      if pool.prefersHTTP1 { pool = try pool.http1Only() }
    } catch {
      return end(.failed(ConnectFailure(error.kind.refusal, error.detail)))
    }
    if let existing = acquireExisting() { return end(.connection(existing, isReused: true)) }
    open()
  }

  func cancel() {
    context.deadlines.cancel(self)
    leave()
  }

  private func leave() {
    if isFinished { return }
    isFinished = true
    switch state {
    case .idle: break
    case .shared(let opening): opening.remove(self)
    case .own(let connector): connector.cancel()
    }
  }

  // MARK: time

  /// Sets a deadline, unless the connection attempt ends before it.
  private func limitTime(endsBy: UInt64) {
    if endsBy > giveUpAt { context.deadlines.schedule(self, at: giveUpAt) }
  }

  override func deadlinePassed() {
    leave()
    acquirer.acquired(.failed(ConnectFailure(.connectionTimeout, "the upstream's connections had no room in time")))
  }
}
