/// The faults of a simulation, with their times in milliseconds.
struct Script: Sendable, CustomStringConvertible {
  var name: String
  /// Lifetime of access tokens. `nil` if the server sends none: the tokens are then valid for ten minutes.
  var lifetime: UInt64? = 20_000
  var rotates = true
  var responseDelay: UInt64 = 50
  var storeDelay: UInt64 = 5
  var down: Range<UInt64>? = nil
  var retryAfter: UInt64? = nil
  /// When the server issues a cached token that has already expired.
  var grantsEnded: Range<UInt64>? = nil
  /// When the server handles requests, but its responses are lost.
  var losesResponses: Range<UInt64>? = nil
  var diskFails: Range<UInt64>? = nil
  /// When the server revokes all access tokens.
  var revokesAccess: [UInt64] = []
  var rejectsAll: Range<UInt64>? = nil
  /// When the server revokes all earlier refresh tokens.
  var revokesRefresh: UInt64? = nil
  /// When the server rejects the client, until the user replaces the client secret.
  var refusesClient: Range<UInt64>? = nil
  /// When the user replaces the client secret or reloads.
  var secretChanges: [UInt64] = []
  /// When the user replaces the refresh token.
  var replacesRefresh: UInt64? = nil
  /// Tokens, counted from 0, to which the upstream always responds with 401.
  var deadTokens: Set<Int> = []
  var logout: UInt64? = nil
  var login: UInt64? = nil
  /// When the machine is suspended.
  var sleeps: Range<UInt64>? = nil

  var description: String { name }
}
