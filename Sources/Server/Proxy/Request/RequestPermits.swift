internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Generations
internal import System

/// Counts one request of a caller as in progress (T54), until the permit is destroyed.
struct QuotaPermit: ~Copyable {
  private let quota: CallerQuota

  /// Acquires a permit. Returns `nil` if the caller already has `limit` requests in progress.
  init?(of quota: CallerQuota, outOf limit: Int) {
    guard quota.acquireRequest(outOf: limit) else { return nil }
    self.quota = quota
  }

  deinit { quota.releaseRequest() }
}

/// The permit for one request of the caller's rate (T8). It is returned if it is destroyed unspent.
struct RatePermit: ~Copyable {
  private let limiter: RateLimiter
  private let caller: Caller
  private let lock: SharedLock
  private var isSpent = false

  init(of limiter: RateLimiter, for caller: Caller, under lock: SharedLock) {
    (self.limiter, self.caller, self.lock) = (limiter, caller, lock)
  }

  /// Counts the request toward the rate at `now`, in milliseconds of the loop's clock.
  mutating func spend(at now: UInt64) {
    isSpent = true
    lock { limiter.spend(caller, at: now) }
  }

  deinit {
    if !isSpent { lock { limiter.release(for: caller) } }
  }
}

/// The circuit breaker's permit to send a request with its credential (T41). It is returned if the request is not sent.
struct BreakerPermit: ~Copyable {
  private let view: BreakerView
  private let permission: CredentialBreaker.Permission
  private let loop: Loop
  private var isUsed = false

  /// Acquires a permit. Returns `nil` if the credential is suspended.
  init?(_ view: BreakerView, on loop: Loop) {
    guard let permission = view.shared.acquirePermission(at: loop.now) else { return nil }
    (self.view, self.permission, self.loop) = (view, permission, loop)
  }

  /// Reports the verdict of the response. `nil` if the response says nothing about the credential.
  mutating func recordVerdict(_ verdict: CredentialVerdict?, log: EventLog) {
    isUsed = true
    view.recordVerdict(verdict, for: permission, at: loop.now, log: log)
  }

  /// Whether the request tests a suspended credential.
  var isProbe: Bool { permission.isProbe }

  /// Uses up the permit without a verdict.
  mutating func lapse() { isUsed = true }

  deinit {
    if !isUsed { view.shared.releasePermission(permission, at: loop.now) }
  }
}
