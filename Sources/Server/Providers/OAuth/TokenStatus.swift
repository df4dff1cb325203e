internal import Lifecycle
package import StatusModel
internal import System

/// The status of one token, which is sent to all workers.
package struct TokenStatus: Sendable {
  var renewal = Renewal.Status()
  /// The counts of token requests, and the last success and failure.
  var history = DaemonStatus.Token()
  /// A number that changes with each token that may belong to another person than the previous token.
  package var holder: UInt64 = 0
  /// The last token version whose rejection by an upstream was reported to the first worker.
  var rejectedVersion: UInt64 = 0
  /// When the token was logged out, in seconds since 1970. `nil` if it was not, or if a token has been granted since.
  package var loggedOut: Int64?

  mutating func noteFailure(_ sentence: String) {
    (history.lastFailed, history.lastFailure) = (Int(Clock.now.seconds), sentence)
  }

  /// Whether waiting for a token is useless.
  func isSettled(at now: UInt64) -> Bool {
    now < renewal.usableUntil || !renewal.isRenewing && blockingReason(at: now) != nil
  }

  /// Whether a newer token has replaced the rejected token `version`. `false` if no newer token can be requested now.
  /// `nil` if this is not known yet.
  func isReplaced(_ version: UInt64, at now: UInt64) -> Bool? {
    if renewal.tokenVersion > version, now < renewal.usableUntil { return true }
    return rejectedVersion >= version && !renewal.isRenewing && blockingReason(at: now) != nil ? false : nil
  }

  /// Why a token cannot be requested now. `nil` if it can.
  func blockingReason(at now: UInt64) -> Renewal.Reason? {
    guard let until = renewal.reason?.retryAt else { return renewal.reason }
    return now < until ? renewal.reason : nil
  }

  /// Seconds until the token expires. `nil` if there is no token, or if its expiry is unknown.
  package var secondsLeft: UInt64? {
    let (end, now) = (renewal.usableUntil, BootTimer.now)
    return end > now && end < .max ? (end &- now) / 1_000 : nil
  }

  /// Seconds until a token can be requested again. `nil` if this is possible now, or if a person has to log in.
  var secondsUntilRetry: UInt64? {
    let now = BootTimer.now
    return renewal.reason?.retryAt.flatMap { $0 > now ? ($0 &- now &+ 999) / 1_000 : nil }
  }

  /// Whether a request gets a token, perhaps after a renewal.
  package var isAvailable: Bool { BootTimer.now < renewal.usableUntil || isRenewable }

  var isRenewable: Bool { renewal.failures == 0 && renewal.reason == nil && loggedOut == nil }

  package var isLoginRequired: Bool { renewal.reason == .loginRequired }

  package var report: DaemonStatus.Token {
    var report = history
    report.secondsLeft = secondsLeft.map { Int(clamping: $0) }
    report.renewing = renewal.isRenewing
    report.atNextRequest = secondsLeft == nil && renewal.usableUntil != .max && isRenewable
    report.loginRequired = isLoginRequired
    report.failuresInARow = Int(renewal.failures)
    report.nextAttemptIn = secondsUntilRetry.map { Int(clamping: $0) }
    return report
  }
}

extension Renewal.Reason {
  /// When a token can be requested again, in milliseconds of `BootTimer`. `nil` if a person has to log in first.
  var retryAt: UInt64? {
    switch self {
    case .loginRequired: nil
    case .unavailable(let until), .notStored(let until), .tooManyRenewals(let until): until
    }
  }
}
