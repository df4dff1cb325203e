internal import Configuration
package import Credentials
package import Gateway
package import Policy
internal import System

/// The breaker of one credential at one origin, for all workers. What it knows outlives reloads: they make no wrong password
/// right.
///
/// `@unchecked Sendable`, because what changes is touched under the lock alone, `rejected` too.
package final class OriginBreaker: @unchecked Sendable {
  package let credential: String
  package let origin: Origin
  private let lock: SharedLock
  private let rejected: RejectedValues
  private var suspension: Suspension
  private var breaker = CredentialBreaker()
  /// Which value it knows; nil: none yet.
  private var value: String?

  private init(credential: String, origin: Origin, suspension: Suspension, rejected: RejectedValues, lock: SharedLock) {
    self.credential = credential
    self.origin = origin
    self.suspension = suspension
    self.rejected = rejected
    self.lock = lock
  }

  /// The breakers that the services of a configuration need, each once; `byService` has them by the index of the grant, too.
  /// Changes none of them: their settings follow when the configuration is put into use.
  /// - Parameter earlier: of the configuration before.
  static func all(
    for settings: Settings, after earlier: [OriginBreaker], rejected: RejectedValues, lock: SharedLock
  ) -> (breakers: [OriginBreaker], byService: [[(grant: Int, breaker: Int)]], suspensions: [Suspension]) {
    struct Place: Hashable {
      let credential: String
      let origin: Origin
    }
    let places = earlier.map { Place(credential: $0.credential, origin: $0.origin) }
    let known = Dictionary(zip(places, earlier)) { first, _ in first }
    var breakers: [OriginBreaker] = []
    var suspensions: [Suspension] = []
    var indices: [Place: Int] = [:]
    let byService = settings.rules.services.map { service in
      service.grants.compactMap { grant -> (grant: Int, breaker: Int)? in
        guard let suspension = settings.credentials[grant].suspension else { return nil }
        let place = Place(credential: settings.credentials[grant].name, origin: service.upstream.origin)
        if let index = indices[place] { return (grant, index) }
        let breaker =
          known[place]
          ?? OriginBreaker(
            credential: place.credential, origin: place.origin, suspension: suspension, rejected: rejected, lock: lock)
        indices[place] = breakers.count
        breakers.append(breaker)
        suspensions.append(suspension)
        return (grant, breakers.count - 1)
      }
    }
    return (breakers, byService, suspensions)
  }

  /// Holds back in this way from now on.
  func follow(_ suspension: Suspension) { lock { self.suspension = suspension } }

  /// The configuration does not need it any more.
  func end(at now: UInt64) { lock { rejected.remember(breaker, of: value, at: origin, now: now) } }

  // MARK: what it is told and asked

  /// Requests go out with this value.
  /// - Returns: the number by which the breaker knows it, and what that changes.
  func follow(_ value: String, at now: UInt64) -> (number: UInt64, change: CredentialBreaker.Change?) {
    lock {
      let before = self.value
      if value == before { return (breaker.generation, nil) }
      self.value = value
      rejected.remember(breaker, of: before, at: origin, now: now)
      let number = breaker.generation &+ 1
      let change = change { $0.follow(number) }
      guard var known = rejected.recall(value, at: origin, now: now) else { return (number, change) }
      known.goOn(as: number)
      breaker = known
      return (number, nil)
    }
  }

  /// Whether the value of this number is the last one that a request wanted to go out with.
  func knows(_ number: UInt64) -> Bool {
    lock.enter()
    defer { lock.leave() }
    return breaker.generation == number
  }

  /// Nothing holds this value back, and nothing has to be known anew: what is nearly always so.
  func isClosed(for number: UInt64) -> Bool {
    lock.enter()
    defer { lock.leave() }
    guard case .closed = breaker.state else { return false }
    return breaker.generation == number
  }

  package func wait(at now: UInt64) -> UInt64? {
    lock.enter()
    defer { lock.leave() }
    return breaker.wait(at: now)
  }

  package func acquirePermission(at now: UInt64) -> CredentialBreaker.Permission? {
    lock.enter()
    defer { lock.leave() }
    return change { $0.acquirePermission(suspension, at: now) }
  }

  func answered(
    _ verdict: CredentialVerdict?, to permission: CredentialBreaker.Permission, at now: UInt64
  ) -> CredentialBreaker.Change? {
    lock.enter()
    defer { lock.leave() }
    return change { $0.answered(verdict, to: permission, suspension, at: now) }
  }

  package func resume() -> CredentialBreaker.Change? {
    lock.enter()
    defer { lock.leave() }
    return change { $0.resume() }
  }

  package func releasePermission(_ permission: CredentialBreaker.Permission, at now: UInt64) {
    lock.enter()
    defer { lock.leave() }
    change { $0.releasePermission(permission, at: now) }
  }

  /// Whether this value is held back, or tried by one request alone.
  package func holdsBack(_ value: String) -> Bool { lock { self.value == value && breaker.state != .closed } }

  /// As it stands.
  package var state: CredentialBreaker { lock { breaker } }

  /// Changes a copy, a few numbers: changed in place, each look at it would be checked for two at a time.
  @inline(__always)
  private func change<Result>(_ body: (inout CredentialBreaker) -> Result) -> Result {
    var changed = breaker
    let result = body(&changed)
    breaker = changed
    return result
  }

  /// A mark that tells a credential's values apart, in every worker alike.
  package func value(in keyring: Keyring, ofGrant index: Int) -> String {
    keyring.fingerprint(ofGrant: index) ?? "\(credential) \(keyring.generation(ofGrant: index))"
  }
}

extension Service {
  /// The grants that the service's requests may get, each once.
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
