internal import Credentials

/// What the requests of one worker say of a token.
struct TokenWish: Hashable, Sendable {
  enum Kind: Hashable {
    /// There is none to go out with.
    case token
    /// It goes out, so that it is worth renewing ahead of its end.
    case use
    /// An upstream calls the token of this generation expired.
    case another(than: UInt64)
  }

  let source: TokenSource
  let kind: Kind
}
