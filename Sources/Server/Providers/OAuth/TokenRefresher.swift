internal import Credentials
internal import EventLoop
internal import Log
internal import OAuth
internal import Lifecycle
internal import Secrets
internal import Settings
internal import Generations
internal import StatusModel
internal import System
internal import Transport

/// Requests, renews, stores and publishes one token, as `Renewal` decides (T39).
final class TokenRefresher {
  /// Called when a token's value or status has changed.
  /// - Parameter change: updates the value or its failure. `nil` if only the status has changed.
  typealias Change = (TokenRefresher, _ change: ((TokenValues) -> Void)?) -> Void

  unowned let providers: CredentialProviders
  let onChange: Change
  var renewal: Renewal
  var status = TokenStatus()
  private(set) var login: TokenLogin
  /// Whether a thread is writing the login's file.
  var isStoring = false
  var loginAttempt: LoginAttempt?
  /// A person's new login that is stored after the write in progress.
  var waitingLogin: NewLogin?
  /// A granted access token that is not used until its refresh token is on disk.
  var grantedToken: Secret?
  var isTokenUsed = false
  var usedSecrets = UsedSecrets()
  private(set) var activeQuery: TokenQuery?
  var logout: TokenLogout?
  /// The earlier refreshers of the same login, and the work that waits for them.
  var succession = TokenSuccession()
  var loginReason = ""
  /// When the log last reported too many token requests, in milliseconds of `BootTimer`.
  var stormReportedAt: UInt64?
  /// The last logged remark on a token response.
  private var remark: String?

  /// Fingerprints of the secrets for the token endpoint, to detect changed secrets.
  struct UsedSecrets {
    /// Fingerprint of the secrets at the last token request or logout. `nil` before the first.
    var last: String?
    /// The value of `last` when the last token was granted. `nil` before the first token.
    var atGrant: String?
    /// Fingerprint of the last secrets from before the logout. `nil` if there was no logout.
    var atLogout: String?
  }

  init(_ source: TokenSource, providers: CredentialProviders, blocking: BlockingTasks, onChange: @escaping Change) {
    self.providers = providers
    self.onChange = onChange
    login = TokenLogin(source, blocking: blocking)
    var settings = RenewalSettings()
    (settings.lead, settings.skew) = (source.lead, source.skew)
    renewal = Renewal(settings: settings, needsLogin: false)
  }

  var source: TokenSource { login.source }

  /// The value of `status.holder` of which the sessions that depend on this token were told.
  var lastHolder: UInt64 = 0

  // MARK: demands

  func requestToken() { carryOut(renewal.request(at: BootTimer.now).1) }

  /// Handles an upstream's rejection of the token of this version, and notifies waiting requests.
  func rejected(_ version: UInt64) {
    guard version >= status.rejectedVersion else { return }
    status.rejectedVersion = version
    if version == renewal.tokenVersion {
      let (_, actions) = renewal.rejected(version, at: BootTimer.now)
      if actions == Renewal.Actions() { notifyChange() } else { carryOut(actions) }
    } else {
      notifyChange()
      if status.renewal.usableUntil <= BootTimer.now { requestToken() }
    }
  }

  /// Uses a new token that an upstream has set as a cookie.
  /// - Parameter version: the version of the token in the request.
  func receive(_ offer: TokenOffer, after version: UInt64) {
    // After a logout, an offer of another worker can still arrive.
    guard version == renewal.tokenVersion, !renewal.isRenewing, status.loggedOut == nil,
      let value = try? offer.secret(in: providers.generation.keyring.tokenValues.arena)
    else { return }
    grantedToken = consume value
    let most = source.form?.lifetime
    let lifetime = offer.lifetime.map { min($0, most ?? $0) } ?? most
    carryOut(renewal.loggedIn(Granted(lifetime: lifetime), since: BootTimer.now, chance: chance))
  }

  /// Requests a token if the secrets for the endpoint have changed.
  /// - Parameter predateLogout: whether the secrets are from before the logout.
  func secretsChanged(predateLogout: Bool = false) {
    if predateLogout, status.loggedOut != nil { usedSecrets.atLogout = fingerprint }
    // The end of a logout in progress checks again.
    guard hasOtherSecrets else { return }
    // Changed secrets do not replace a person's login.
    renewal.changed(brings: !source.isByLogin)
    notifyChange()
    requestToken()
  }

  /// The next time for `checkDeadlines(at:)`, in milliseconds of `BootTimer`. `nil` if there is none.
  var nextDeadline: UInt64? {
    let end = status.renewal.usableUntil
    return [
      renewal.deadline, end > 0 && end < .max ? end : nil,
      isTokenUsed && !status.renewal.isRenewing ? nextRenewal : nil,
    ].compactMap(\.self).min()
  }

  /// When to renew a token in use, in milliseconds of `BootTimer`. `nil` if there is nothing to renew, or if a person
  /// has to log in.
  private var nextRenewal: UInt64? {
    guard let due = status.renewal.renewAt, status.renewal.reason != .loginRequired else { return nil }
    return max(due, status.renewal.reason?.retryAt ?? due)
  }

  func checkDeadlines(at now: UInt64) {
    if let deadline = renewal.deadline, now >= deadline { carryOut(renewal.tick(at: now)) }
    if status.renewal.usableUntil > 0, now >= status.renewal.usableUntil {
      update()
      status.renewal.usableUntil = 0
      onChange(self) { [source] in $0.expire(source) }
    } else if isTokenUsed, let next = nextRenewal, now >= next {
      requestToken()
    }
  }

  func stopAsking() {
    guard let query = activeQuery else { return }
    activeQuery = nil
    query.cancel()
    logout?.responseArrived()
  }

  func stop() {
    logout?.cancel()
    succession.hasEnded = true
    stopAsking()
    loginAttempt?.fail("bearerd is stopping")
    loginAttempt = nil
  }

  // MARK: actions

  func carryOut(_ actions: Renewal.Actions) {
    if let number = actions.requestToken, !succession.isRetired { ask(number) }
    if let number = actions.store { store(number) }
    if actions.publish != nil { publish() }
    if actions.reportsLoginRequired {
      providers.log.event(.loginRequired, ("credential", source.credential), ("detail", loginReason))
    }
    if actions.reportsExpiredGrant { discardExpired() }
    if actions != Renewal.Actions() { notifyChange() }
  }

  func notifyChange() {
    update()
    onChange(self, nil)
  }

  func update() {
    status.renewal = renewal.status(at: BootTimer.now)
    if case .tooManyRenewals = status.renewal.reason, renewal.isRejected || status.renewal.usableUntil <= BootTimer.now
    {
      reportStorm()
    }
  }

  var fingerprint: String { providers.generation.keyring.fingerprint(ofSecretsFor: source) }

  var chance: UInt64 { UInt64.random(in: .min ... .max) }

  // MARK: token requests

  private func ask(_ number: UInt64) {
    stopAsking()
    status.history.asked += 1
    let query = TokenQuery(
      source, login: login, providers: providers, readsAgain: usedSecrets.last?.contains("-") == true
    ) {
      [unowned self] in
      usedSecrets.last = fingerprint
    } onEnd: { [unowned self] outcome in
      activeQuery = nil
      if !succession.hasEnded { answered(outcome, number) }
      endRetirement()
    }
    activeQuery = query
    // Not within the call of a request that may then wait for the token.
    providers.loop.onNextTurn { [weak self] in
      self?.oncePredecessorsEnded { [weak self] in
        guard let self, !succession.hasEnded, activeQuery === query else { return }
        query.start()
      }
    }
  }

  private func answered(_ outcome: consuming TokenQuery.Outcome, _ number: UInt64) {
    let isWanted = renewal.expects(number)
    switch consume outcome {
    case .granted(let grant):
      guard isWanted else { return discard(grant) }
      status.history.granted += 1
      status.history.lastGranted = Int(Clock.now.seconds)
      if let remark = grant.remark, remark != self.remark {
        self.remark = remark
        providers.log.event(.tokenRemark, ("credential", source.credential), ("detail", remark))
      }
      let lifetime = grant.lifetime
      var refresh: Secret?
      grant.unpack(access: &grantedToken, refresh: &refresh)
      let hasToBeStored = login.setGranted(refresh)
      carryOut(
        renewal.granted(
          Granted(lifetime: lifetime, hasToBeStored: hasToBeStored), number: number, at: BootTimer.now, chance: chance))
    case .stored(let grant):
      status.history.asked -= 1
      guard isWanted else { return discard(grant) }
      let lifetime = grant.lifetime
      var refresh: Secret?
      grant.unpack(access: &grantedToken, refresh: &refresh)
      carryOut(renewal.granted(Granted(lifetime: lifetime), number: number, at: BootTimer.now, chance: chance))
    case .loginRequired(let sentence):
      status.history.asked -= 1
      if isWanted { failed(.final, sentence, number) } else { logout?.responseArrived() }
    case .failed where !isWanted: logout?.responseArrived()
    case .refused where !isWanted: logout?.responseArrived()
    case .failed(let failure, let sentence):
      recordFailure(sentence)
      failed(failure, sentence, number)
    case .refused(let sentence):
      recordFailure(sentence)
      storeRefusal()
      failed(.final, sentence, number)
    }
  }

  private func failed(_ failure: RenewalFailure, _ sentence: String, _ number: UInt64) {
    loginReason = sentence
    let actions = renewal.failed(failure, number: number, at: BootTimer.now, chance: chance)
    // A request that waits for a token with the changed secrets continues to wait (T44).
    if hasOtherSecrets { renewal.changed(brings: !source.isByLogin) }
    update()
    onChange(self) { [source] in $0.fail(source, sentence) }
    carryOut(actions)
    secretsChanged()
  }
}
