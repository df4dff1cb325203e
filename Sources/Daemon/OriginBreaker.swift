internal import Configuration
internal import Gateway
internal import Policy
internal import System

/// The breaker of one credential at one origin. What it knows outlives reloads: they make no wrong password right.
final class OriginBreaker {
  let credential: String
  let origin: Origin
  private(set) var suspension: Suspension
  private(set) var breaker = CredentialBreaker()
  /// Of the value that it knows; nil: none yet.
  private var fingerprint: String?
  private let rejected: RejectedValues

  private init(credential: String, origin: Origin, suspension: Suspension, rejected: RejectedValues) {
    self.credential = credential
    self.origin = origin
    self.suspension = suspension
    self.rejected = rejected
  }

  /// Those that the services of a configuration need, each once; `byService` has them by the index of the grant, too.
  /// - Parameters:
  ///   - earlier: of the configuration before; those that are not needed any more leave to `rejected` what they know.
  static func all(
    for settings: Settings, after earlier: [OriginBreaker], rejected: RejectedValues
  ) -> (breakers: [OriginBreaker], byService: [[(grant: Int, breaker: OriginBreaker)]]) {
    var breakers: [OriginBreaker] = []
    let byService = settings.rules.services.map { service in
      service.grants.compactMap { grant -> (grant: Int, breaker: OriginBreaker)? in
        guard let suspension = settings.credentials[grant].suspension else { return nil }
        let name = settings.credentials[grant].name
        let origin = service.upstream.origin
        if let known = (breakers + earlier).first(where: { $0.credential == name && $0.origin == origin }) {
          known.suspension = suspension
          if !breakers.contains(where: { $0 === known }) { breakers.append(known) }
          return (grant, known)
        }
        let made = OriginBreaker(
          credential: name, origin: origin, suspension: suspension, rejected: rejected)
        breakers.append(made)
        return (grant, made)
      }
    }
    for gone in earlier where !breakers.contains(where: { $0 === gone }) {
      rejected.remember(
        gone.breaker, of: gone.fingerprint, at: gone.origin, now: Clock.monotonicMicroseconds / 1_000)
    }
    return (breakers, byService)
  }

  // MARK: what it is told and asked

  /// - Parameter fingerprint: of the value; only asked for when the generation is another.
  func follow(_ generation: UInt64, fingerprint: @autoclosure () -> String?, at now: UInt64, journal: Journal) {
    if generation == breaker.generation { return }
    let (before, fresh) = (self.fingerprint, fingerprint())
    self.fingerprint = fresh
    if fresh != nil, fresh == before { return change { $0.goOn(as: generation) } }
    rejected.remember(breaker, of: before, at: origin, now: now)
    let change = change { $0.follow(generation) }
    if var known = rejected.recall(fresh, at: origin, now: now) {
      known.goOn(as: generation)
      breaker = known
    } else if let change {
      tell(change, to: journal)
    }
  }

  /// Nothing holds this generation of the credential back, and nothing has to be known anew: what is nearly always so.
  func isClosed(for generation: UInt64) -> Bool {
    guard case .closed = breaker.state else { return false }
    return breaker.generation == generation
  }

  func wait(at now: UInt64) -> UInt64? { breaker.wait(at: now) }

  func letOut(at now: UInt64) -> CredentialBreaker.Pass? { change { $0.letOut(suspension, at: now) } }

  func answered(status: Int, to pass: CredentialBreaker.Pass, at now: UInt64, journal: Journal) {
    let verdict = CredentialVerdict(status: status)
    let change = change { $0.answered(verdict, to: pass, suspension, at: now) }
    if let change { tell(change, to: journal) }
  }

  func takeBack(_ pass: CredentialBreaker.Pass, at now: UInt64) { change { $0.takeBack(pass, at: now) } }

  /// Whether this generation of the credential is held back, or tried by one request alone.
  func holdsBack(_ generation: UInt64) -> Bool { breaker.generation == generation && breaker.state != .closed }

  /// Changes a copy, a few numbers: changed in place, each look at it would be checked for two at a time.
  @inline(__always)
  private func change<Result>(_ body: (inout CredentialBreaker) -> Result) -> Result {
    var changed = breaker
    let result = body(&changed)
    breaker = changed
    return result
  }

  private func tell(_ change: CredentialBreaker.Change, to journal: Journal) {
    let generation = String(breaker.generation)
    switch change {
    case .suspended(let time):
      journal.event(
        .warning, "credential-suspended", ("credential", credential), ("credential_generation", generation),
        ("upstream", origin.description), ("rejections", String(breaker.rejections)),
        ("seconds", String(time / 1_000)),
        ("help", "it is held back there until it changes; after that time one request tries it"))
    case .accepted, .renewed:
      journal.event(
        .notice, "credential-resumed", ("credential", credential), ("credential_generation", generation),
        ("upstream", origin.description), ("reason", change == .accepted ? "accepted" : "changed"))
    }
  }
}

extension Service {
  /// Those that its requests may get, each once.
  fileprivate var grants: [Int] {
    let choices =
      [credential]
      + (rules ?? []).compactMap { rule in
        switch rule.action {
        case .deny: nil
        case .forward(let choice): choice
        }
      }
    var grants: [Int] = []
    for case .inject(let grant) in choices where !grants.contains(grant) { grants.append(grant) }
    return grants
  }
}
