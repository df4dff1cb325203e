internal import Credentials
internal import EventLoop
internal import Gateway
internal import Log
internal import Providers
internal import Secrets

/// The permits and values of the current request.
final class Attempt {
  /// Counts the request as in progress for its caller. `nil` if the request does not count.
  private(set) var quota: QuotaPermit?
  /// Whether the gate `audit` has let the request pass, so that its audit record must not be lost.
  var isRecordPromised = false
  private(set) var rate: RatePermit?
  /// Whether the request has counted toward the rate.
  private(set) var hasSpentRate = false
  /// The breaker's permit, held from shortly before the request head is sent until the response head arrives. Otherwise
  /// `nil`.
  private(set) var breaker: BreakerPermit?
  /// How the request used a credential that responds to challenges. `nil` for other credentials.
  var challenge: ChallengeAttempt?
  /// The jar that provides the request's cookies and receives the response's cookies.
  var jarTicket: JarTicket?
  /// Values in the request that helper programs provided.
  var helperValues: [HelperValue] = []
  /// The version of the access token that was sent. 0 if none was sent.
  var tokenVersion: UInt64 = 0
  /// The credential's secret version when the token was sent.
  var valueVersion: UInt64 = 0
  /// The reason for a refusal or an early end, for the log.
  var failureDetail: String?

  func reset() {
    returnQuota()
    returnRate()
    returnBreaker()
    (isRecordPromised, hasSpentRate) = (false, false)
    if challenge != nil { challenge = nil }
    if jarTicket != nil { jarTicket = nil }
    if !helperValues.isEmpty { helperValues = [] }
    (tokenVersion, valueVersion) = (0, 0)
    failureDetail = nil
  }

  /// Prepares for another attempt, which counts toward the rate again. Keeps the quota permit.
  func prepareRetry() {
    returnRate()
    returnBreaker()
    hasSpentRate = false
    if challenge != nil { challenge = nil }
    if !helperValues.isEmpty { helperValues = [] }
    failureDetail = nil
  }

  var hasQuota: Bool { quota != nil }
  var hasBreaker: Bool { breaker != nil }

  func store(_ permit: consuming QuotaPermit) { _ = exchange(&quota, permit) }
  func store(_ permit: consuming RatePermit) { _ = exchange(&rate, permit) }
  func store(_ permit: consuming BreakerPermit) { _ = exchange(&breaker, permit) }

  // Assigning `nil` would cost an exclusivity check at each access, so `take()` clears these properties.
  func returnQuota() { _ = quota.take() }
  func returnRate() { _ = rate.take() }
  func returnBreaker() { _ = breaker.take() }

  /// Counts the request toward the rate at `now`, in milliseconds of the loop's clock.
  func spendRate(at now: UInt64) {
    guard var permit = rate.take() else { return }
    hasSpentRate = true
    permit.spend(at: now)
  }

  func recordVerdict(_ verdict: CredentialVerdict?, log: EventLog) {
    guard var permit = breaker.take() else { return }
    permit.recordVerdict(verdict, log: log)
  }

  /// Releases all permits. Returns whether the audit record must not be lost.
  func end() -> Bool {
    if var permit = breaker.take() { permit.lapse() }
    returnRate()
    returnQuota()
    defer { isRecordPromised = false }
    return isRecordPromised
  }

  @inline(__always)
  private func exchange<Permit: ~Copyable>(_ current: inout Permit?, _ new: consuming Permit?) -> Permit? {
    let old = current.take()
    current = new
    return old
  }
}
