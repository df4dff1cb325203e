extension Renewal {
  /// The next step of a request.
  package enum Verdict: Sendable, Equatable {
    /// The request goes out with the token of this generation.
    case use(UInt64)
    /// The request waits for `Actions.releases`, and asks again.
    case wait
    case refused(Reason)
  }

  package enum Reason: Sendable, Equatable {
    case loginRequired
    /// The server could not be asked; it is not asked again before this time.
    case unavailable(until: UInt64)
    /// A refresh token cannot be written, and so what came with it is not used.
    case notStored(until: UInt64)
    /// There were too many renewals; none before this time.
    case storm(until: UInt64)
  }

  /// Steps to be done now, in this order.
  package struct Actions: Sendable, Equatable {
    /// Ask the server. Its answer comes with this number.
    package internal(set) var ask: UInt64?
    /// Write what was granted, and say so with this number.
    package internal(set) var store: UInt64?
    /// From now on this generation is the current one.
    package internal(set) var publish: UInt64?
    /// The token that came is of no use any more: revoke it.
    package internal(set) var isDiscarded = false
    /// Tell once that a person has to log in.
    package internal(set) var tellsLoginRequired = false
    /// The token that was granted had no time left, and is not used.
    package internal(set) var tellsEnded = false
    /// All who wait ask again.
    package internal(set) var releases = false

    package init() {}
  }
}
