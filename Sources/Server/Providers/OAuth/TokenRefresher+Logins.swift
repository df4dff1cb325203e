internal import Configuration
internal import Credentials
internal import Generations
internal import Lifecycle
internal import OAuth
internal import Secrets
internal import Settings
internal import System

/// Logs persons in, and logs tokens out. Requests a new token after a reload or `bearerctl resume` (T46).
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

  // MARK: logout

  var isLoggingOut: Bool { logout != nil }

  /// Logs the token out. No request uses it after this call.
  /// - Parameters:
  ///   - onRecorded: called once, perhaps within this call, when a restart would no longer restore the login.
  ///   - onEnd: called once, when the logout is complete.
  func logOut(onRecorded: @escaping () -> Void, onEnd: @escaping (TokenLogout.Outcome) -> Void) {
    let logout = TokenLogout(source, login: login, providers: providers, onRecorded: onRecorded) {
      [weak self] outcome in
      self?.logout = nil
      onEnd(outcome)
      self?.secretsChanged()
    }
    self.logout = logout
    logout.add(access: grantedToken.take())
    if activeQuery?.isInProgress == false { stopAsking() }
    if activeQuery != nil { logout.awaitResponse() }
    let purpose = loginAttempt?.endpointClient.purpose
    if let client = loginAttempt?.cancelYieldingClient("it was logged out in the meantime"), let purpose {
      logout.awaitResponse(to: client, purpose)
    }
    (loginAttempt, waitingLogin) = (nil, nil)
    usedSecrets.last = fingerprint
    usedSecrets.atLogout = usedSecrets.last
    status.loggedOut = Clock.now.seconds
    let actions = renewal.logout()
    update()
    let withdrawn = TokenBox(nil)
    onChange(self) { [source] values in withdrawn.token = values.withdraw(source) }
    logout.add(access: withdrawn.token.take())
    carryOut(actions)
    oncePredecessorsEnded { logout.start() }
  }

  /// Whether the secrets have changed since the last request. `false` if the token stays logged out.
  var hasOtherSecrets: Bool {
    guard logout == nil, let last = usedSecrets.last else { return false }
    let fingerprint = fingerprint
    return last != fingerprint && !staysLoggedOut(fingerprint)
  }

  /// Whether a logged-out token stays logged out with the secrets of this fingerprint.
  func staysLoggedOut(_ fingerprint: String) -> Bool {
    // A program may print new values each time, so they do not restore the token.
    let isOfProgram = source.sources.contains { $0.source.command != nil }
    return status.loggedOut != nil
      && (fingerprint == usedSecrets.atLogout || fingerprint.contains("-") || isOfProgram)
  }

  /// Discards the tokens of a request that was sent before a logout or a login.
  func discard(_ grant: consuming TokenGrant) {
    // After a login, the old tokens are not revoked: at some servers, this would also end the new ones.
    var access: Secret?
    var refresh: Secret?
    grant.unpack(access: &access, refresh: &refresh)
    guard let logout else { return }
    logout.add(access: access.take(), refresh: refresh.take())
    logout.responseArrived()
  }

  /// Requests a token after a reload, if the last request failed or the token was rejected.
  /// - Parameter brings: whether to also request a token after a logout.
  func reloaded(brings: Bool) {
    if brings, !source.keepsLogin, status.loggedOut != nil, logout == nil {
      renewal.changed(brings: true)
      notifyChange()
      requestToken()
    } else {
      _ = resume()
    }
    secretsChanged()
  }

  /// Tries a refused login again after the account or the secrets of `TokenSource.basis` have changed.
  func basisChanged() {
    guard status.loggedOut == nil, logout == nil, activeQuery == nil else { return }
    renewal.changed(brings: true)
    notifyChange()
    requestToken()
  }

  /// Requests a token now after a failure or a rejection.
  /// - Returns: Whether a token is being requested.
  func resume() -> Bool {
    guard status.loggedOut == nil, logout == nil, renewal.failures > 0 || renewal.isRejected else { return false }
    renewal.changed()
    notifyChange()
    requestToken()
    return renewal.isRenewing
  }
}

/// A reference to a noncopyable token that is to be revoked.
final class TokenBox {
  var token: Secret?

  init(_ token: consuming Secret?) { self.token = token }
}
