internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Providers
internal import Settings
internal import Generations

/// The circuit breaker in an exchange.
extension ClientSession {
  /// Passes the credential's current value to the breaker. Returns the obstacle if the value is suspended.
  func suspension(ofGrant grant: Int, _ breaker: BreakerView) -> GateObstacle? {
    if breaker.isClosed(for: generation.keyring.secretVersion(ofGrant: grant)) { return nil }
    updateBreaker(breaker, grant)
    return breaker.shared.wait(at: worker.loop.now).map { suspended(grant, $0) }
  }

  /// Acquires the breaker's permit. Returns a refusal if the credential is suspended.
  func acquireBreakerPermit(forGrant grant: Int) -> Refusal? {
    attempt.returnBreaker()
    guard let breaker = routeContext?.breaker else { return nil }
    if !breaker.isClosed(for: generation.keyring.secretVersion(ofGrant: grant)) { updateBreaker(breaker, grant) }
    guard let permit = BreakerPermit(breaker, on: worker.loop) else {
      return suspended(grant, breaker.shared.wait(at: worker.loop.now) ?? 0).refusal
    }
    attempt.store(permit)
    return nil
  }

  /// Returns the obstacle for a credential that is suspended for `wait` milliseconds.
  private func suspended(_ grant: Int, _ wait: UInt64) -> GateObstacle {
    .suspended(
      wait, isTesting: routeContext?.breaker?.shared.state.isTesting ?? false,
      changesByItself: generation.settings.credentials[grant].changesByItself)
  }

  private func updateBreaker(_ breaker: BreakerView, _ grant: Int) {
    breaker.update(from: generation.keyring, grant: grant, at: worker.loop.now, log: worker.log)
  }

  func report(_ verdict: CredentialVerdict?) {
    let values = attempt.helperValues
    attempt.helperValues = []
    guard let verdict else { return }
    worker.providers.commands?.report(verdict, for: values)
  }
}
