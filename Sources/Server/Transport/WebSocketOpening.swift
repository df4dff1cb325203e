// Called by `UpstreamPool.acquire` (`UpstreamAcquisition.swift`), for pools that offer only HTTP/2.
// Calls `Connector`, and then `UpstreamPool.acquire` of the pool that offers HTTP/1.1.

internal import EventLoop
internal import Gateway
internal import Policy
internal import TLS

/// A request that opens a WebSocket, and waits for the settings of an HTTP/2 connection (RFC 8441 section 3).
///
/// If the upstream accepts no WebSockets on the connection, the request gets a connection with HTTP/1.1.
final class WebSocketOpening: DeadlineOwner, UpstreamOpening, UpstreamAcquirer {
  private enum State {
    case connecting(Connector)
    case awaitingSettings(UpstreamConnection)
    /// The request continues on the next turn of the loop.
    case proceeding(after: UpstreamConnection)
    /// A connection with HTTP/1.1 is being opened. `nil` before the attempt has begun.
    case fallback((any UpstreamOpening)?)
    case over
  }

  private unowned let acquirer: any UpstreamAcquirer
  private let pool: UpstreamPool
  private let choice: UpstreamPool.Choice
  private let timeouts: Timeouts
  private let tally: ServiceTally
  private let context: WorkerContext
  private var state = State.fallback(nil)
  /// When the request stops waiting for settings. In milliseconds of the loop's clock.
  private let giveUpAt: UInt64

  init(
    for acquirer: any UpstreamAcquirer, of pool: UpstreamPool, choice: UpstreamPool.Choice, timeouts: Timeouts,
    tally: ServiceTally, context: WorkerContext
  ) {
    (self.acquirer, self.pool, self.choice) = (acquirer, pool, choice)
    (self.timeouts, self.tally, self.context) = (timeouts, tally, context)
    giveUpAt = context.loop.now + timeouts.connect + timeouts.handshake
  }

  var isFinished: Bool { if case .over = state { true } else { false } }

  /// - Parameter existing: a connection that does not accept WebSockets, or not yet. `nil` to open one.
  func open(on existing: UpstreamConnection?) {
    guard let existing else {
      let connector = Connector(pool: pool, timeouts: timeouts, tally: tally, context: context) { [unowned self] in
        connected($0)
      }
      state = .connecting(connector)
      return connector.start()
    }
    if existing.hasSettings { useHTTP1() } else { awaitSettings(of: existing) }
  }

  private func connected(_ result: Result<UpstreamConnection, ConnectFailure>) {
    guard case .connection(let connection, _) = pool.outcome(of: result) else {
      if case .failure(let failure) = result { end(.failed(failure)) }
      return
    }
    // Other requests can use it in the meantime.
    connection.keep()
    awaitSettings(of: connection)
  }

  private func awaitSettings(of connection: UpstreamConnection) {
    state = .awaitingSettings(connection)
    if connection.isClosed || connection.hasSettings { return proceedLater() }
    pool.add(self)
    context.deadlines.schedule(self, at: min(context.loop.now + timeouts.handshake, giveUpAt))
  }

  func waits(for connection: UpstreamConnection) -> Bool {
    guard case .awaitingSettings(let own) = state else { return false }
    return own === connection
  }

  /// Called when the settings have arrived, and when the connection has closed.
  func proceedLater() {
    guard case .awaitingSettings(let connection) = state else { return }
    stopWaiting()
    state = .proceeding(after: connection)
    context.loop.onNextTurn { [weak self] in self?.proceed() }
  }

  private func proceed() {
    guard case .proceeding(let connection) = state else { return }
    if let existing = pool.acquire(at: context.moment().calendar, choice) {
      if existing.acceptsWebSockets { return end(.connection(existing, isReused: true)) }
      existing.keep()
      // Another connection, which was opened at the same time.
      if !existing.hasSettings, existing !== connection, context.loop.now < giveUpAt {
        return awaitSettings(of: existing)
      }
    }
    useHTTP1()
  }

  private func useHTTP1() {
    state = .fallback(nil)
    do throws(TLSError) {
      try pool.http1Only().acquire(choice, for: self, timeouts: timeouts, tally: tally, context: context)
    } catch {
      end(.failed(ConnectFailure(error.kind.refusal, error.detail)))
    }
  }

  private func end(_ outcome: UpstreamOutcome) {
    state = .over
    acquirer.acquired(outcome)
  }

  private func stopWaiting() {
    pool.remove(self)
    context.deadlines.cancel(self)
  }

  func cancel() {
    let former = state
    state = .over
    stopWaiting()
    switch former {
    case .connecting(let connector): connector.cancel()
    case .fallback(let opening): opening?.cancel()
    case .awaitingSettings, .proceeding, .over: break
    }
  }

  /// The upstream has sent no settings.
  override func deadlinePassed() { proceedLater() }

  // MARK: the connection with HTTP/1.1

  func connectionIsBeingOpened(by opening: any UpstreamOpening) { state = .fallback(opening) }

  func acquired(_ outcome: UpstreamOutcome) {
    guard case .failed(let failure) = outcome else { return end(outcome) }
    let detail = "the upstream accepts no WebSocket over HTTP/2 (RFC 8441), and a connection with HTTP/1.1 failed: "
    end(.failed(ConnectFailure(failure.refusal, detail + failure.detail)))
  }
}
