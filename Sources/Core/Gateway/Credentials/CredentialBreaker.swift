internal import Lifecycle
package import Policy

/// Holds a credential back from an origin that keeps rejecting it: an app that tries again and again with a wrong password
/// would lock the account, or have this machine banned (T41).
///
/// One for each credential and origin. Per origin, because one that rejects the credential must not keep it from the others, and
/// because the successes at one say nothing of the account at another. What it knows is of one generation of the credential: a
/// new value begins anew. Times are milliseconds of any clock that only goes on.
package struct CredentialBreaker: Sendable {
  package enum State: Equatable, Sendable {
    case closed
    /// Nothing goes out until then; afterwards one request may.
    case open(until: UInt64)
    /// One request is out to try it. If its answer is not known by then, the next one may try.
    case probing(until: UInt64)
  }

  /// The permit that a request gets along on its way, and brings back with its answer.
  package struct Permission: Equatable, Sendable {
    let generation: UInt64
    let isProbe: Bool
  }

  package enum Change: Equatable, Sendable {
    /// The credential is suspended from now on, for so many milliseconds.
    case suspended(time: UInt64)
    /// The credential goes out again: an upstream has accepted it.
    case accepted
    /// The credential goes out again: its value is another one.
    case renewed
    /// The credential goes out again: an administrator has resumed it.
    case resumed
  }

  package private(set) var state = State.closed
  /// The number of the credential's value that was rejected.
  package private(set) var generation: UInt64 = 0
  /// Answers 401, 407 and 403 without a success between them.
  package private(set) var rejections = 0
  /// How often it came to be held back.
  package private(set) var suspensions: UInt64 = 0
  /// The rejections' weight together.
  private var weight = 0
  /// How often in a row it came to be held back.
  private var holds = 0

  /// A 403 is mostly about one path among many: ten of them count as one rejection.
  private static let rejectedWeight = 10
  private static let forbiddenWeight = 1
  private static let longestTime: UInt64 = 3_600_000
  /// Until a probe's answer can be expected.
  private static let probeTime: UInt64 = 1_000

  package init() {}

  // MARK: a request wants to go out

  /// The credential has this generation now. To be told before the rest is asked.
  package mutating func follow(_ generation: UInt64) -> Change? {
    guard generation != self.generation else { return nil }
    let wasClosed = state == .closed
    self.generation = generation
    close()
    return wasClosed ? nil : .renewed
  }

  /// A person says that it may go out again: nothing is known against it from now on.
  package mutating func resume() -> Change? {
    let wasClosed = state == .closed
    close()
    return wasClosed ? nil : .resumed
  }

  /// The value that it knows has another number now. Who is out to try it brings back an answer to the old one.
  package mutating func goOn(as generation: UInt64) { self.generation = generation }

  /// 0: it is not.
  package var heldUntil: UInt64 {
    switch state {
    case .closed: 0
    case .open(let end), .probing(let end): end
    }
  }

  /// One request is out to try the credential.
  package var isTried: Bool { if case .probing = state { true } else { false } }

  /// Milliseconds until a request may be let out; nil: one may now.
  package func wait(at now: UInt64) -> UInt64? {
    switch state {
    case .closed: nil
    case .open(let end): end > now ? end - now : nil
    case .probing(let end): end > now ? min(end - now, CredentialBreaker.probeTime) : nil
    }
  }

  /// A request goes out now; nil: it may not, and `wait` says for how long.
  package mutating func acquirePermission(_ suspension: Suspension, at now: UInt64) -> Permission? {
    guard wait(at: now) == nil else { return nil }
    guard state != .closed else { return Permission(generation: generation, isProbe: false) }
    state = .probing(until: later(now, by: suspension.time))
    return Permission(generation: generation, isProbe: true)
  }

  // MARK: it has come to its end

  /// - Parameter verdict: nil: the answer does not say.
  package mutating func answered(
    _ verdict: CredentialVerdict?, to permission: Permission, _ suspension: Suspension, at now: UInt64
  ) -> Change? {
    guard permission.generation == generation else { return nil }
    switch verdict {
    case nil:
      releasePermission(permission, at: now)
      return nil
    case .accepted:
      let wasClosed = state == .closed
      close()
      return wasClosed ? nil : .accepted
    case .rejected: return rejected(CredentialBreaker.rejectedWeight, permission, suspension, at: now)
    case .forbidden: return rejected(CredentialBreaker.forbiddenWeight, permission, suspension, at: now)
    }
  }

  /// The request did not go out after all. One that did, and is given up, is another matter: a client that gives up before the
  /// answer has still tried, so the next probe has to wait for its time.
  package mutating func releasePermission(_ permission: Permission, at now: UInt64) {
    guard permission.isProbe, permission.generation == generation, case .probing = state else { return }
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
      return .suspended(time: hold(suspension, at: now))
    case .probing:
      // Nothing new is learned of the other requests, which were out already when the breaker opened.
      guard permission.isProbe else { return nil }
      rejections &+= 1
      _ = hold(suspension, at: now)
      return nil
    case .open: return nil
    }
  }

  private mutating func close() {
    state = .closed
    rejections = 0
    weight = 0
    holds = 0
  }

  /// Returns for how many milliseconds: longer each time that a probe is rejected, too.
  private mutating func hold(_ suspension: Suspension, at now: UInt64) -> UInt64 {
    holds += 1
    let longest = max(suspension.time, CredentialBreaker.longestTime)
    let time = BackOff(first: suspension.time, longest: longest).time(after: holds)
    state = .open(until: later(now, by: time))
    return time
  }

  private func later(_ time: UInt64, by more: UInt64) -> UInt64 {
    let (sum, overflow) = time.addingReportingOverflow(more)
    return overflow ? .max : sum
  }
}
