/// Why there is no token.
package struct TokenRefusal: Error, Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// The server may be asked again, after these milliseconds if it named a time: for `Renewal`, `.transient`.
    case transient(retryAfter: UInt64?)
    /// The refresh token is worth nothing any more (`invalid_grant`): a person has to log in, or place
    /// another first token. For `Renewal`, `.final`.
    case final
    /// The server does not accept who asks or how: the configuration has to change, or the server's. No login helps; asking
    /// again does only once something has changed. For `Renewal`, `.transient` with its longest pause.
    case misconfigured
    /// A login is not finished yet: for `DevicePolling`.
    case pending(DevicePolling.Answer)
  }

  package let kind: Kind
  /// As it was sent, if it is one that is registered.
  package let code: TokenErrorCode?
  /// For the log and `status`: what the server did, and what to do. Never a byte of the server's but `code`.
  package let sentence: String

  package init(_ kind: Kind, code: TokenErrorCode? = nil, _ sentence: String) {
    self.kind = kind
    self.code = code
    self.sentence = sentence
  }
}
