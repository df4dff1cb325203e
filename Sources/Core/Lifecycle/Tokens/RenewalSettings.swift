/// How eagerly a token is renewed. All times in milliseconds.
package struct RenewalSettings: Sendable, Equatable {
  /// Before its end of use, from when on a token is renewed while requests still go out with it. A fifth of its lifetime, at
  /// most.
  package var lead: UInt64 = 60_000
  /// Before its expiry, from when on no request goes out with it: clocks differ, and requests take time. A quarter of its
  /// lifetime, at most.
  package var skew: UInt64 = 10_000
  /// Between failures in a row.
  package var backOff = BackOff(first: 1_000, longest: 300_000)
  /// The most of a server's `Retry-After` that is believed (RFC 9110 section 10.2.3).
  package var longestRetryAfter: UInt64 = 3_600_000
  /// So many renewals within `stormWindow`, and no more: a server whose tokens are never accepted would be asked for ever.
  package var stormLimit = 5
  package var stormWindow: UInt64 = 30_000
  /// Renewals at the end of a token that lives so long do not count among them.
  package var lastingLifetime: UInt64 = 2_000

  package init() {}
}

/// A server's grant, as far as it matters when.
package struct Granted: Sendable, Equatable {
  /// `expires_in`, in milliseconds; nil: the server did not say, and the token is used until it is rejected (RFC 6749 section
  /// 5.1); 0: it has ended already, or the server's number is none.
  package var lifetime: UInt64?
  /// There is something that has to be on disk before the token may be used: a refresh token that replaces the one there.
  package var hasToBeStored: Bool

  package init(lifetime: UInt64?, hasToBeStored: Bool = false) {
    self.lifetime = lifetime
    self.hasToBeStored = hasToBeStored
  }
}

/// Why a server granted nothing.
package enum RenewalFailure: Sendable, Equatable {
  /// The server did not answer, or could not: it may be asked again.
  /// - Parameter retryAfter: how long it wants to be left alone.
  case transient(retryAfter: UInt64?)
  /// Our login is worth nothing any more (`invalid_grant`, RFC 6749 section 5.2): a person has to log in.
  case final
}
