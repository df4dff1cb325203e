internal import Configuration
internal import Credentials
internal import Lifecycle
internal import Secrets
internal import Generations

/// Logins by persons.
extension TokenRefresher {
  /// Starts a person's login, or lets the client join a login in progress.
  func logIn(_ exchange: ControlExchange) {
    guard !succession.hasEnded else { return exchange.end(.failure(.system("bearerd is stopping"))) }
    if let attempt = loginAttempt { return attempt.join(exchange) }
    let attempt = LoginAttempt(source, providers: providers) { [unowned self] outcome in
      switch outcome {
      case .granted(let new): loggedIn(new)
      case .ended: loginAttempt = nil
      }
    }
    loginAttempt = attempt
    attempt.join(exchange)
    attempt.start()
  }

  private func loggedIn(_ new: NewLogin) {
    // Only one write of the file at a time.
    guard !isStoring else { return waitingLogin = new }
    stopAsking()
    do throws(SecretProblem) {
      let hasToBeStored = try login.adopt(new, in: providers.generation.keyring.tokenValues.arena)
      grantedToken = new.access.take()
      carryOut(
        renewal.loggedIn(
          Granted(lifetime: new.lifetime, hasToBeStored: hasToBeStored), since: new.since, chance: chance))
    } catch {
      loginAttempt?.storeFailed(error.sentence)
    }
  }

  func adoptWaitingLogin() {
    if let new = waitingLogin.take() { loggedIn(new) }
  }
}
