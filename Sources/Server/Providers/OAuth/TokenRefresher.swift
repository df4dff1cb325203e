internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Log
internal import OAuth
internal import Lifecycle
internal import Secrets
internal import Setup
internal import System
internal import Transport

/// Carries out what `Renewal` decides for one token: asks, writes down, publishes (T39).
final class TokenRefresher {
  /// - Parameter change: of the value or its failure; nil: only of how it stands.
  typealias Change = (TokenRefresher, _ change: ((TokenValues) -> Void)?) -> Void

  unowned let providers: CredentialProviders
  let onChange: Change
  var renewal: Renewal
  var standing = TokenStatus()
  private(set) var login: TokenLogin
  /// Whether a thread that cannot be stopped writes the login's file.
  var isStoring = false
  /// A person's login in progress.
  var loginAttempt: LoginAttempt?
  /// A person's login that was granted while the file was being written.
  var waitingLogin: NewLogin?
  /// A granted token that is not in use yet, because what came with it is not on disk.
  var grantedToken: Secret?
  /// Whether a request has gone out with the current token.
  var isTokenUsed = false
  var shown = ShownSecrets()
  /// The request to the endpoint that is under way; nil: none.
  private(set) var asking: TokenQuery?
  /// The rest of a logout that is under way; nil: none is.
  var logout: TokenLogout?
  /// Which refreshers of the same login come before and after this one.
  var succession = TokenSuccession()
  /// Why a person has to log in.
  var whyLogin = ""
  /// When the log last reported that too many tokens were asked for, in milliseconds of `BootTimer`.
  var stormReportedAt: UInt64?
  /// The remark on the last answer. Kept so that the log has it only once.
  private var remark: String?

  /// Fingerprints of the secrets that the endpoint was shown, by which other secrets are noticed.
  struct ShownSecrets {
    /// Shown last.
    var last: String?
    /// Shown when the current token was granted.
    var atGrant: String?
    /// In force when the credential was logged out.
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

  // MARK: wishes

  /// A request has none to go out with.
  func want() { carryOut(renewal.request(at: BootTimer.now).1) }

  /// An upstream calls the token of this generation expired. The requests that wait hear of the outcome, whatever it is.
  func rejected(_ generation: UInt64) {
    guard generation >= standing.rejected else { return }
    standing.rejected = generation
    if generation == renewal.generation {
      let (_, actions) = renewal.rejected(generation, at: BootTimer.now)
      if actions == Renewal.Actions() { tell() } else { carryOut(actions) }
    } else {
      tell()
      if standing.outlook.usableUntil <= BootTimer.now { want() }
    }
  }

  /// An upstream has set another value, before the current one ends. Whatever is asked for is newer.
  /// - Parameter generation: of the value that the upstream was shown.
  func take(_ offer: TokenOffer, after generation: UInt64) {
    // Another worker's answer may be on its way here at a logout.
    guard generation == renewal.generation, !renewal.isRenewing, standing.loggedOut == nil,
      let value = try? offer.secret(in: providers.generation.keyring.tokenValues.arena)
    else { return }
    grantedToken = consume value
    let most = source.form?.lifetime
    let lifetime = offer.lifetime.map { min($0, most ?? $0) } ?? most
    carryOut(renewal.loggedIn(Granted(lifetime: lifetime), since: BootTimer.now, chance: chance))
  }

  /// The secrets that the endpoint is shown may be others now.
  /// - Parameter areOfBefore: the secrets were there already at the logout.
  func secretsChanged(areOfBefore: Bool = false) {
    if areOfBefore, standing.loggedOut != nil { shown.atLogout = fingerprint }
    // Its end looks again.
    guard hasOtherSecrets else { return }
    // A person's login is not among them.
    renewal.changed(brings: !source.isByLogin)
    tell()
    want()
  }

  /// When `look` has something to do, of the clock that goes on in sleep; nil: never.
  var nextLook: UInt64? {
    let end = standing.outlook.usableUntil
    return [
      renewal.deadline, end > 0 && end < .max ? end : nil,
      isTokenUsed && !standing.outlook.isRenewing ? nextRenewal : nil,
    ].compactMap(\.self).min()
  }

  /// Ahead of the end, and not before the endpoint may be asked again.
  private var nextRenewal: UInt64? {
    guard let due = standing.outlook.renewAt else { return nil }
    switch standing.outlook.reason {
    case nil: return due
    case .loginRequired: return nil
    case .unavailable(let until), .notStored(let until), .storm(let until): return max(due, until)
    }
  }

  func look(at now: UInt64) {
    if let deadline = renewal.deadline, now >= deadline { carryOut(renewal.tick(at: now)) }
    if standing.outlook.usableUntil > 0, now >= standing.outlook.usableUntil {
      update()
      standing.outlook.usableUntil = 0
      onChange(self) { [source] in $0.expire(source) }
    } else if isTokenUsed, let next = nextRenewal, now >= next {
      want()
    }
  }

  /// Ends all that is under way: the token is not wanted any more.
  func cancel(_ why: String) {
    succession.hasEnded = true
    stopAsking()
    loginAttempt?.cancel(why)
    loginAttempt = nil
  }

  func stopAsking() {
    guard let asking else { return }
    self.asking = nil
    asking.cancel()
    logout?.answered()
  }

  /// The daemon ends.
  func stop() {
    logout?.cancel()
    cancel("bearerd is stopping")
  }

  // MARK: what is decided

  func carryOut(_ actions: Renewal.Actions) {
    if let number = actions.ask, !succession.isRetired { ask(number) }
    if let number = actions.store { store(number) }
    if actions.publish != nil { publish() }
    if actions.tellsLoginRequired {
      providers.log.event(.loginRequired, ("credential", source.credential), ("detail", whyLogin))
    }
    if actions.tellsEnded { discardEnded() }
    if actions != Renewal.Actions() { tell() }
  }

  func tell() {
    update()
    onChange(self, nil)
  }

  func update() {
    standing.outlook = renewal.outlook(at: BootTimer.now)
    if case .storm = standing.outlook.reason, renewal.isRejected || standing.outlook.usableUntil <= BootTimer.now {
      reportStorm()
    }
  }

  var fingerprint: String { providers.generation.keyring.fingerprint(ofSecretsFor: source) }

  var chance: UInt64 { UInt64.random(in: .min ... .max) }

  // MARK: asking

  private func ask(_ number: UInt64) {
    stopAsking()
    standing.asked += 1
    let asking = TokenQuery(source, login: login, providers: providers, readsAgain: shown.last?.contains("-") == true) {
      [unowned self] in
      shown.last = fingerprint
    } onEnd: { [unowned self] outcome in
      self.asking = nil
      if !succession.hasEnded { answered(outcome, number) }
      endRetirement()
    }
    self.asking = asking
    // Not from within a request that may be the one to wait for it.
    providers.loop.onNextTurn { [weak self] in
      self?.whenFirst { [weak self] in
        guard let self, !succession.hasEnded, self.asking === asking else { return }
        asking.start()
      }
    }
  }

  private func answered(_ outcome: consuming TokenQuery.Outcome, _ number: UInt64) {
    let isWanted = renewal.expects(number)
    switch consume outcome {
    case .granted(let grant):
      guard isWanted else { return discard(grant) }
      standing.granted += 1
      standing.grantedAt = Clock.now.seconds
      if let remark = grant.remark, remark != self.remark {
        self.remark = remark
        providers.log.event(.tokenRemark, ("credential", source.credential), ("detail", remark))
      }
      let lifetime = grant.lifetime
      var refresh: Secret?
      grant.take(access: &grantedToken, refresh: &refresh)
      let hasToBeStored = login.take(refresh)
      carryOut(
        renewal.granted(
          Granted(lifetime: lifetime, hasToBeStored: hasToBeStored), number: number, at: BootTimer.now, chance: chance))
    case .stored(let grant):
      standing.asked -= 1
      guard isWanted else { return discard(grant) }
      let lifetime = grant.lifetime
      var refresh: Secret?
      grant.take(access: &grantedToken, refresh: &refresh)
      carryOut(renewal.granted(Granted(lifetime: lifetime), number: number, at: BootTimer.now, chance: chance))
    case .nobodyLoggedIn(let sentence):
      standing.asked -= 1
      if isWanted { failed(.final, sentence, number) } else { logout?.answered() }
    case .failed where !isWanted: logout?.answered()
    case .refused where !isWanted: logout?.answered()
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
    whyLogin = sentence
    let actions = renewal.failed(failure, number: number, at: BootTimer.now, chance: chance)
    // A request that waits for a token of other secrets goes on waiting (T44).
    if hasOtherSecrets { renewal.changed(brings: !source.isByLogin) }
    update()
    onChange(self) { [source] in $0.fail(source, sentence) }
    carryOut(actions)
    secretsChanged()
  }
}
