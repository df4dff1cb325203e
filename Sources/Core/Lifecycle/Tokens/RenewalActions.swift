extension Renewal {
  /// What happens to a request that needs the token.
  package enum Verdict: Sendable, Equatable {
    /// Send the request with the token of this version.
    case use(UInt64)
    /// Let the request wait for `Actions.releases`, and then call `Renewal.request` for it.
    case wait
    case refused(Reason)
  }

  package enum Reason: Sendable, Equatable {
    case loginRequired
    /// The token server is unavailable, and the next token request is not sent before this time.
    case unavailable(until: UInt64)
    /// The new refresh token cannot be written to disk. The next attempt is at this time.
    case notStored(until: UInt64)
    /// There were too many renewals, and the next one does not begin before this time.
    case tooManyRenewals(until: UInt64)
  }

  /// Steps for the caller to carry out, in the order of these properties.
  package struct Actions: Sendable, Equatable {
    /// Number of a token request that the caller must send, to report the result with; `nil` for none.
    package internal(set) var requestToken: UInt64?
    /// Number of a grant whose tokens the caller must write to disk, to report the result with; `nil` for none.
    package internal(set) var store: UInt64?
    /// Version of a granted token that the caller must use from now on. `nil` for none.
    package internal(set) var publish: UInt64?
    /// Revoke the granted token, because its token request is outdated.
    package internal(set) var isDiscarded = false
    /// Report, once, that the user has to log in.
    package internal(set) var reportsLoginRequired = false
    package internal(set) var reportsExpiredGrant = false
    /// Call `Renewal.request` again for all waiting requests.
    package internal(set) var releases = false

    package init() {}
  }
}
