/// Times and limits of token renewals. All times are in milliseconds.
package struct RenewalSettings: Sendable, Equatable {
  /// A token is renewed this long before its end of use, while requests still use it. At most a fifth of its lifetime.
  package var lead: UInt64 = 60_000
  /// A token is not used from this long before its expiry, because clocks differ and requests take time. At most a quarter of
  /// its lifetime.
  package var skew: UInt64 = 10_000
  /// Waits between failures in a row.
  package var backOff = BackOff(first: 1_000, longest: 300_000)
  /// Upper bound for a server's `Retry-After` (RFC 9110 section 10.2.3).
  package var longestRetryAfter: UInt64 = 3_600_000
  /// Maximum number of renewals within `renewalWindow`. Otherwise a token server whose tokens no upstream accepts would be
  /// asked without end.
  package var stormLimit = 5
  package var stormWindow: UInt64 = 30_000
  /// The end of a token that lived at least this long does not count towards `maxRenewals`.
  package var lastingLifetime: UInt64 = 2_000

  package init() {}
}

/// The parts of a token server's grant that decide about time.
package struct Granted: Sendable, Equatable {
  /// `expires_in` (RFC 6749 section 5.1), in milliseconds. `nil` if the server sent none: the token is used until it is
  /// rejected. 0 if the token has expired already or the server's value is not a number.
  package var lifetime: UInt64?
  /// `true` if a new refresh token has to be on disk before the access token may be used.
  package var hasToBeStored: Bool

  package init(lifetime: UInt64?, hasToBeStored: Bool = false) {
    self.lifetime = lifetime
    self.hasToBeStored = hasToBeStored
  }
}

/// Why a token server granted no token.
package enum RenewalFailure: Sendable, Equatable {
  /// The server did not respond or has a temporary problem. It may be asked again.
  /// - Parameter retryAfter: the wait that the server asked for.
  case transient(retryAfter: UInt64?)
  /// The refresh token is no longer valid (`invalid_grant`, RFC 6749 section 5.2): the user has to log in.
  case final
}
