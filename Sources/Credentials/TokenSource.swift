package import Policy

/// How one credential gets its access tokens from an authorization server (RFC 6749): names, paths and public parameters,
/// no secret. Two that are equal are one: asked once, for all who use it.
package struct TokenSource: Sendable, Hashable {
  /// Name of the credential: for sentences, logs and the file of its login.
  package var credential: String
  /// The only place where its secrets go.
  package var endpoint: Endpoint
  package var grant: TokenGrantKind
  package var client: TokenClient
  /// RFC 6749 section 3.3; joined by blanks. Empty: what the server gives by itself.
  package var scope: [String] = []
  /// RFC 8707: absolute URIs without fragment; each is sent.
  package var resource: [String] = []
  /// RFC 8693 section 2.1; each is sent.
  package var audience: [String] = []
  /// Further form fields, in their order. None of `ProtocolParameters.names`.
  package var parameters: [TokenParameter] = []

  /// What TLS has to prove for `endpoint`: its own, not that of any service.
  package var trust = TrustPolicy()
  /// Of `endpoint`'s host, beyond public ones.
  package var allowedAddresses: [AddressBlock] = []
  /// Where tokens are revoked (RFC 7009); nil: they are not.
  package var revocation: Endpoint?
  /// Where a login from another device begins (RFC 8628 section 3.1).
  package var deviceAuthorization: Endpoint?
  /// Where a browser is sent for a login (RFC 6749 section 3.1).
  package var authorization: Endpoint?
  /// What the server calls itself (RFC 9207): `iss` of a login's answer has to be this. nil: it sends none.
  package var issuer: String?

  /// Absolute path of the file that keeps a refresh token; nil: nothing is kept.
  package var store: String?
  /// `RenewalSettings.lead`, milliseconds.
  package var lead: UInt64 = 60_000
  /// `RenewalSettings.skew`, milliseconds.
  package var skew: UInt64 = 10_000
  /// Of one request, all in all; milliseconds.
  package var timeout: UInt64 = 10_000

  package init(credential: String, endpoint: Endpoint, grant: TokenGrantKind, client: TokenClient) {
    self.credential = credential
    self.endpoint = endpoint
    self.grant = grant
    self.client = client
  }
}

/// A form field of a request for a token, or a claim of an assertion. No secret.
package struct TokenParameter: Sendable, Hashable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

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
}

/// What a JWT says that is signed for a token (RFC 7523 section 3).
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

/// What is exchanged (RFC 8693 section 2.1).
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

/// Who asks (RFC 6749 section 2).
package struct TokenClient: Sendable, Hashable {
  package enum Authentication: Sendable, Hashable {
    /// A public client: its id alone, in the form.
    case none
    /// RFC 6749 section 2.3.1, by `Authorization: Basic`.
    case basic(SecretSource)
    /// The same, in the form.
    case post(SecretSource)
    /// RFC 7523 section 2.2. `audience`: `aud`; nil: the URL of the endpoint.
    case privateKeyJWT(SigningKeySource, audience: String?)
  }

  /// Visible ASCII and blanks (RFC 6749 appendix A.1). Empty only where the grant needs no client, with `none`.
  package var id: String
  package var authentication: Authentication

  package init(id: String, authentication: Authentication) {
    self.id = id
    self.authentication = authentication
  }
}

/// A private key as PEM, unencrypted: RSA of 2048 bits or more signs by RS256, EC on P-256 by ES256 (RFC 7518 section 3.1).
package struct SigningKeySource: Sendable, Hashable {
  package var source: SecretSource
  /// `kid` of the header; nil: none.
  package var identifier: String?

  package init(_ source: SecretSource, identifier: String? = nil) {
    self.source = source
    self.identifier = identifier
  }
}
