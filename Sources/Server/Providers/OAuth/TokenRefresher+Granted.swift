internal import Configuration
internal import Log
internal import OAuth
internal import Lifecycle
internal import Secrets
internal import Setup
internal import System

/// A granted token on its way to the disk and into use.
extension TokenRefresher {
  /// There is no token to go out with, and the next one has to wait since too many were asked for. The log hears of it once in
  /// the time that is limited; the status and requests always.
  func reportStorm() {
    let (settings, now) = (RenewalSettings(), BootTimer.now)
    guard stormReportedAt.map({ now >= $0 &+ settings.stormWindow }) ?? true else { return }
    stormReportedAt = now
    let sentence =
      "bearerd asked for \(settings.stormLimit) tokens within \(settings.stormWindow / 1_000) s and still needs one: the next request has to wait"
    standing.failure = TokenStatus.Failure(at: Clock.now.seconds, sentence: sentence)
    providers.log.event(.tokenStorm, ("credential", source.credential), ("detail", sentence))
  }

  /// The server has granted a token that nothing may go out with any more.
  func discardEnded() {
    grantedToken = nil
    let sentence = "\(source.endpoint) granted a token that has already expired: bearerd asks for another one"
    recordFailure(sentence)
    onChange(self) { [source] in $0.fail(source, sentence) }
  }

  /// The endpoint was asked, and there is no token of use.
  func recordFailure(_ sentence: String) {
    standing.failed += 1
    standing.failure = TokenStatus.Failure(at: Clock.now.seconds, sentence: sentence)
    providers.log.event(.tokenFailed, ("credential", source.credential), ("detail", sentence))
  }

  /// A refresh token that is worth nothing is not shown to the server again, after a restart neither.
  func storeRefusal() {
    isStoring = true
    login.refuse(mustLock: providers.generation.settings.requireLockedMemory) { [weak self] problem in
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

  /// The refresh token first (RFC 6749 section 6): once the server has given a new one, it may take the old one no more.
  func store(_ number: UInt64) {
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
      standing.failure = TokenStatus.Failure(at: Clock.now.seconds, sentence: sentence)
      providers.log.event(.loginNotStored, ("credential", source.credential), ("detail", sentence))
      let actions = renewal.storingFailed(number: number, at: BootTimer.now, chance: chance)
      update()
      onChange(self) { [source] in $0.fail(source, sentence) }
      carryOut(actions)
      loginAttempt?.wasNotStored(problem)
    }
  }

  func publish() {
    // Its configuration is gone: what was stored is what the next one begins with.
    if succession.isRetired { return grantedToken = nil }
    switch grantedToken.take() {
    case .none: break
    case .some(let token):
      isTokenUsed = false
      standing.loggedOut = nil
      if loginAttempt != nil || shown.last != shown.atGrant {
        standing.holder &+= 1
        providers.removeCookies(of: source.credential)
      }
      shown.atGrant = shown.last
      update()
      if loginAttempt != nil {
        providers.setApart(source.credential)
        providers.tellOthers { [credential = source.credential] in $0.setApart(credential) }
      }
      var held: Secret? = consume token
      onChange(self) { [source] values in
        if let token = held.take() { values.take(source, token) }
      }
      loginAttempt?.isInUse()
    }
  }
}
