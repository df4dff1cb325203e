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

  /// The trust that TLS needs for `endpoint`: its own, not that of any service.
  package var trust = TrustPolicy()
  /// Addresses that `endpoint`'s host may have, beyond public ones.
  package var allowedAddresses: [AddressBlock] = []
  /// The endpoint that revokes tokens (RFC 7009); nil: they are not revoked.
  package var revocation: Endpoint?
  /// The endpoint where a login from another device begins (RFC 8628 section 3.1).
  package var deviceAuthorization: Endpoint?
  /// The endpoint that a browser is sent to for a login (RFC 6749 section 3.1).
  package var authorization: Endpoint?
  /// The server's name for itself (RFC 9207): `iss` of a login's answer has to be this. nil: it sends none.
  package var issuer: String?

  /// A person has to log in, here, before there is a token.
  package var isByLogin: Bool { deviceAuthorization != nil || authorization != nil }

  /// Absolute path of the file that keeps a refresh token; nil: nothing is kept.
  package var store: String?
  /// `RenewalSettings.lead`, milliseconds.
  package var lead: UInt64 = 60_000
  /// `RenewalSettings.skew`, milliseconds.
  package var skew: UInt64 = 10_000
  /// The time for one request to `endpoint`, all in all, in milliseconds.
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
