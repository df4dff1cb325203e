internal import Secrets
internal import Settings

/// A worker's message to the first worker about the need for a token.
struct TokenDemand: Sendable {
  enum Kind {
    /// A request needs a token, and there is none.
    case token
    /// A request has used the token.
    case use
    /// An upstream has rejected the token of this version.
    case replacement(of: UInt64)
    /// An upstream has set a new token as a cookie, in the response to a request with the token of this version.
    case offer(after: UInt64, TokenOffer)
  }

  let source: TokenSource
  let kind: Kind
}
