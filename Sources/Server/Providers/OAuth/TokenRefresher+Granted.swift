internal import Log
internal import Lifecycle
internal import Secrets
internal import Settings
internal import Generations
internal import StatusModel
internal import System

/// Stores granted tokens, and puts them into use.
extension TokenRefresher {
  /// Reports that a token is needed, but too many were requested recently.
  func reportStorm() {
    let (settings, now) = (RenewalSettings(), BootTimer.now)
    guard stormReportedAt.map({ now >= $0 &+ settings.renewalWindow }) ?? true else { return }
    stormReportedAt = now
    let sentence =
      "bearerd asked for \(settings.maxRenewals) tokens within \(settings.renewalWindow / 1_000) s and still needs one: the next request has to wait"
    status.noteFailure(sentence)
    providers.log.event(.tokenStorm, ("credential", source.credential), ("detail", sentence))
  }

  func discardExpired() {
    grantedToken = nil
    let sentence = "\(source.endpoint) granted a token that has already expired: bearerd asks for another one"
    recordFailure(sentence)
    onChange(self) { [source] in $0.fail(source, sentence) }
  }

  /// Records in the status and in the log that the endpoint granted no usable token.
  func recordFailure(_ sentence: String) {
    status.history.failed += 1
    status.noteFailure(sentence)
    providers.log.event(.tokenFailed, ("credential", source.credential), ("detail", sentence))
  }

  /// Stores that the refresh token was refused, so that it is not sent again after a restart.
  func storeRefusal() {
    isStoring = true
    login.markRefused(mustLock: providers.generation.settings.requireLockedMemory) { [weak self] problem in
      guard let self, !succession.hasEnded else { return }
      isStoring = false
      if let problem {
        let sentence = "bearerd could not store that the server rejected the refresh token: \(problem)"
        providers.log.event(.loginNotStored, ("credential", source.credential), ("detail", sentence))
      }
      adoptWaitingLogin()
      endRetirement()
    }
  }

  /// Stores the new refresh token, and then uses the access token.
  func store(_ number: UInt64) {
    // In this order, because the server may no longer accept the old refresh token (RFC 6749 section 6).
    isStoring = true
    login.store(mustLock: providers.generation.settings.requireLockedMemory) { [weak self] problem in
      guard let self, !succession.hasEnded else { return }
      isStoring = false
      defer {
        adoptWaitingLogin()
        endRetirement()
      }
      guard let problem else {
        return carryOut(renewal.stored(number: number, at: BootTimer.now, chance: chance))
      }
      let sentence = "bearerd could not store the new refresh token: \(problem)"
      status.noteFailure(sentence)
      providers.log.event(.loginNotStored, ("credential", source.credential), ("detail", sentence))
      let actions = renewal.storingFailed(number: number, at: BootTimer.now, chance: chance)
      update()
      onChange(self) { [source] in $0.fail(source, sentence) }
      carryOut(actions)
      loginAttempt?.storeFailed(problem)
    }
  }

  func publish() {
    // The configuration has changed: the next refresher begins with the stored token.
    if succession.isRetired { return grantedToken = nil }
    guard let token = grantedToken.take() else { return }
    isTokenUsed = false
    status.loggedOut = nil
    if loginAttempt != nil || usedSecrets.last != usedSecrets.atGrant {
      status.holder &+= 1
      providers.removeCookies(of: source.credential)
    }
    usedSecrets.atGrant = usedSecrets.last
    update()
    if loginAttempt != nil {
      providers.retireConnections(of: source.credential)
      providers.postToOthers { [credential = source.credential] in $0.retireConnections(of: credential) }
    }
    var pending: Secret? = consume token
    onChange(self) { [source] values in
      if let token = pending.take() { values.store(source, token) }
    }
    loginAttempt?.tokenActivated()
  }
}
