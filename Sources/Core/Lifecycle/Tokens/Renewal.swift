/// Keeps the token of one credential fresh: decides when a server is asked for a new one, and what requests do meanwhile.
///
/// Facts in, verdicts and actions out. Who calls it holds the token, asks the server, writes the disk, and queues requests;
/// here are only their times and numbers. `now` is in milliseconds of a clock that goes on while the machine sleeps and that
/// is never set; `chance` is any random number.
///
/// Whatever happens: one renewal at a time; a refresh token is on disk before the token that came with it is used; no request
/// goes out with a token that has expired, or bare; who waits is answered.
package struct Renewal: Sendable {
  private let settings: RenewalSettings
  private(set) var token: Token?
  private var work = Work.none
  private var needsLogin: Bool
  private var lastNumber: UInt64 = 0
  private var lastGeneration: UInt64
  /// The upstream said that the current token is worth nothing: it is not offered again, whatever comes of its renewal (T67).
  package private(set) var isRejected = false
  private(set) var restUntil: UInt64 = 0
  private var storm = StormLimit()
  /// Failures in a row.
  package private(set) var failures = 0

  /// - Parameters:
  ///   - needsLogin: there is nothing to renew with.
  ///   - generation: of the last token that was published before.
  package init(settings: RenewalSettings, needsLogin: Bool, after generation: UInt64 = 0) {
    self.settings = settings
    self.needsLogin = needsLogin
    lastGeneration = generation
  }

  /// The generation of the token in use; nil: there is none.
  package var generation: UInt64? { token?.generation }
  package var isLoginRequired: Bool { needsLogin }
  package var isRenewing: Bool {
    switch work {
    case .none, .unstored: false
    case .asking, .storing, .pausing: true
    }
  }
  /// When `tick` wants to be called if nothing else happens; nil: never.
  package var deadline: UInt64? {
    switch work {
    case .unstored: restUntil
    case .pausing(let end): end
    case .none, .asking, .storing: nil
    }
  }

  // MARK: requests

  /// A request wants to go out.
  package mutating func request(at now: UInt64) -> (Verdict, Actions) {
    var actions = Actions()
    guard let token, token.isUsable(at: now), !isRejected else {
      return (renew(at: now, &actions), actions)
    }
    if token.isDue(at: now) { _ = renew(at: now, &actions) }
    return (.use(token.generation), actions)
  }

  /// The upstream rejected a request, as it does when a token has expired (RFC 6750 section 3.1). The request, which can be
  /// sent once more, is told with what. `refused`: there will be no better one soon, so that the answer stands.
  package mutating func rejected(_ generation: UInt64, at now: UInt64) -> (Verdict, Actions) {
    var actions = Actions()
    if let token, token.generation > generation, token.isUsable(at: now), !isRejected {
      return (.use(token.generation), actions)
    }
    if token?.generation == generation { isRejected = true }
    return (renew(at: now, &actions), actions)
  }

  /// The verdict for a request that has no token to go out with.
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

  /// Whether this is the answer that is waited for; any other is of no use any more.
  package func expects(_ number: UInt64) -> Bool { if case .asking(number, _) = work { true } else { false } }

  /// The server has granted a token.
  package mutating func granted(_ granted: Granted, number: UInt64, at now: UInt64, chance: UInt64) -> Actions {
    var actions = Actions()
    guard case .asking(number, let since) = work else {
      actions.isDiscarded = true
      return actions
    }
    take(granted, number, since: since, at: now, chance, &actions)
    return actions
  }

  /// The server has granted none.
  package mutating func failed(_ failure: RenewalFailure, number: UInt64, at now: UInt64, chance: UInt64) -> Actions {
    var actions = Actions()
    guard case .asking(number, _) = work else { return actions }
    work = .none
    actions.releases = true
    switch failure {
    case .transient(let retryAfter):
      rest(at: now, atLeast: min(retryAfter ?? 0, settings.longestRetryAfter), chance)
    case .final:
      needsLogin = true
      actions.tellsLoginRequired = true
    }
    return actions
  }

  /// The token that was granted is on disk, and stays there if the power fails.
  package mutating func stored(number: UInt64, at now: UInt64, chance: UInt64) -> Actions {
    var actions = Actions()
    guard case .storing(number, let granted, let since) = work else { return actions }
    install(granted, since: since, at: now, chance, &actions)
    return actions
  }

  /// The token could not be written; what is there is still the old one. It is not thrown away: the server may take the
  /// old one no more.
  package mutating func storingFailed(number: UInt64, at now: UInt64, chance: UInt64) -> Actions {
    var actions = Actions()
    guard case .storing(number, let granted, let since) = work else { return actions }
    work = .unstored(number, granted, since: since)
    rest(at: now, atLeast: 0, chance)
    actions.releases = true
    return actions
  }

  /// The process is about to end, and what was granted could not be written so far: the write may be tried once more.
  /// - Returns: the number with which `stored` or `storingFailed` is called; nil: there is nothing to write.
  package mutating func beginLastStore() -> UInt64? {
    guard case .unstored(let number, let granted, let since) = work else { return nil }
    work = .storing(number, granted, since: since)
    return number
  }

  /// `deadline` has come.
  package mutating func tick(at now: UInt64) -> Actions {
    var actions = Actions()
    guard let deadline, now >= deadline else { return actions }
    if case .pausing = work { work = .none }
    _ = renew(at: now, &actions)
    return actions
  }

  // MARK: people

  /// A person has logged in. A renewal under way brings nothing of use any more.
  /// - Parameter since: when the server was asked.
  package mutating func loggedIn(_ granted: Granted, since: UInt64, chance: UInt64) -> Actions {
    var actions = Actions()
    take(granted, next(), since: since, at: since, chance, &actions)
    return actions
  }

  /// A person has logged out: the token is gone, and what is on its way will be.
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

  /// Something that the server is asked with has changed: it may answer otherwise now.
  /// - Parameter brings: there is something to renew with again, where a person had to log in.
  package mutating func changed(brings login: Bool = false) {
    if isUnstored { return }
    if login { needsLogin = false }
    restUntil = 0
    failures = 0
    storm = StormLimit()
  }

  // MARK: -

  private mutating func take(
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

  /// A token that was granted has ended already, as from servers that hand out what is left of a token that they keep. The
  /// first time, requests wait until the server has another one.
  private mutating func discard(at now: UInt64, _ chance: UInt64, _ actions: inout Actions) {
    actions.tellsEnded = true
    if failures == 0 {
      failures = 1
      work = .pausing(until: now.saturating(settings.backOff.time(after: failures, chance: chance)))
    } else {
      work = .none
      rest(at: now, atLeast: 0, chance)
      actions.releases = true
    }
  }

  /// Longer after each failure, and not at the same time as everybody else.
  private mutating func rest(at now: UInt64, atLeast wanted: UInt64, _ chance: UInt64) {
    failures += 1
    restUntil = now.saturating(max(wanted, settings.backOff.time(after: failures, chance: chance)))
  }

  private mutating func next() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }
}
