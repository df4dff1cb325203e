internal import Credentials
internal import EventLoop
internal import Gateway
internal import Generations
internal import Policy
internal import Settings
internal import System

/// What a request reserves when all its gates are open. The run holds the permits. The functions return the obstacle
/// if another worker has been faster since the gates were read.
struct Reservation {
  let run: RequestRun
  let routeContext: RouteContext

  private var worker: Worker { run.worker }

  /// Counts the request as in progress (T54). A request that waits for a value counts, too.
  func place() -> GateObstacle? {
    if run.hasQuota { return nil }
    run.quota = worker.admitRequest(of: run.client.quota)
    guard run.hasQuota else { return .tooManyRequests }
    run.isRecordPromised = true
    return nil
  }

  /// Reserves everything that the request needs before it gets a connection. The permit of the breaker follows when the
  /// head is sent (`breaker`).
  func all() -> GateObstacle? { place() ?? suspension() ?? rate() }

  /// Passes the current value of the credential to its breaker, which may know the value as rejected.
  private func suspension() -> GateObstacle? {
    guard let grant = run.grant, let breaker = routeContext.breaker, !isClosed(breaker, grant) else { return nil }
    return breaker.shared.wait(at: worker.loop.now).map { suspended(grant, breaker, $0) }
  }

  /// Acquires the permit of the credential's breaker, shortly before the head is sent.
  func breaker(forGrant grant: Int) -> GateObstacle? {
    run.attempt.returnBreaker()
    guard let breaker = routeContext.breaker else { return nil }
    _ = isClosed(breaker, grant)
    run.attempt.breaker = BreakerPermit(breaker, on: worker.loop)
    return run.attempt.hasBreaker ? nil : suspended(grant, breaker, breaker.shared.wait(at: worker.loop.now) ?? 0)
  }

  /// Whether the breaker is closed for the credential's current value. Otherwise passes the value to the breaker.
  private func isClosed(_ breaker: BreakerView, _ grant: Int) -> Bool {
    let keyring = run.generation.keyring
    if breaker.isClosed(for: keyring.secretVersion(ofGrant: grant)) { return true }
    breaker.update(from: keyring, grant: grant, at: worker.loop.now, log: worker.log)
    return false
  }

  /// Returns the obstacle for a credential that is suspended for `wait` milliseconds.
  private func suspended(_ grant: Int, _ breaker: BreakerView, _ wait: UInt64) -> GateObstacle {
    .suspended(
      wait, isTesting: breaker.shared.state.isTesting,
      changesByItself: run.generation.settings.credentials[grant].changesByItself)
  }

  /// Reserves one request of the caller's rate (T8). It counts once, when the head is sent.
  private func rate() -> GateObstacle? {
    guard let limiter = routeContext.limiter, !run.attempt.hasSpentRate, let caller = run.caller else { return nil }
    guard let wait = worker.sharedState.lock({ limiter.reserve(for: caller, at: worker.loop.now) }) else {
      run.attempt.rate = RatePermit(of: limiter, for: caller, under: worker.sharedState.lock)
      return nil
    }
    return .rateExceeded(run.generation.excess(of: limiter, routeContext.route, wait: wait))
  }
}
