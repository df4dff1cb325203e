internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Setup
internal import System

/// A request's place among those that its caller has under way (T54). Given back when the permit goes.
struct QuotaPermit: ~Copyable {
  private let quota: CallerQuota

  /// nil: the caller has as many requests under way as it may.
  init?(of quota: CallerQuota, outOf limit: Int) {
    guard quota.acquireRequest(outOf: limit) else { return nil }
    self.quota = quota
  }

  deinit { quota.releaseRequest() }
}

/// A request's part of its caller's rate (T8): reserved before a connection is opened, spent when the head has gone out, given
/// back if the permit goes before.
struct RatePermit: ~Copyable {
  private let limiter: RateLimiter
  private let caller: Caller
  private let lock: SharedLock
  private var isSpent = false

  /// The permit for a reservation that `limiter` has granted.
  init(of limiter: RateLimiter, for caller: Caller, under lock: SharedLock) {
    (self.limiter, self.caller, self.lock) = (limiter, caller, lock)
  }

  /// - Parameter now: milliseconds of the loop's clock.
  mutating func spend(at now: UInt64) {
    isSpent = true
    lock { limiter.spend(caller, at: now) }
  }

  deinit {
    if !isSpent { lock { limiter.giveBack(to: caller) } }
  }
}

/// A request's leave to go out with its credential (T41): the circuit breaker hears of the upstream's verdict by it. Given back
/// if the permit goes before the request has gone out; one that is given up behind it has still tried.
struct BreakerPermit: ~Copyable {
  private let view: BreakerView
  private let permission: CredentialBreaker.Permission
  private let loop: Loop
  private var isUsed = false

  /// nil: nothing may go out now.
  init?(_ view: BreakerView, on loop: Loop) {
    guard let permission = view.shared.acquirePermission(at: loop.now) else { return nil }
    (self.view, self.permission, self.loop) = (view, permission, loop)
  }

  /// - Parameter verdict: of the upstream's response; `nil` if it says nothing of the credential.
  mutating func answered(_ verdict: CredentialVerdict?, log: EventLog) {
    isUsed = true
    view.answered(verdict, to: permission, at: loop.now, log: log)
  }

  /// The exchange is over, and no verdict has come.
  mutating func lapse() { isUsed = true }

  deinit {
    if !isUsed { view.shared.releasePermission(permission, at: loop.now) }
  }
}
