internal import Secrets

/// A demand of one worker's requests for a token.
struct TokenDemand: Hashable, Sendable {
  enum Kind: Hashable {
    /// There is none to go out with.
    case token
    /// The token goes out, so that it is worth renewing ahead of its end.
    case use
    /// An upstream calls the token of this generation expired.
    case another(than: UInt64)
    /// An upstream has set it anew in the answer to a request with that of this generation.
    case fresher(than: UInt64, TokenOffer)
  }

  let source: TokenSource
  let kind: Kind
}
