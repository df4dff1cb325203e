internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Providers
internal import Setup

/// The breaker's part in an exchange: asked before anything is opened and again when the head goes out, told of the answer.
extension ClientSession {
  /// Why the credential may not go out now; nil: it may.
  func suspension(ofGrant grant: Int, of keyring: Keyring) -> GateObstacle? {
    attempt.returnBreaker()
    guard let breaker = routeContext?.breaker, !breaker.isClosed(for: keyring.generation(ofGrant: grant)) else {
      return nil
    }
    follow(breaker, grant)
    return breaker.shared.wait(at: worker.loop.now).map { suspended(grant, $0) }
  }

  /// The head is about to go out. The answers to others may have come since the session was asked for, and so may a new value.
  func acquireBreakerPermit(forGrant grant: Int) -> Refusal? {
    attempt.returnBreaker()
    guard let breaker = routeContext?.breaker else { return nil }
    if !breaker.isClosed(for: generation.keyring.generation(ofGrant: grant)) { follow(breaker, grant) }
    guard let permit = BreakerPermit(breaker, on: worker.loop) else {
      return suspended(grant, breaker.shared.wait(at: worker.loop.now) ?? 0).refusal
    }
    attempt.take(permit)
    return nil
  }

  /// - Parameter wait: milliseconds until one request may try it.
  private func suspended(_ grant: Int, _ wait: UInt64) -> GateObstacle {
    .suspended(
      wait, isTried: routeContext?.breaker?.shared.state.isTried ?? false,
      changesByItself: generation.settings.credentials[grant].changesByItself)
  }

  private func follow(_ breaker: BreakerView, _ grant: Int) {
    breaker.follow(generation.keyring, grant, at: worker.loop.now, log: worker.log)
  }

  /// The upstream's verdict, to the programs that gave a part of the credential.
  func report(_ verdict: CredentialVerdict?) {
    let values = attempt.helperValues
    attempt.helperValues = []
    guard let verdict else { return }
    worker.providers.commands?.answered(verdict, to: values)
  }
}
