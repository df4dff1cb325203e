internal import Configuration
internal import Gateway
internal import Policy

/// The breaker of one credential at one origin. It outlives reloads: they make no wrong password right.
final class OriginBreaker {
  let credential: String
  let origin: Origin
  private(set) var suspension: Suspension
  private(set) var breaker: CredentialBreaker

  private init(credential: String, origin: Origin, suspension: Suspension, breaker: CredentialBreaker) {
    self.credential = credential
    self.origin = origin
    self.suspension = suspension
    self.breaker = breaker
  }

  /// Those that the services of a configuration need, each once; `byService` has them by the index of the grant, too.
  /// - Parameter earlier: of the configuration before.
  static func all(
    for settings: Settings, after earlier: [OriginBreaker]
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
          credential: name, origin: origin, suspension: suspension, breaker: CredentialBreaker())
        breakers.append(made)
        return (grant, made)
      }
    }
    return (breakers, byService)
  }

  // MARK: what it is told and asked

  func follow(_ generation: UInt64, journal: Journal) {
    if let change = breaker.follow(generation) { tell(change, to: journal) }
  }

  func wait(at now: UInt64) -> UInt64? { breaker.wait(at: now) }

  func letOut(at now: UInt64) -> CredentialBreaker.Pass? { breaker.letOut(suspension, at: now) }

  func answered(status: Int, to pass: CredentialBreaker.Pass, at now: UInt64, journal: Journal) {
    let verdict = CredentialVerdict(status: status)
    if let change = breaker.answered(verdict, to: pass, suspension, at: now) { tell(change, to: journal) }
  }

  func takeBack(_ pass: CredentialBreaker.Pass, at now: UInt64) { breaker.takeBack(pass, at: now) }

  /// Whether this generation of the credential is held back, or tried by one request alone.
  func holdsBack(_ generation: UInt64) -> Bool { breaker.generation == generation && breaker.state != .closed }

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
