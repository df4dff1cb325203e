/// Times and limits of token renewals. All times are in milliseconds.
package struct RenewalSettings: Sendable, Equatable {
  /// Milliseconds from the renewal of a token to the end of its use. At most a fifth of the token's lifetime.
  package var lead: UInt64 = 60_000
  /// A token is no longer used this many milliseconds before its expiry. At most a quarter of the token's lifetime.
  package var skew: UInt64 = 10_000
  package var backOff = BackOff(first: 1_000, longest: 300_000)
  /// Maximum delay that bearerd accepts from a server's `Retry-After`, in milliseconds (RFC 9110 section 10.2.3).
  package var longestRetryAfter: UInt64 = 3_600_000
  /// Maximum number of renewals within `renewalWindow`.
  package var maxRenewals = 5
  package var renewalWindow: UInt64 = 30_000
  /// Renewals of a token that lives at least this many milliseconds do not count towards `maxRenewals`, unless an
  /// upstream has rejected the token.
  package var lastingLifetime: UInt64 = 2_000

  package init() {}
}

/// The properties of a granted token that decide when it is used and renewed.
package struct Granted: Sendable, Equatable {
  /// Lifetime in milliseconds, from `expires_in` (RFC 6749 section 5.1). `nil` if the server sent none; 0 if the token
  /// has already expired or the value is not a number.
  package var lifetime: UInt64?
  /// `true` if a new refresh token has to be on disk before the access token may be used.
  package var mustBeStored: Bool

  package init(lifetime: UInt64?, hasToBeStored: Bool = false) {
    self.lifetime = lifetime
    self.mustBeStored = hasToBeStored
  }
}

/// Why a token server granted no token.
package enum RenewalFailure: Sendable, Equatable {
  /// The server did not respond or has a temporary problem.
  /// - Parameter retryAfter: milliseconds to wait, from `Retry-After`; `nil` if the server sent none.
  case transient(retryAfter: UInt64?)
  /// The refresh token is no longer valid (`invalid_grant`, RFC 6749 section 5.2): the user has to log in.
  case final
}
