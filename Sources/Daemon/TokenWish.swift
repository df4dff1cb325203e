internal import Credentials

/// What the requests of one worker say of a token.
struct TokenWish: Hashable, Sendable {
  let source: TokenSource
  /// The token goes out, so that it is worth renewing ahead of its end; else there is none to go out with.
  let isUse: Bool
}
