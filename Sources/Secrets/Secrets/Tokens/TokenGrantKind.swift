/// With what a token is asked for.
package enum TokenGrantKind: Sendable, Hashable {
  /// RFC 6749 section 4.4.
  case clientCredentials
  /// RFC 6749 section 6. `first`: what to begin with, before there is a stored one; nil: a login has to come first.
  case refreshToken(first: SecretSource?)
  /// RFC 7523 section 2.1: we sign what we ask with.
  case jwtBearer(TokenAssertion)
  /// RFC 8693.
  case tokenExchange(TokenExchange)
  /// RFC 6749 section 4.3, which RFC 9700 section 2.4 forbids to new programs.
  case password(user: FieldValue, password: SecretSource)
  /// No OAuth: a session, by a form or by JSON.
  case form(LoginForm)
}

/// The claims of a JWT that is signed for a token (RFC 7523 section 3).
package struct TokenAssertion: Sendable, Hashable {
  package var key: SigningKeySource
  /// `iss`; nil: the client's id.
  package var issuer: String?
  /// `sub`; nil: the same as `iss`.
  package var subject: String?
  /// `aud`; nil: the URL of the endpoint.
  package var audience: String?
  /// Further claims, each a text. None of those that are set anyway: see `ProtocolParameters.claims`.
  package var claims: [TokenParameter] = []

  package init(key: SigningKeySource) { self.key = key }
}

/// The tokens that are exchanged (RFC 8693 section 2.1).
package struct TokenExchange: Sendable, Hashable {
  package var subject: SecretSource
  /// An identifier of RFC 8693 section 3.
  package var subjectType: String
  package var actor: SecretSource?
  /// Only, and always, with `actor`.
  package var actorType: String?
  package var requestedType: String?

  package static let accessToken = "urn:ietf:params:oauth:token-type:access_token"

  package init(subject: SecretSource, subjectType: String = Self.accessToken) {
    self.subject = subject
    self.subjectType = subjectType
  }
}
