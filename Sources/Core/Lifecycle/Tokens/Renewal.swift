/// Keeps the token of one credential fresh: decides when to request a new token, and what requests do meanwhile.
///
/// Methods receive facts and return verdicts and actions. The caller owns the token, asks the server, writes the disk and
/// queues requests. This type knows only times and numbers. `now` is in milliseconds of a clock that continues during sleep
/// and is never set. `chance` is a random number.
///
/// Invariants: There is at most one renewal at a time. A refresh token is on disk before the access token that came with it is
/// used. No request is sent with an expired token or without a token. Each waiting request gets a verdict.
package struct Renewal: Sendable {
  private let settings: RenewalSettings
  private(set) var token: Token?
  private var work = Work.none
  private var needsLogin: Bool
  private var lastNumber: UInt64 = 0
  private var lastGeneration: UInt64
  /// `true` if the upstream rejected the current token. The token is not used again, even if its renewal fails (T67).
  package private(set) var isRejected = false
  private(set) var restUntil: UInt64 = 0
  private var storm = StormLimit()
  /// Failures in a row.
  package private(set) var failures = 0

  /// - Parameters:
  ///   - needsLogin: `true` if there is no refresh token.
  ///   - generation: version of the last token published before.
  package init(settings: RenewalSettings, needsLogin: Bool, after generation: UInt64 = 0) {
    self.settings = settings
    self.needsLogin = needsLogin
    lastGeneration = generation
  }

  /// Version of the token in use. `nil` without a token.
  package var generation: UInt64? { token?.generation }
  package var isLoginRequired: Bool { needsLogin }
  package var isRenewing: Bool {
    switch work {
    case .none, .unstored: false
    case .asking, .storing, .pausing: true
    }
  }
  /// Time at which to call `tick`, unless something else happens before. `nil` if `tick` is not needed.
  package var deadline: UInt64? {
    switch work {
    case .unstored: restUntil
    case .pausing(let end): end
    case .none, .asking, .storing: nil
    }
  }

  // MARK: requests

  /// Decides about a request that needs the token.
  package mutating func request(at now: UInt64) -> (Verdict, Actions) {
    var actions = Actions()
    guard let token, token.isUsable(at: now), !isRejected else {
      return (renew(at: now, &actions), actions)
    }
    if token.isDue(at: now) { _ = renew(at: now, &actions) }
    return (.use(token.generation), actions)
  }

  /// Decides about a request that the upstream rejected, as upstreams do when a token has expired (RFC 6750 section 3.1). The
  /// request can be sent again with the token of the verdict. `refused`: no better token is expected soon, so the client gets
  /// the upstream's response.
  package mutating func rejected(_ generation: UInt64, at now: UInt64) -> (Verdict, Actions) {
    var actions = Actions()
    if let token, token.generation > generation, token.isUsable(at: now), !isRejected {
      return (.use(token.generation), actions)
    }
    if token?.generation == generation { isRejected = true }
    return (renew(at: now, &actions), actions)
  }

  /// Returns the verdict for a request without a usable token.
  mutating func requestWithoutToken(at now: UInt64) -> Verdict {
    var actions = Actions()
    return renew(at: now, &actions)
  }

  private mutating func renew(at now: UInt64, _ actions: inout Actions) -> Verdict {
    if isRenewing { return .wait }
    if now < restUntil { return .refused(isUnstored ? .notStored(until: restUntil) : .unavailable(until: restUntil)) }
    if case .unstored(let number, let granted, let since) = work {
      work = .storing(number, granted, since: since)
      actions.store = number
      return .wait
    }
    if needsLogin { return .refused(.loginRequired) }
    if token?.isLasting != true || isRejected {
      if let end = storm.begin(at: now, settings) { return .refused(.storm(until: end)) }
    }
    let number = next()
    work = .asking(number, since: now)
    actions.ask = number
    return .wait
  }

  private var isUnstored: Bool { if case .unstored = work { true } else { false } }

  // MARK: the server

  /// Whether a token response with this number is the expected one. Others are outdated.
  package func expects(_ number: UInt64) -> Bool { if case .asking(number, _) = work { true } else { false } }

  /// Accepts a token that the server granted.
  package mutating func granted(_ granted: Granted, number: UInt64, at now: UInt64, chance: UInt64) -> Actions {
    var actions = Actions()
    guard case .asking(number, let since) = work else {
      actions.isDiscarded = true
      return actions
    }
    accept(granted, number, since: since, at: now, chance, &actions)
    return actions
  }

  /// Handles a token request that brought no token.
  package mutating func failed(_ failure: RenewalFailure, number: UInt64, at now: UInt64, chance: UInt64) -> Actions {
    var actions = Actions()
    guard case .asking(number, _) = work else { return actions }
    work = .none
    actions.releases = true
    switch failure {
    case .transient(let retryAfter):
      backOff(at: now, atLeast: min(retryAfter ?? 0, settings.longestRetryAfter), chance)
    case .final:
      needsLogin = true
      actions.tellsLoginRequired = true
    }
    return actions
  }

  /// Continues after the granted token was written to disk and synced.
  package mutating func stored(number: UInt64, at now: UInt64, chance: UInt64) -> Actions {
    var actions = Actions()
    guard case .storing(number, let granted, let since) = work else { return actions }
    install(granted, since: since, at: now, chance, &actions)
    return actions
  }

  /// Keeps a granted token that could not be written to disk. The disk has the old refresh token, which the server may not
  /// accept again, so the new one must not be lost.
  package mutating func storingFailed(number: UInt64, at now: UInt64, chance: UInt64) -> Actions {
    var actions = Actions()
    guard case .storing(number, let granted, let since) = work else { return actions }
    work = .unstored(number, granted, since: since)
    backOff(at: now, atLeast: 0, chance)
    actions.releases = true
    return actions
  }

  /// Tries a failed write again before the process exits.
  /// - Returns: the number for `stored` or `storingFailed`. `nil` if there is nothing to write.
  package mutating func beginLastStore() -> UInt64? {
    guard case .unstored(let number, let granted, let since) = work else { return nil }
    work = .storing(number, granted, since: since)
    return number
  }

  /// Continues when `deadline` has been reached.
  package mutating func tick(at now: UInt64) -> Actions {
    var actions = Actions()
    guard let deadline, now >= deadline else { return actions }
    if case .pausing = work { work = .none }
    _ = renew(at: now, &actions)
    return actions
  }

  // MARK: logins

  /// Accepts the token of a login. The result of a renewal in progress will be discarded.
  /// - Parameter since: time at which the server was asked.
  package mutating func loggedIn(_ granted: Granted, since: UInt64, chance: UInt64) -> Actions {
    var actions = Actions()
    accept(granted, next(), since: since, at: since, chance, &actions)
    return actions
  }

  /// Drops the token after a logout. The result of a renewal in progress will be discarded.
  package mutating func logout() -> Actions {
    var actions = Actions()
    token = nil
    work = .none
    isRejected = false
    needsLogin = true
    restUntil = 0
    failures = 0
    actions.releases = true
    return actions
  }

  /// Allows an immediate renewal after the token request's parameters have changed.
  /// - Parameter brings: `true` if there is a refresh token again.
  package mutating func changed(brings login: Bool = false) {
    if isUnstored { return }
    if login { needsLogin = false }
    restUntil = 0
    failures = 0
    storm = StormLimit()
  }

  // MARK: -

  private mutating func accept(
    _ granted: Granted, _ number: UInt64, since: UInt64, at now: UInt64, _ chance: UInt64, _ actions: inout Actions
  ) {
    guard granted.hasToBeStored else { return install(granted, since: since, at: now, chance, &actions) }
    work = .storing(number, granted, since: since)
    actions.store = number
  }

  private mutating func install(
    _ granted: Granted, since: UInt64, at now: UInt64, _ chance: UInt64, _ actions: inout Actions
  ) {
    needsLogin = false
    guard granted.lifetime != 0 else { return discard(at: now, chance, &actions) }
    lastGeneration += 1
    token = Token(generation: lastGeneration, granted, since: since, settings, chance)
    work = .none
    isRejected = false
    failures = 0
    restUntil = 0
    actions.publish = lastGeneration
    actions.releases = true
  }

  /// Handles a granted token that has already expired. Some servers hand out the rest of a token that they cache. The first
  /// time, requests wait until the server has a new one.
  private mutating func discard(at now: UInt64, _ chance: UInt64, _ actions: inout Actions) {
    actions.tellsEnded = true
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
    restUntil = now.saturating(max(wanted, settings.backOff.time(after: failures, chance: chance)))
  }

  private mutating func next() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }
}
