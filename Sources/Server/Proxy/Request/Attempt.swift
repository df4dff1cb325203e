internal import Credentials
internal import EventLoop
internal import Gateway
internal import Log
internal import Providers
internal import Secrets

/// One attempt to send a request: its permits, and what was sent.
struct Attempt: ~Copyable {
  var rate: RatePermit?
  /// Whether the attempt has counted toward the rate.
  private(set) var hasSpentRate = false
  /// The breaker's permit, held from shortly before the request head is sent until the response head arrives. Otherwise
  /// `nil`.
  var breaker: BreakerPermit?
  /// Whether the upstream has accepted the credential before the end of a gRPC call.
  private(set) var isAccepted = false
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

  var hasBreaker: Bool { breaker != nil }

  mutating func returnRate() { _ = rate.take() }
  mutating func returnBreaker() { _ = breaker.take() }

  /// Counts the request toward the rate at `now`, in milliseconds of the loop's clock.
  mutating func spendRate(at now: UInt64) {
    guard var permit = rate.take() else { return }
    hasSpentRate = true
    permit.spend(at: now)
  }

  mutating func recordVerdict(_ verdict: CredentialVerdict?, log: EventLog) {
    guard var permit = breaker.take() else { return }
    permit.recordVerdict(verdict, log: log)
  }

  /// Records the acceptance of the credential in a gRPC call.
  /// - Parameter hasMessage: whether a message has arrived. Otherwise only the head has, which accepts a credential only for a request
  ///   that tests it: the first message can come much later, and other requests wait for the verdict.
  mutating func accept(hasMessage: Bool, log: EventLog) {
    if hasMessage { isAccepted = true }
    guard var permit = breaker.take() else { return }
    if hasMessage || permit.isProbe {
      isAccepted = true
      permit.recordVerdict(.accepted, log: log)
    } else {
      breaker = consume permit
    }
  }

  /// Releases the permits. The breaker gets no verdict.
  mutating func end() {
    if var permit = breaker.take() { permit.lapse() }
    returnRate()
  }
}
