/// The grant type of a token request.
package enum TokenGrantKind: Sendable, Hashable {
  /// RFC 6749 section 4.4.
  case clientCredentials
  /// A refresh token (RFC 6749 section 6). `first` is the one to begin with; `nil` if the user must log in first.
  case refreshToken(first: SecretSource?)
  /// A JWT that bearerd signs is the grant (RFC 7523 section 2.1).
  case jwtBearer(TokenAssertion)
  /// RFC 8693.
  case tokenExchange(TokenExchange)
  /// User name and password (RFC 6749 section 4.3).
  case password(user: FieldValue, password: SecretSource)
  /// Another grant: only `parameters` and this `grant_type`, or no `grant_type` if `nil` (RFC 6749 section 4.5).
  case custom(type: String?)
  /// A session that begins with a posted form or JSON object.
  case form(LoginForm)
  /// A person's login with OAuth 1.0 (RFC 5849 section 2).
  case oauth1(OAuth1Login)
}

/// The claims of the JWT that bearerd signs to get a token (RFC 7523 section 3).
package struct TokenAssertion: Sendable, Hashable {
  package var key: SigningKeySource
  /// The `iss` claim; `nil` to use the client's ID.
  package var issuer: String?
  /// The `sub` claim; `nil` to use the value of `iss`.
  package var subject: String?
  /// The `aud` claim; `nil` to use the endpoint's URL.
  package var audience: String?
  /// Additional claims with string values. Their names must not be in `ProtocolParameters.claims`.
  package var claims: [TokenParameter] = []

  package init(key: SigningKeySource) { self.key = key }
}

/// The tokens of a token exchange (RFC 8693 section 2.1).
package struct TokenExchange: Sendable, Hashable {
  package var subject: SecretSource
  /// A token type identifier (RFC 8693 section 3).
  package var subjectType: String
  package var actor: SecretSource?
  /// Type of the `actor` token; `nil` if there is no such token.
  package var actorType: String?
  package var requestedType: String?

  package static let accessToken = "urn:ietf:params:oauth:token-type:access_token"

  package init(subject: SecretSource, subjectType: String = Self.accessToken) {
    self.subject = subject
    self.subjectType = subjectType
  }
}
