/// What goes wrong in a world, and when. Times in milliseconds.
struct Script: Sendable, CustomStringConvertible {
  var name: String
  /// Of the access tokens; nil: the server does not say, and they are good for ten minutes.
  var lifetime: UInt64? = 20_000
  var rotates = true
  var answersAfter: UInt64 = 50
  var storesAfter: UInt64 = 5
  var down: Range<UInt64>? = nil
  var retryAfter: UInt64? = nil
  /// The server hands out what is left of a token that it keeps, and nothing is left.
  var grantsEnded: Range<UInt64>? = nil
  /// It does what it is asked, and its answer gets lost.
  var losesAnswers: Range<UInt64>? = nil
  var diskFails: Range<UInt64>? = nil
  /// Tokens are thrown away by the server at these times, before they expire.
  var revokesAccess: [UInt64] = []
  var rejectsAll: Range<UInt64>? = nil
  /// From then on the server takes no refresh token that it gave before.
  var revokesRefresh: UInt64? = nil
  /// The server does not know who asks, until somebody has placed another client secret.
  var refusesClient: Range<UInt64>? = nil
  /// Somebody places another client secret, or reloads, at these times.
  var secretChanges: [UInt64] = []
  /// Somebody places another refresh token.
  var places: UInt64? = nil
  /// The upstream answers 401 to these tokens, counted from 0, for ever.
  var deadTokens: Set<Int> = []
  var logout: UInt64? = nil
  var login: UInt64? = nil
  /// The machine sleeps.
  var sleeps: Range<UInt64>? = nil

  var description: String { name }
}
