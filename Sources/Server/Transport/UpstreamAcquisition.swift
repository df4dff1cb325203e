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
  ///   - tally: counts the connections of the service.
  package func acquire(
    _ choice: Choice?, for acquirer: any UpstreamAcquirer, timeouts: Timeouts, tally: ServiceTally,
    context: WorkerContext
  ) {
    if let choice, let idle = acquire(at: context.moment().calendar, choice) {
      return acquirer.acquired(.connection(idle, isReused: true))
    }
    let connector = Connector(pool: self, timeouts: timeouts, tally: tally, context: context) { [unowned acquirer] in
      switch $0 {
      case .success(let connection): acquirer.acquired(.connection(connection, isReused: false))
      case .failure(let failure): acquirer.acquired(.failed(failure))
      }
    }
    connector.start()
    if !connector.isFinished { acquirer.connectionIsBeingOpened(by: connector) }
  }
}

package enum UpstreamOutcome {
  case connection(UpstreamConnection, isReused: Bool)
  case failed(ConnectFailure)
}

/// Receives the outcome of `UpstreamPool.acquire`. Must exist until then, or cancel the connector.
package protocol UpstreamAcquirer: AnyObject {
  /// The outcome comes later. Keep `connector` until then. Cancel it to get no outcome.
  func connectionIsBeingOpened(by connector: Connector)
  func acquired(_ outcome: UpstreamOutcome)
}
