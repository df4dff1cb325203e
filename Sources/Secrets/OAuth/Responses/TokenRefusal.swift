/// Why a server granted no token.
package struct TokenRefusal: Error, Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// A later request may succeed. `retryAfter` is the server's delay in milliseconds. `nil` if it sent none.
    case transient(retryAfter: UInt64?)
    /// The refresh token or the password is no longer valid. A person has to replace it or log in.
    case final
    /// The server does not accept the client or the request. A login does not help.
    case misconfigured
    /// The login on another device is not complete.
    case pending(DevicePolling.Outcome)
  }

  package let kind: Kind
  /// The error code that the server sent. `nil` if it sent none, or an unknown one.
  package let code: TokenErrorCode?
  /// The message for the log and `status`: what the server did, and what to do.
  package let sentence: String

  package init(_ kind: Kind, code: TokenErrorCode? = nil, _ sentence: String) {
    self.kind = kind
    self.code = code
    self.sentence = sentence
  }
}
