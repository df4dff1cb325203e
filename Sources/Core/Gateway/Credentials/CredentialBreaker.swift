internal import Lifecycle
package import Policy

/// Suspends a credential for an origin that keeps rejecting it (T41).
///
/// Each pair of credential and origin has its own breaker. Times are milliseconds of a monotonic clock.
package struct CredentialBreaker: Sendable {
  package enum State: Equatable, Sendable {
    case closed
    /// Suspended: no request may carry the credential before `until`. Afterwards one request may test it.
    case open(until: UInt64)
    /// One request is testing the credential. After `until`, another request may test it.
    case probing(until: UInt64)
  }

  /// The permission to send the credential with one request.
  package struct Permission: Equatable, Sendable {
    let secretVersion: UInt64
    /// Whether the request tests a suspended credential.
    package let isProbe: Bool
  }

  package enum Change: Equatable, Sendable {
    /// The credential is suspended for `time` milliseconds.
    case suspended(time: UInt64)
    /// The suspension ended because an upstream accepted the credential.
    case accepted
    /// The suspension ended because the credential has a new value.
    case renewed
    case resumed
  }

  package private(set) var state = State.closed
  /// The secret version that the breaker's state describes.
  package private(set) var secretVersion: UInt64 = 0
  /// Number of rejections (401, 407 or 403) since the breaker was last reset.
  package private(set) var rejections = 0
  package private(set) var suspensions: UInt64 = 0
  private var weight = 0
  private var consecutiveSuspensions = 0

  /// Weight of a 401 or 407.
  private static let rejectedWeight = 10
  private static let forbiddenWeight = 1
  private static let longestTime: UInt64 = 3_600_000
  /// Maximum result of `wait` while a request tests the credential, in milliseconds.
  private static let probeTime: UInt64 = 1_000

  package init() {}

  // MARK: before a request is sent

  /// Sets the current secret version, and resets the breaker if it has changed. Call this before the other functions.
  package mutating func update(secretVersion version: UInt64) -> Change? {
    guard version != secretVersion else { return nil }
    secretVersion = version
    return close(.renewed)
  }

  package mutating func resume() -> Change? { close(.resumed) }

  /// Changes the secret version without resetting the breaker. Use this for a saved breaker when the credential has
  /// changed back to an earlier value, because a value that returns gets a new version.
  package mutating func setSecretVersion(_ version: UInt64) { secretVersion = version }

  /// The time when the suspension ends, in milliseconds. 0 if the credential is not suspended.
  package var suspendedUntil: UInt64 {
    switch state {
    case .closed: 0
    case .open(let end), .probing(let end): end
    }
  }

  package var isTesting: Bool { if case .probing = state { true } else { false } }

  /// Milliseconds until a request may carry the credential. `nil` if it may now.
  package func wait(at now: UInt64) -> UInt64? {
    switch state {
    case .closed: nil
    case .open(let end): end > now ? end - now : nil
    case .probing(let end): end > now ? min(end - now, CredentialBreaker.probeTime) : nil
    }
  }

  /// Returns the permission for a request that is about to be sent. `nil` while the credential is suspended.
  package mutating func acquirePermission(_ suspension: Suspension, at now: UInt64) -> Permission? {
    guard wait(at: now) == nil else { return nil }
    guard state != .closed else { return Permission(secretVersion: secretVersion, isProbe: false) }
    state = .probing(until: now.saturating(suspension.time))
    return Permission(secretVersion: secretVersion, isProbe: true)
  }

  // MARK: after the response

  /// Records the verdict of a response.
  /// - Parameter verdict: `nil` if the response allows no conclusion.
  package mutating func recordVerdict(
    _ verdict: CredentialVerdict?, for permission: Permission, _ suspension: Suspension, at now: UInt64
  ) -> Change? {
    guard permission.secretVersion == secretVersion else { return nil }
    switch verdict {
    case nil:
      releasePermission(permission, at: now)
      return nil
    case .accepted: return close(.accepted)
    case .rejected: return rejected(CredentialBreaker.rejectedWeight, permission, suspension, at: now)
    case .forbidden: return rejected(CredentialBreaker.forbiddenWeight, permission, suspension, at: now)
    }
  }

  /// Gives back the permission of a request that was not sent. Do not call this for an aborted request.
  package mutating func releasePermission(_ permission: Permission, at now: UInt64) {
    guard permission.isProbe, permission.secretVersion == secretVersion, case .probing = state else { return }
    state = .open(until: now)
  }

  private mutating func rejected(
    _ added: Int, _ permission: Permission, _ suspension: Suspension, at now: UInt64
  ) -> Change? {
    switch state {
    case .closed:
      rejections &+= 1
      weight &+= added
      guard weight / CredentialBreaker.rejectedWeight >= suspension.after else { return nil }
      suspensions &+= 1
      return .suspended(time: suspend(suspension, at: now))
    case .probing:
      // Requests that were already sent when the breaker opened add no information.
      guard permission.isProbe else { return nil }
      rejections &+= 1
      _ = suspend(suspension, at: now)
      return nil
    case .open: return nil
    }
  }

  /// Resets the breaker. Returns `change` if the breaker was not closed.
  private mutating func close(_ change: Change) -> Change? {
    let wasClosed = state == .closed
    state = .closed
    rejections = 0
    weight = 0
    consecutiveSuspensions = 0
    return wasClosed ? nil : change
  }

  /// Suspends the credential, and returns for how many milliseconds.
  private mutating func suspend(_ suspension: Suspension, at now: UInt64) -> UInt64 {
    consecutiveSuspensions += 1
    let longest = max(suspension.time, CredentialBreaker.longestTime)
    let time = BackOff(first: suspension.time, longest: longest).time(after: consecutiveSuspensions)
    state = .open(until: now.saturating(time))
    return time
  }
}
