package import Credentials
package import Gateway
package import Policy
internal import Settings
internal import System

/// The circuit breaker of one credential at one origin. All workers share it, and it survives reloads.
package final class OriginBreaker: @unchecked Sendable {
  // All variables, and the object `rejected`, are used only under `lock`.
  package let credential: String
  package let origin: Origin
  private let lock: SharedLock
  private let rejected: RejectedValues
  private var suspension: Suspension
  private var breaker = CredentialBreaker()
  /// Identifies the credential's current value, and is not secret. `nil` before the first request.
  private var value: String?

  private init(credential: String, origin: Origin, suspension: Suspension, rejected: RejectedValues, lock: SharedLock) {
    self.credential = credential
    self.origin = origin
    self.suspension = suspension
    self.rejected = rejected
    self.lock = lock
  }

  /// Returns the breakers for a configuration, the breakers of each service, and the settings for
  /// `SharedLimits.activate`.
  static func all(
    for settings: DaemonSettings, after earlier: [OriginBreaker], rejected: RejectedValues, lock: SharedLock
  ) -> (breakers: [OriginBreaker], byService: [[(grant: Int, breaker: Int)]], suspensions: [Suspension]) {
    struct Key: Hashable {
      let credential: String
      let origin: Origin
    }
    let earlierKeys = earlier.map { Key(credential: $0.credential, origin: $0.origin) }
    let known = Dictionary(zip(earlierKeys, earlier)) { first, _ in first }
    var breakers: [OriginBreaker] = []
    var suspensions: [Suspension] = []
    var indices: [Key: Int] = [:]
    let byService = settings.rules.services.map { service in
      service.grants.compactMap { grant -> (grant: Int, breaker: Int)? in
        guard let suspension = settings.credentials[grant].suspension else { return nil }
        let key = Key(credential: settings.credentials[grant].name, origin: service.upstream.origin)
        if let index = indices[key] { return (grant, index) }
        let breaker =
          known[key]
          ?? OriginBreaker(
            credential: key.credential, origin: key.origin, suspension: suspension, rejected: rejected, lock: lock)
        indices[key] = breakers.count
        breakers.append(breaker)
        suspensions.append(suspension)
        return (grant, breakers.count - 1)
      }
    }
    return (breakers, byService, suspensions)
  }

  func apply(_ suspension: Suspension) { lock { self.suspension = suspension } }

  /// Saves the rejections of the credential's current value for a later breaker.
  func retire(at now: UInt64) { lock { rejected.remember(breaker, of: value, at: origin, now: now) } }

  // MARK: state of the breaker

  /// Sets the credential's value from now on. Returns its version number, and the change to log, if any.
  func update(to value: String, at now: UInt64) -> (number: UInt64, change: CredentialBreaker.Change?) {
    lock {
      let before = self.value
      if value == before { return (breaker.secretVersion, nil) }
      self.value = value
      rejected.remember(breaker, of: before, at: origin, now: now)
      let number = breaker.secretVersion &+ 1
      let change = breaker.update(secretVersion: number)
      guard var known = rejected.recall(value, at: origin, now: now) else { return (number, change) }
      known.setSecretVersion(number)
      breaker = known
      return (number, nil)
    }
  }

  func isCurrent(_ number: UInt64) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    return breaker.secretVersion == number
  }

  /// Whether `number` is the version of the credential's current value, and the value is not suspended.
  func isClosed(for number: UInt64) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    guard case .closed = breaker.state else { return false }
    return breaker.secretVersion == number
  }

  /// Returns the milliseconds until one request may test the credential. `nil` if the credential can be sent now.
  package func wait(at now: UInt64) -> UInt64? {
    lock.lock()
    defer { lock.unlock() }
    return breaker.wait(at: now)
  }

  package func acquirePermission(at now: UInt64) -> CredentialBreaker.Permission? {
    lock.lock()
    defer { lock.unlock() }
    return breaker.acquirePermission(suspension, at: now)
  }

  func recordVerdict(
    _ verdict: CredentialVerdict?, for permission: CredentialBreaker.Permission, at now: UInt64
  ) -> CredentialBreaker.Change? {
    lock.lock()
    defer { lock.unlock() }
    return breaker.recordVerdict(verdict, for: permission, suspension, at: now)
  }

  package func resume() -> CredentialBreaker.Change? {
    lock.lock()
    defer { lock.unlock() }
    return breaker.resume()
  }

  package func releasePermission(_ permission: CredentialBreaker.Permission, at now: UInt64) {
    lock.lock()
    defer { lock.unlock() }
    breaker.releasePermission(permission, at: now)
  }

  /// Whether the credential's current value is suspended.
  /// - Parameter value: the current value, from `value(in:ofGrant:)`.
  package func isSuspended(_ value: String) -> Bool { lock { self.value == value && breaker.state != .closed } }

  package var state: CredentialBreaker { lock { breaker } }

  /// Returns a text that identifies the credential's current value, and is not secret.
  package func value(in keyring: Keyring, ofGrant index: Int) -> String {
    keyring.fingerprint(ofGrant: index) ?? "\(credential) \(keyring.secretVersion(ofGrant: index))"
  }
}

extension Service {
  fileprivate var grants: [Int] {
    let choices =
      [credential]
      + (rules ?? []).compactMap { if case .forward(let choice) = $0.action { choice } else { nil } }
    var grants: [Int] = []
    for case .inject(let grant) in choices where !grants.contains(grant) { grants.append(grant) }
    return grants
  }
}
