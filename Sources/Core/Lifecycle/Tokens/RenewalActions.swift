extension Renewal {
  /// The next step of a request.
  package enum Verdict: Sendable, Equatable {
    /// Send the request with the token of this version.
    case use(UInt64)
    /// Let the request wait for `Actions.releases`, then ask again.
    case wait
    case refused(Reason)
  }

  package enum Reason: Sendable, Equatable {
    case loginRequired
    /// The token server did not respond. The next attempt is not before this time.
    case unavailable(until: UInt64)
    /// The new refresh token cannot be written to disk, so the access token that came with it is not used.
    case notStored(until: UInt64)
    /// There were too many renewals. The next one is not before this time.
    case storm(until: UInt64)
  }

  /// Steps for the caller to carry out, in this order.
  package struct Actions: Sendable, Equatable {
    /// Request a token, and report the result with this number.
    package internal(set) var ask: UInt64?
    /// Write the granted tokens to disk, and report the result with this number.
    package internal(set) var store: UInt64?
    /// Use the token of this version from now on.
    package internal(set) var publish: UInt64?
    /// Revoke the granted token: nothing needs it any more.
    package internal(set) var isDiscarded = false
    /// Report, once, that the user has to log in.
    package internal(set) var tellsLoginRequired = false
    /// The granted token had already expired and is not used.
    package internal(set) var tellsEnded = false
    /// Let all waiting requests ask again.
    package internal(set) var releases = false

    package init() {}
  }
}
