package import Gateway
package import Policy
internal import TLS

/// Gets a connection of a pool for one request: an idle one, if the request may use one, or a new one.
package struct UpstreamAcquisition {
  private let pool: UpstreamPool
  private let choice: UpstreamPool.Choice?
  private let timeouts: Timeouts
  private let tally: ServiceTally
  private let context: WorkerContext

  /// - Parameters:
  ///   - choice: the idle connections that the request may use. `nil` if it needs a new connection.
  ///   - tally: counts the connections of the service.
  package init(
    from pool: UpstreamPool, _ choice: UpstreamPool.Choice?, timeouts: Timeouts, tally: ServiceTally,
    context: WorkerContext
  ) {
    (self.pool, self.choice, self.timeouts) = (pool, choice, timeouts)
    (self.tally, self.context) = (tally, context)
  }

  /// Calls `acquired` of `acquirer` once, which begins a run on the connection or keeps it: within this call if possible,
  /// otherwise later, after `connectionIsBeingOpened`.
  package func begin(for acquirer: any UpstreamAcquirer) {
    if let choice, let idle = pool.acquire(at: context.moment().calendar, choice) {
      return acquirer.acquired(.connection(idle, isReused: true))
    }
    let connector = Connector(pool: pool, timeouts: timeouts, tally: tally, context: context) { [unowned acquirer] in
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

/// Receives the outcome of an `UpstreamAcquisition`. Must exist until then, or cancel the connector.
package protocol UpstreamAcquirer: AnyObject {
  /// The outcome comes later. Keep `connector` until then. Cancel it to get no outcome.
  func connectionIsBeingOpened(by connector: Connector)
  func acquired(_ outcome: UpstreamOutcome)
}
