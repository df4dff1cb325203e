// Called by `UpstreamPool.acquire` (`UpstreamAcquisition.swift`), for pools that offer only HTTP/2.
// Calls `Connector`, and then `UpstreamPool.acquire` of the pool that offers HTTP/1.1.

internal import EventLoop
internal import Gateway
internal import Policy
internal import TLS

/// A request that opens a WebSocket, and waits for the settings of an HTTP/2 connection (RFC 8441 section 3).
///
/// If the upstream accepts no WebSockets on the connection, the request gets a connection with HTTP/1.1.
final class WebSocketOpening: PendingAcquisition, UpstreamOpening, UpstreamAcquirer {
  private enum State {
    case connecting(Connector)
    /// - Parameter isOwn: whether only this request can use the connection, because it was opened for the request.
    case awaitingSettings(UpstreamConnection, isOwn: Bool)
    /// The request continues on the next turn of the loop.
    case proceeding(after: UpstreamConnection, isOwn: Bool)
    /// A connection with HTTP/1.1 is being opened. `nil` before the attempt has begun.
    case fallback((any UpstreamOpening)?)
  }

  private var state = State.fallback(nil)
  /// Whether an upstream's settings say that it accepts no WebSockets.
  private var isRefused = false

  /// - Parameter existing: a connection that does not accept WebSockets, or not yet. `nil` to open one.
  func open(on existing: UpstreamConnection?) {
    guard let existing else {
      let connector = connector { [unowned self] in connected($0) }
      state = .connecting(connector)
      return connector.start()
    }
    if existing.hasSettings { useHTTP1(after: existing) } else { awaitSettings(of: existing, isOwn: false) }
  }

  private func connected(_ result: Result<UpstreamConnection, ConnectFailure>) {
    guard case .connection(let connection, _) = pool.outcome(of: result) else {
      if case .failure(let failure) = result { end(.failed(failure)) }
      return
    }
    awaitSettings(of: connection, isOwn: true)
  }

  private func awaitSettings(of connection: UpstreamConnection, isOwn: Bool) {
    state = .awaitingSettings(connection, isOwn: isOwn)
    if connection.isClosed || connection.hasSettings { return proceedLater() }
    pool.add(self)
    context.deadlines.schedule(self, at: min(context.loop.now + timeouts.handshake, giveUpAt))
  }

  func waits(for connection: UpstreamConnection) -> Bool {
    guard case .awaitingSettings(let awaited, _) = state else { return false }
    return awaited === connection
  }

  /// Called when the settings have arrived, and when the connection has closed.
  func proceedLater() {
    guard !isFinished, case .awaitingSettings(let connection, let isOwn) = state else { return }
    stopWaiting()
    state = .proceeding(after: connection, isOwn: isOwn)
    context.loop.onNextTurn { [weak self] in self?.proceed() }
  }

  private func proceed() {
    guard !isFinished, case .proceeding(let connection, let isOwn) = state else { return }
    if isOwn {
      if connection.acceptsWebSockets, connection.hasRoom { return end(.connection(connection, isReused: false)) }
      // Other requests can use it.
      if !connection.isClosed { connection.keep() }
    } else if let existing = acquireExisting() {
      if existing.acceptsWebSockets { return end(.connection(existing, isReused: true)) }
      existing.keep()
      // Another connection, which was opened at the same time.
      if !existing.hasSettings, existing !== connection, context.loop.now < giveUpAt {
        return awaitSettings(of: existing, isOwn: false)
      }
    }
    useHTTP1(after: connection)
  }

  private func useHTTP1(after connection: UpstreamConnection) {
    isRefused = connection.hasSettings && !connection.acceptsWebSockets
    state = .fallback(nil)
    do throws(TLSError) {
      try pool.http1Only().acquire(choice, for: self, timeouts: timeouts, tally: tally, context: context)
    } catch {
      end(.failed(ConnectFailure(error.kind.refusal, error.detail)))
    }
  }

  private func stopWaiting() {
    pool.remove(self)
    context.deadlines.cancel(self)
  }

  func cancel() {
    if isFinished { return }
    isFinished = true
    stopWaiting()
    switch state {
    case .connecting(let connector): connector.cancel()
    case .fallback(let opening): opening?.cancel()
    case .awaitingSettings(let connection, let isOwn), .proceeding(let connection, let isOwn):
      if isOwn, !connection.isClosed { connection.keep() }
    }
  }

  /// The upstream has sent no settings.
  override func deadlinePassed() { proceedLater() }

  // MARK: the connection with HTTP/1.1

  func connectionIsBeingOpened(by opening: any UpstreamOpening) { state = .fallback(opening) }

  func acquired(_ outcome: UpstreamOutcome) {
    guard case .failed(let failure) = outcome else { return end(outcome) }
    let reason =
      isRefused
      ? "the upstream accepts no WebSocket over HTTP/2 (RFC 8441)" : "no WebSocket could be opened over HTTP/2"
    let detail = "\(reason), and a connection with HTTP/1.1 failed: \(failure.detail)"
    end(.failed(ConnectFailure(failure.refusal, detail)))
  }
}
