// This type knows only times and versions, and returns verdicts and actions. Its owner has the token, calls the token
// server, writes to disk and queues requests.
//
// Invariants: There is at most one renewal at a time. A refresh token is on disk before the access token of the same
// response is used. No request is sent with an expired token or without a token. Each waiting request gets a verdict.
/// Decides when to request a new token for one credential, and whether a request is sent, waits or is refused.
///
/// `now` is in milliseconds of a clock that continues during sleep and is never set. `chance` is a random number.
package struct Renewal: Sendable {
  private let settings: RenewalSettings
  private(set) var token: Token?
  private var work = Work.none
  private(set) var needsLogin: Bool
  private var lastNumber: UInt64 = 0
  private var lastVersion: UInt64
  /// `true` if the upstream rejected the current token, which is not used again (T67).
  package private(set) var isRejected = false
  private(set) var backOffUntil: UInt64 = 0
  private var storm = RenewalRateLimit()
  /// Number of failed renewals in a row.
  package private(set) var failures = 0

  /// - Parameters:
  ///   - needsLogin: `true` if there is no refresh token.
  ///   - version: the last version that was used before.
  package init(settings: RenewalSettings, needsLogin: Bool, after version: UInt64 = 0) {
    self.settings = settings
    self.needsLogin = needsLogin
    lastVersion = version
  }

  package var tokenVersion: UInt64? { token?.version }
  package var isRenewing: Bool {
    switch work {
    case .none, .unstored: false
    case .requesting, .storing, .pausing: true
    }
  }
  /// Time at which to call `tick`; `nil` if not needed. May change with every other call.
  package var deadline: UInt64? {
    switch work {
    case .unstored: backOffUntil
    case .pausing(let end): end
    case .none, .requesting, .storing: nil
    }
  }

  // MARK: requests

  /// Decides whether a request can be sent with the token. Begins a renewal if the token will expire soon.
  package mutating func request(at now: UInt64) -> (Verdict, Actions) {
    var actions = Actions()
    guard let token, token.isUsable(at: now), !isRejected else {
      return (renew(at: now, &actions), actions)
    }
    if token.isDue(at: now) { _ = renew(at: now, &actions) }
    return (.use(token.version), actions)
  }

  /// Decides what happens after an upstream has rejected the token of a request. After `use`, send the request again
  /// with the newer token. After `refused`, send the upstream's response to the client.
  /// - Parameter version: the version of the rejected token.
  package mutating func rejected(_ version: UInt64, at now: UInt64) -> (Verdict, Actions) {
    var actions = Actions()
    if let token, token.version > version, token.isUsable(at: now), !isRejected {
      return (.use(token.version), actions)
    }
    if token?.version == version { isRejected = true }
    return (renew(at: now, &actions), actions)
  }

  mutating func requestWithoutToken(at now: UInt64) -> Verdict {
    var actions = Actions()
    return renew(at: now, &actions)
  }

  private mutating func renew(at now: UInt64, _ actions: inout Actions) -> Verdict {
    if isRenewing { return .wait }
    if now < backOffUntil {
      return .refused(isUnstored ? .notStored(until: backOffUntil) : .unavailable(until: backOffUntil))
    }
    if case .unstored(let number, let granted, let since) = work {
      work = .storing(number, granted, since: since)
      actions.store = number
      return .wait
    }
    if needsLogin { return .refused(.loginRequired) }
    if token?.isLasting != true || isRejected {
      if let end = storm.begin(at: now, settings) { return .refused(.tooManyRenewals(until: end)) }
    }
    let number = next()
    work = .requesting(number, since: now)
    actions.requestToken = number
    return .wait
  }

  private var isUnstored: Bool { if case .unstored = work { true } else { false } }

  // MARK: the server

  /// Whether the token request with this number is in progress.
  package func expects(_ number: UInt64) -> Bool { if case .requesting(number, _) = work { true } else { false } }

  /// Handles a token that the server granted in response to the token request with this number.
  package mutating func granted(_ granted: Granted, number: UInt64, at now: UInt64, chance: UInt64) -> Actions {
    // Discards the token if the token request is outdated.
    var actions = Actions()
    guard case .requesting(number, let since) = work else {
      actions.isDiscarded = true
      return actions
    }
    accept(granted, number, since: since, at: now, chance, &actions)
    return actions
  }

  /// Ends a token request that brought no token. The next one follows after a delay or a login.
  package mutating func failed(_ failure: RenewalFailure, number: UInt64, at now: UInt64, chance: UInt64) -> Actions {
    var actions = Actions()
    guard case .requesting(number, _) = work else { return actions }
    work = .none
    actions.releases = true
    switch failure {
    case .transient(let retryAfter):
      backOff(at: now, atLeast: min(retryAfter ?? 0, settings.longestRetryAfter), chance)
    case .final:
      needsLogin = true
      actions.reportsLoginRequired = true
    }
    return actions
  }

  /// Begins to use a granted token after the owner has written it to disk.
  package mutating func stored(number: UInt64, at now: UInt64, chance: UInt64) -> Actions {
    var actions = Actions()
    guard case .storing(number, let granted, let since) = work else { return actions }
    install(granted, since: since, at: now, chance, &actions)
    return actions
  }

  /// Keeps a granted token that could not be written to disk, and tries the write again later.
  package mutating func storingFailed(number: UInt64, at now: UInt64, chance: UInt64) -> Actions {
    // The new refresh token must not be lost, because the server may no longer accept the old refresh token on disk.
    var actions = Actions()
    guard case .storing(number, let granted, let since) = work else { return actions }
    work = .unstored(number, granted, since: since)
    backOff(at: now, atLeast: 0, chance)
    actions.releases = true
    return actions
  }

  /// Begins a last attempt to write a token to disk before the process exits, if the earlier write failed. Returns the
  /// number to pass to `stored` or `storingFailed`; `nil` if there is no token to write.
  package mutating func beginLastStore() -> UInt64? {
    guard case .unstored(let number, let granted, let since) = work else { return nil }
    work = .storing(number, granted, since: since)
    return number
  }

  /// Does the work that was delayed until `deadline`: writes a token to disk or requests one. Does nothing before
  /// `deadline`.
  package mutating func tick(at now: UInt64) -> Actions {
    var actions = Actions()
    guard let deadline, now >= deadline else { return actions }
    if case .pausing = work { work = .none }
    _ = renew(at: now, &actions)
    return actions
  }

  // MARK: logins

  /// Handles the token of a login.
  /// - Parameter since: time of the login's token request.
  package mutating func loggedIn(_ granted: Granted, since: UInt64, chance: UInt64) -> Actions {
    // The result of a renewal in progress will be discarded.
    var actions = Actions()
    accept(granted, next(), since: since, at: since, chance, &actions)
    return actions
  }

  /// Drops the token after a logout.
  package mutating func logout() -> Actions {
    // The result of a renewal in progress will be discarded.
    var actions = Actions()
    token = nil
    work = .none
    isRejected = false
    needsLogin = true
    backOffUntil = 0
    failures = 0
    actions.releases = true
    return actions
  }

  /// Allows an immediate renewal after the parameters of the token request have changed.
  /// - Parameter brings: `true` if the changed parameters replace a required login.
  package mutating func changed(brings login: Bool = false) {
    // Does nothing while a granted token is not stored on disk.
    if isUnstored { return }
    if login { needsLogin = false }
    backOffUntil = 0
    failures = 0
    storm = RenewalRateLimit()
  }

  // MARK: -

  private mutating func accept(
    _ granted: Granted, _ number: UInt64, since: UInt64, at now: UInt64, _ chance: UInt64, _ actions: inout Actions
  ) {
    guard granted.mustBeStored else { return install(granted, since: since, at: now, chance, &actions) }
    work = .storing(number, granted, since: since)
    actions.store = number
  }

  private mutating func install(
    _ granted: Granted, since: UInt64, at now: UInt64, _ chance: UInt64, _ actions: inout Actions
  ) {
    needsLogin = false
    guard granted.lifetime != 0 else { return discard(at: now, chance, &actions) }
    lastVersion += 1
    token = Token(version: lastVersion, granted, since: since, settings, chance)
    work = .none
    isRejected = false
    failures = 0
    backOffUntil = 0
    actions.publish = lastVersion
    actions.releases = true
  }

  /// Handles a granted token that has already expired, for example because the server caches tokens.
  private mutating func discard(at now: UInt64, _ chance: UInt64, _ actions: inout Actions) {
    // If this is the first failure in a row, requests wait for the next token request. Otherwise, they are released.
    actions.reportsExpiredGrant = true
    if failures == 0 {
      failures = 1
      work = .pausing(until: now.saturating(settings.backOff.time(after: failures, chance: chance)))
    } else {
      work = .none
      backOff(at: now, atLeast: 0, chance)
      actions.releases = true
    }
  }

  private mutating func backOff(at now: UInt64, atLeast wanted: UInt64, _ chance: UInt64) {
    failures += 1
    backOffUntil = now.saturating(max(wanted, settings.backOff.time(after: failures, chance: chance)))
  }

  private mutating func next() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }
}
