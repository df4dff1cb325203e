internal import HTTP1
internal import Policy
internal import Primitives

/// The additional attempts of a request after upstream failures (`retry` of a service).
struct UpstreamRetry: Sendable {
  /// The request body that was sent, without its framing. Empty if it is longer than the replay buffer.
  private(set) var body: [UInt8] = []
  /// Number of additional attempts that have begun.
  private(set) var attempts = 0
  /// Whether an earlier attempt has sent a part of the request.
  private(set) var wasSent = false
  /// When the next attempt begins, in milliseconds of the loop's clock.
  private(set) var due: UInt64 = 0
  /// When an attempt may begin at the latest, in milliseconds of the loop's clock. `nil` before the first failure.
  private var latest: UInt64?
  private var isBodyTooLong = false

  /// The wait before the first additional attempt without `Retry-After`, in milliseconds. It doubles each time.
  static var firstWait: UInt64 { 250 }

  mutating func keep(_ bytes: Span<UInt8>, limit: Int) {
    guard !isBodyTooLong else { return }
    if bytes.count <= limit - body.count { return body.append(bytes) }
    isBodyTooLong = true
    body = []
  }

  /// Plans the next attempt. Returns `false` if the policy allows none, or none in time.
  /// - Parameters:
  ///   - pause: the milliseconds of `Retry-After`. `nil` if the response has none.
  ///   - now: the loop's time, in milliseconds.
  ///   - chance: a random number from the whole range.
  ///   - wasSent: whether the failed attempt has sent a part of the request.
  mutating func plan(
    by policy: RetryPolicy, after pause: UInt64?, now: UInt64, chance: UInt64, wasSent: Bool
  ) -> Bool {
    guard attempts < policy.attempts else { return false }
    let latest = latest ?? now.saturating(plus: policy.atMost)
    // Requests that failed together should not be sent again together.
    let longest = UpstreamRetry.firstWait << UInt64(min(attempts, 16))
    let wait = max(longest - chance % (longest / 2), pause ?? 0)
    let due = now.saturating(plus: wait)
    guard due <= latest else { return false }
    (self.due, self.latest) = (due, latest)
    if wasSent { self.wasSent = true }
    return true
  }

  mutating func begin() { attempts += 1 }
}

extension UInt64 {
  fileprivate func saturating(plus other: UInt64) -> UInt64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? .max : sum
  }
}

extension Exchange {
  /// When a request that waits for its next attempt is sent again, in milliseconds of the loop's clock.
  package var retryDue: UInt64 { authRetry.upstreamRetry?.due ?? 0 }

  /// Whether an earlier attempt has sent the request, completely or in part.
  var wasSentBefore: Bool {
    record.isRetried || authRetry.isUnderWay || authRetry.upstreamRetry?.wasSent == true
  }

  private var retryPolicy: RetryPolicy? {
    guard let route, let snapshot else { return nil }
    return snapshot.rules.services[route.service].retry
  }

  /// Keeps body bytes for an additional attempt.
  mutating func keepForRetry(_ bytes: Span<UInt8>) {
    guard let policy = retryPolicy, head.method.isIdempotent else { return }
    authRetry.withUpstreamRetry { $0.keep(bytes, limit: policy.replayBuffer) }
  }

  /// Plans another attempt because of the response's status. Returns `false` to forward the response.
  mutating func retriesResponse(_ policy: RetryPolicy, isLast: Bool, now: UInt64) -> Bool {
    guard policy.includes(response.status), !isLast, !passage.hasForwardedInterim, canSendAgain else { return false }
    return planRetry(policy, after: RetryAfter.milliseconds(in: response), now: now, wasSent: true)
  }

  /// Plans another attempt because no upstream connection could be opened, or because the connection broke before the
  /// response.
  mutating func retriesFailure(_ refusal: Refusal, hasSentHead: Bool, now: UInt64) -> Bool {
    guard case .plain(let code) = refusal, code.isTransient, let policy = retryPolicy else { return false }
    let isUnsent = !hasSentHead && !wasSentBefore && forwarding.upgrade == nil && hasReadNoBody
    guard isUnsent || !passage.hasForwardedInterim && canSendAgain else { return false }
    return planRetry(policy, after: nil, now: now, wasSent: hasSentHead)
  }

  /// Whether the request is idempotent, and the whole request is still in memory.
  private var canSendAgain: Bool {
    let kept = form.body.count &+ (authRetry.upstreamRetry?.body.count ?? 0)
    return head.method.isIdempotent && forwarding.upgrade == nil && !session.hasLogin && isRequestComplete
      && requestTrailers.isEmpty && record.bytesUp == UInt64(kept)
  }

  private mutating func planRetry(_ policy: RetryPolicy, after pause: UInt64?, now: UInt64, wasSent: Bool) -> Bool {
    let chance = UInt64.random(in: .min ... .max)
    return authRetry.withUpstreamRetry {
      $0.plan(by: policy, after: pause, now: now, chance: chance, wasSent: wasSent)
    }
  }

  /// Whether the connection can be used again although its response is discarded, if its whole body has arrived.
  var canReuseAfterDiscarding: Bool { mayServeAnother && !session.hasLogin }

  /// Begins the additional attempt that was planned.
  mutating func beginRepetition() {
    authRetry.withUpstreamRetry { $0.begin() }
    record.retries += 1
  }

  mutating func discardResponse() {
    let hasForwardedInterim = passage.hasForwardedInterim
    passage = ResponsePassage()
    passage.hasForwardedInterim = hasForwardedInterim
  }
}

/// Reads `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
  /// Maximum number of digits.
  private static var maximumDigits: Int { 9 }
  private static var maximumDate: Int { 64 }

  /// Returns the milliseconds to wait. `nil` if the field is absent or invalid. The largest value if the field has a
  /// time, and the response has no `Date` with which to compare it.
  static func milliseconds(in response: ResponseHead) -> UInt64? {
    let bytes = response.bytes.span
    for field in response.fields where FieldName.matches(field.name, of: bytes, "retry-after") {
      let value = field.value
      if value.isEmpty { return nil }
      if value.allSatisfy({ ASCII.isDigit(bytes[$0]) }) {
        if value.count > maximumDigits { return .max }
        return value.reduce(0) { $0 * 10 + UInt64(bytes[$1] - 0x30) } * 1_000
      }
      return untilDate(value, in: response)
    }
    return nil
  }

  private static func untilDate(_ value: Range<Int>, in response: ResponseHead) -> UInt64? {
    // Two-digit years need a time nearby. The upstream's own clock decides, because ours may differ.
    guard let date = response.fields.first(where: { $0.known == .date })?.value,
      let now = seconds(date, of: response, near: 1_767_225_600)
    else { return seconds(value, of: response, near: 1_767_225_600).map { _ in .max } }
    guard let end = seconds(value, of: response, near: now) else { return nil }
    return end <= now ? 0 : UInt64(end - now) * 1_000
  }

  private static func seconds(_ value: Range<Int>, of response: ResponseHead, near now: Int64) -> Int64? {
    guard value.count <= maximumDate else { return nil }
    return HTTPDate.seconds(parsing: String(decoding: response.bytes[value], as: UTF8.self), now: now)
  }
}

extension RefusalCode {
  /// Whether the upstream could not be reached, in a way that may end soon. Not `true` for failed verifications.
  fileprivate var isTransient: Bool {
    switch self {
    case .nameLookupFailed, .nameTimeout, .connectionRefused, .connectionFailed, .connectionTimeout, .handshakeFailed,
      .handshakeTimeout, .upstreamClosed:
      true
    default: false
    }
  }
}
