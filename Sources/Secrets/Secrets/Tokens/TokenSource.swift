package import Policy

/// How one credential gets its access tokens from an authorization server (RFC 6749). Contains no secret. Equal values
/// share one token.
package struct TokenSource: Sendable, Hashable {
  /// Name of the credential, for messages and logs, and for the name of the file that stores its login.
  package var credential: String
  /// The token endpoint, or the login URL of a `LoginForm`.
  package var endpoint: Endpoint
  package var grant: TokenGrantKind
  package var client: TokenClient
  /// Requested scopes (RFC 6749 section 3.3). Empty for the server's default.
  package var scope: [String] = []
  /// Absolute URIs, without fragments, of the servers that will receive the tokens (RFC 8707).
  package var resource: [String] = []
  /// Names of the services that will receive the tokens (RFC 8693 section 2.1).
  package var audience: [String] = []
  /// Additional form fields, in the order of the configuration. Their names must not be in `ProtocolParameters.names`.
  package var parameters: [TokenParameter] = []

  /// TLS trust settings for `endpoint`, independent of any service's settings.
  package var trust = TrustPolicy()
  /// IP addresses that are allowed for the host of `endpoint`, in addition to public addresses.
  package var allowedAddresses: [AddressBlock] = []
  /// The revocation endpoint (RFC 7009); `nil` if tokens are not revoked.
  package var revocation: Endpoint?
  /// The device authorization endpoint (RFC 8628 section 3.1); `nil` without a device login.
  package var deviceAuthorization: Endpoint?
  /// The authorization endpoint (RFC 6749 section 3.1); `nil` without a browser login.
  package var authorization: Endpoint?
  /// The expected `iss` in the response to a login (RFC 9207); `nil` if the server sends none.
  package var issuer: String?

  package var isByLogin: Bool { deviceAuthorization != nil || authorization != nil }

  /// Absolute path of the file that stores the refresh token; `nil` if the token is not stored.
  package var store: String?
  /// Milliseconds from the renewal of a token to the end of its use. See `RenewalSettings.lead`.
  package var lead: UInt64 = 60_000
  /// How long before its expiry a token is no longer used, in milliseconds. See `RenewalSettings.skew`.
  package var skew: UInt64 = 10_000
  /// Maximum time for a whole request to `endpoint`, in milliseconds.
  package var timeout: UInt64 = 10_000

  package init(credential: String, endpoint: Endpoint, grant: TokenGrantKind, client: TokenClient) {
    self.credential = credential
    self.endpoint = endpoint
    self.grant = grant
    self.client = client
  }
}

/// A form field of a token request, or a claim of an assertion. Not secret.
package struct TokenParameter: Sendable, Hashable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}
