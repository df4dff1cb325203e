internal import Lifecycle
package import Primitives
internal import System

/// The status of one token, which is sent to all workers.
package struct TokenStatus: Sendable {
  var renewal = Renewal.Status()
  /// Number of token requests.
  var asked: UInt64 = 0
  package var granted: UInt64 = 0
  package var failed: UInt64 = 0
  /// A number that changes with each token that may belong to another person than the previous token.
  package var holder: UInt64 = 0
  /// The last token version whose rejection by an upstream was reported to the first worker.
  var rejectedVersion: UInt64 = 0
  /// When the endpoint last granted a token, in seconds since 1970. `nil` if never.
  var grantedAt: Int64?
  var failure: Failure?
  /// When the token was logged out, in seconds since 1970. `nil` if it was not, or if a token has been granted since.
  package var loggedOut: Int64?

  struct Failure: Sendable {
    let at: Int64
    let sentence: String
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
    switch renewal.reason {
    case nil: nil
    case .loginRequired: .loginRequired
    case .unavailable(let until), .notStored(let until), .tooManyRenewals(let until): now < until ? renewal.reason : nil
    }
  }
}

extension TokenStatus {
  /// Seconds until the token expires. `nil` if there is no token, or if its expiry is unknown.
  package var secondsLeft: UInt64? {
    let (end, now) = (renewal.usableUntil, BootTimer.now)
    return end > now && end < .max ? (end &- now) / 1_000 : nil
  }

  /// Seconds until a token can be requested again. `nil` if this is possible now, or if a person has to log in.
  var secondsUntilRetry: UInt64? {
    switch renewal.reason {
    case nil, .loginRequired: return nil
    case .unavailable(let until), .notStored(let until), .tooManyRenewals(let until):
      let now = BootTimer.now
      return until > now ? (until &- now &+ 999) / 1_000 : nil
    }
  }

  /// Whether a request gets a token, perhaps after a renewal.
  package func isAvailable(at now: UInt64) -> Bool { now < renewal.usableUntil || isRenewable }

  var isRenewable: Bool { renewal.failures == 0 && renewal.reason == nil && loggedOut == nil }

  package var isLoginRequired: Bool { renewal.reason == .loginRequired }

  package func write(to json: inout JSONWriter) {
    json.object("token") { json in
      json.member("seconds_left", secondsLeft)
      json.member("renewing", renewal.isRenewing)
      json.member("at_next_request", secondsLeft == nil && renewal.usableUntil != .max && isRenewable)
      json.member("login_required", isLoginRequired)
      json.member("asked", asked)
      json.member("granted", granted)
      json.member("failed", failed)
      json.member("failures_in_a_row", UInt64(renewal.failures))
      json.member("next_attempt_in", secondsUntilRetry)
      json.member("last_granted", grantedAt.map { UInt64(max(0, $0)) })
      json.member("last_failed", failure.map { UInt64(max(0, $0.at)) })
      json.member("last_failure", failure?.sentence)
    }
  }
}
