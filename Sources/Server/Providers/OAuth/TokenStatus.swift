internal import Lifecycle
package import Primitives
internal import System

/// How one token stands, as all workers are told.
package struct TokenStatus: Sendable {
  var outlook = Renewal.Outlook()
  /// Requests to the endpoint; and how many of them gave a token.
  var asked: UInt64 = 0
  package var granted: UInt64 = 0
  package var failed: UInt64 = 0
  /// Counts up with each token that may be another person's than the one before.
  package var holder: UInt64 = 0
  /// The last generation that an upstream has rejected, as far as that has been looked into.
  var rejected: UInt64 = 0
  /// When the endpoint gave a token last, in seconds since 1970, as are those below; nil: never.
  var grantedAt: Int64?
  /// The last failure, be it over or not.
  var failure: Failure?
  /// When the token was logged out; nil: not since the last token.
  package var loggedOut: Int64?

  struct Failure: Sendable {
    let at: Int64
    let sentence: String
  }

  /// A request that cannot go out has to wait no longer: there is a token, or there will be none soon.
  func isSettled(at now: UInt64) -> Bool {
    now < outlook.usableUntil || !outlook.isRenewing && refusal(at: now) != nil
  }

  /// Whether a rejected token was replaced; nil: not yet, or it is time to ask again. False: there will be no other
  /// one soon.
  func isReplaced(_ generation: UInt64, at now: UInt64) -> Bool? {
    if outlook.generation > generation, now < outlook.usableUntil { return true }
    return rejected >= generation && !outlook.isRenewing && refusal(at: now) != nil ? false : nil
  }

  /// Why it is of no use to ask for one now; nil: it is of use.
  func refusal(at now: UInt64) -> Renewal.Reason? {
    switch outlook.reason {
    case nil: nil
    case .loginRequired: .loginRequired
    case .unavailable(let until), .notStored(let until), .storm(let until): now < until ? outlook.reason : nil
    }
  }
}

extension TokenStatus {
  /// Seconds for which requests go out with the token; nil: there is none, or its end is unknown.
  package var secondsLeft: UInt64? {
    let (end, now) = (outlook.usableUntil, BootTimer.now)
    return end > now && end < .max ? (end &- now) / 1_000 : nil
  }

  /// Seconds until the token is asked for again, if a request wants it; nil: that is at once, or under way, or not for time to
  /// say.
  var secondsOfPause: UInt64? {
    switch outlook.reason {
    case nil, .loginRequired: return nil
    case .unavailable(let until), .notStored(let until), .storm(let until):
      let now = BootTimer.now
      return until > now ? (until &- now &+ 999) / 1_000 : nil
    }
  }

  /// Whether a request can go out with the token, perhaps after it was asked for: none has wanted it for a while, and nothing
  /// has come in the way.
  package func isAvailable(at now: UInt64) -> Bool { now < outlook.usableUntil || isRenewable }

  /// There is none now, and the next request gets one.
  var isRenewable: Bool { outlook.failures == 0 && outlook.reason == nil && loggedOut == nil }

  package var isLoginRequired: Bool { outlook.reason == .loginRequired }

  /// For `status`.
  package func write(to json: inout JSONWriter) {
    json.object("token") { json in
      json.member("seconds_left", secondsLeft)
      json.member("renewing", outlook.isRenewing)
      json.member("at_next_request", secondsLeft == nil && outlook.usableUntil != .max && isRenewable)
      json.member("login_required", isLoginRequired)
      json.member("asked", asked)
      json.member("granted", granted)
      json.member("failed", failed)
      json.member("failures_in_a_row", UInt64(outlook.failures))
      json.member("next_attempt_in", secondsOfPause)
      json.member("last_granted", grantedAt.map { UInt64(max(0, $0)) })
      json.member("last_failed", failure.map { UInt64(max(0, $0.at)) })
      json.member("last_failure", failure?.sentence)
    }
  }
}
