package import Gateway
package import Policy
internal import TLS

extension UpstreamPool {
  /// Gets a connection for one request: one that exists, if the request may use it, or a new one.
  ///
  /// Calls `acquired` of `acquirer` once, which begins a run on the connection or keeps it: within this call if possible,
  /// otherwise later, after `connectionIsBeingOpened`.
  /// - Parameters:
  ///   - choice: the existing connections that the request may use. `nil` if it needs a new connection.
  ///   - needsHTTP1: whether only a connection with HTTP/1.1 can carry the request.
  ///   - opensWebSocket: whether the request opens a WebSocket, which also needs HTTP/1.1 unless an HTTP/2 connection accepts it.
  ///   - tally: counts the connections of the service.
  package func acquire(
    _ choice: Choice?, needsHTTP1: Bool = false, opensWebSocket: Bool = false, for acquirer: any UpstreamAcquirer,
    timeouts: Timeouts, tally: ServiceTally, context: WorkerContext
  ) {
    if offersHTTP2, opensWebSocket, !needsHTTP1, !prefersHTTP1 {
      let existing = choice.flatMap { acquire(at: context.moment().calendar, $0) }
      if let existing {
        if existing.acceptsWebSockets { return acquirer.acquired(.connection(existing, isReused: true)) }
        existing.keep()
      }
      if offersOnlyHTTP2 {
        let opening = WebSocketOpening(
          for: acquirer, of: self, choice: choice, timeouts: timeouts, tally: tally, context: context)
        opening.open(on: existing)
        if !opening.isFinished { acquirer.connectionIsBeingOpened(by: opening) }
        return
      }
    }
    if offersHTTP2, needsHTTP1 || prefersHTTP1 || opensWebSocket {
      do throws(TLSError) {
        return try http1Only().acquire(choice, for: acquirer, timeouts: timeouts, tally: tally, context: context)
      } catch {
        return acquirer.acquired(.failed(ConnectFailure(error.kind.refusal, error.detail)))
      }
    }
    if let choice, let existing = acquire(at: context.moment().calendar, choice) {
      return acquirer.acquired(.connection(existing, isReused: true))
    }
    if sharesOpenings {
      let wait = SharedWait(
        for: acquirer, of: self, choice: choice, timeouts: timeouts, tally: tally, context: context)
      wait.open()
      if !wait.isFinished { acquirer.connectionIsBeingOpened(by: wait) }
      return
    }
    let connector = Connector(pool: self, timeouts: timeouts, tally: tally, context: context) {
      [self, unowned acquirer] in
      acquirer.acquired(outcome(of: $0))
    }
    connector.start()
    if !connector.isFinished { acquirer.connectionIsBeingOpened(by: connector) }
  }

  /// Returns the outcome for the request for which a connection was opened.
  func outcome(of result: Result<UpstreamConnection, ConnectFailure>) -> UpstreamOutcome {
    switch result {
    case .success(let connection):
      learnProtocol(of: connection)
      return .connection(connection, isReused: false)
    case .failure(let failure): return .failed(failure)
    }
  }
}

package enum UpstreamOutcome {
  case connection(UpstreamConnection, isReused: Bool)
  case failed(ConnectFailure)
}

/// Receives the outcome of `UpstreamPool.acquire`. Must exist until then, or cancel the opening.
package protocol UpstreamAcquirer: AnyObject {
  /// The outcome comes later. Keep `opening` until then. Cancel it to get no outcome.
  func connectionIsBeingOpened(by opening: any UpstreamOpening)
  func acquired(_ outcome: UpstreamOutcome)
}

/// A connection that is being opened, as the request sees it that waits for it.
package protocol UpstreamOpening: AnyObject {
  /// Whether the request has its outcome, or never gets one.
  var isFinished: Bool { get }
  /// Stops waiting, without an outcome.
  func cancel()
}
