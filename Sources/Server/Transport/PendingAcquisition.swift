// Called by `UpstreamPool.acquire` (`UpstreamAcquisition.swift`).

internal import EventLoop
internal import Gateway
internal import Policy
internal import TLS

/// A request that waits for a connection to an upstream that offers HTTP/2.
class PendingAcquisition: DeadlineOwner {
  unowned let acquirer: any UpstreamAcquirer
  final var pool: UpstreamPool
  /// The existing connections that the request may use. `nil` if it needs a new connection.
  let choice: UpstreamPool.Choice?
  let timeouts: Timeouts
  let tally: ServiceTally
  let context: WorkerContext
  /// When the request has waited as long as one connection may take. In milliseconds of the loop's clock.
  let giveUpAt: UInt64
  /// Whether the request has its outcome, or never gets one.
  final var isFinished = false

  init(
    for acquirer: any UpstreamAcquirer, of pool: UpstreamPool, choice: UpstreamPool.Choice?, timeouts: Timeouts,
    tally: ServiceTally, context: WorkerContext
  ) {
    (self.acquirer, self.pool, self.choice) = (acquirer, pool, choice)
    (self.timeouts, self.tally, self.context) = (timeouts, tally, context)
    giveUpAt = context.loop.now + timeouts.connect + timeouts.handshake
  }

  /// Returns a connection that exists and that the request may use. `nil` if there is none.
  final func acquireExisting() -> UpstreamConnection? {
    choice.flatMap { pool.acquire(at: context.moment().calendar, $0) }
  }

  /// Returns a connector that opens a connection for this request alone. Call `start` to begin.
  final func connector(
    _ completion: @escaping (Result<UpstreamConnection, ConnectFailure>) -> Void
  ) -> Connector {
    Connector(pool: pool, timeouts: timeouts, tally: tally, context: context, completion: completion)
  }

  final func end(_ outcome: UpstreamOutcome) {
    isFinished = true
    context.deadlines.cancel(self)
    acquirer.acquired(outcome)
  }
}
