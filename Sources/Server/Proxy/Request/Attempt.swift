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
  /// Whether the upstream has sent messages of a gRPC call, whose end can still reject the credential.
  private(set) var isAcceptedPreliminarily = false
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
    let wasAccepted = isAcceptedPreliminarily
    isAcceptedPreliminarily = false
    guard var permit = breaker.take() else { return }
    if wasAccepted, verdict == .accepted {
      permit.recordFormerAcceptance(log: log)
    } else {
      permit.recordVerdict(verdict, log: log)
    }
  }

  /// Keeps the permit until the end of a gRPC call, unless other requests wait for the verdict.
  /// - Parameter hasMessage: whether a message has arrived. Otherwise only the head, which accepts a credential only for a request
  ///   that tests it: the first message can come much later.
  mutating func acceptPreliminarily(hasMessage: Bool, log: EventLog) {
    guard var permit = breaker.take() else { return isAcceptedPreliminarily = isAcceptedPreliminarily || hasMessage }
    isAcceptedPreliminarily = hasMessage || permit.isProbe
    if permit.isProbe { permit.recordVerdict(.accepted, log: log) } else { breaker = consume permit }
  }

  /// Releases the permits. The breaker gets no verdict.
  mutating func end() {
    if var permit = breaker.take() { permit.lapse() }
    returnRate()
  }
}
