internal import Credentials
internal import EventLoop
internal import Gateway
internal import Log
internal import Providers
internal import Secrets
internal import Setup

/// The permits and values with which the request under way goes out. The ones that it has not used go back when its exchange
/// ends.
///
/// A class, whose properties are emptied by `take`: a value that is destroyed where it stands costs a check of exclusive access
/// at each use of its neighbours.
final class Attempt {
  /// nil: it does not count among its caller's requests under way.
  private(set) var quota: QuotaPermit?
  /// Its place was given back ahead of its access record.
  private(set) var hasReturnedQuota = false
  private(set) var rate: RatePermit?
  /// A request costs once, however often it is sent.
  private(set) var hasSpentRate = false
  /// The breaker's permit of a request that is out with a credential and has no response yet.
  private(set) var breaker: BreakerPermit?
  /// How the request went out, if its credential answers challenges, until that is known.
  var challenge: ChallengeAttempt?
  /// The jar that the request's cookies came from, and where those of the response go.
  var jarTicket: JarTicket?
  /// Values for the request from programs that want to hear of the response.
  var helperValues: [HelperValue] = []
  /// The number of the token that went out with it; 0: there was none.
  var tokenVersion: UInt64 = 0
  /// The version of the token's value, which may stay the same from one token to the next.
  var valueVersion: UInt64 = 0
  /// For the log: why the request was refused, or ended.
  var failureDetail: String?

  /// Ready for another request.
  func reset() {
    returnQuota()
    returnRate()
    returnBreaker()
    (hasReturnedQuota, hasSpentRate) = (false, false)
    if challenge != nil { challenge = nil }
    if jarTicket != nil { jarTicket = nil }
    if !helperValues.isEmpty { helperValues = [] }
    (tokenVersion, valueVersion) = (0, 0)
    failureDetail = nil
  }

  var hasQuota: Bool { quota != nil }
  var hasBreaker: Bool { breaker != nil }

  func take(_ permit: consuming QuotaPermit) { _ = exchange(&quota, permit) }
  func take(_ permit: consuming RatePermit) { _ = exchange(&rate, permit) }
  func take(_ permit: consuming BreakerPermit) { _ = exchange(&breaker, permit) }

  func returnQuota() { _ = quota.take() }
  func returnRate() { _ = rate.take() }
  func returnBreaker() { _ = breaker.take() }

  /// The client may see the end of the response and ask once more before there is a record.
  func returnQuotaEarly() {
    guard hasQuota else { return }
    returnQuota()
    hasReturnedQuota = true
  }

  /// The head has gone out.
  /// - Parameter now: milliseconds of the loop's clock.
  func spendRate(at now: UInt64) {
    guard var permit = rate.take() else { return }
    hasSpentRate = true
    permit.spend(at: now)
  }

  /// The upstream has judged the credential.
  func answered(_ verdict: CredentialVerdict?, log: EventLog) {
    guard var permit = breaker.take() else { return }
    permit.answered(verdict, log: log)
  }

  /// The exchange is over. Returns whether it counted among its caller's requests.
  func end() -> Bool {
    if var permit = breaker.take() { permit.lapse() }
    returnRate()
    let counted = hasQuota || hasReturnedQuota
    returnQuota()
    hasReturnedQuota = false
    return counted
  }

  @inline(__always)
  private func exchange<Permit: ~Copyable>(_ place: inout Permit?, _ new: consuming Permit?) -> Permit? {
    let old = place.take()
    place = new
    return old
  }
}
