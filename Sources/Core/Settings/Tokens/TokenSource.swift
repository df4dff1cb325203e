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
  /// Additional parameters, in the order of the configuration. `ProtocolParameters.problem` says which names are allowed.
  package var parameters: [LoginForm.Field] = []
  /// Additional header fields of all requests to the authorization server or the login URL.
  package var headers: [LoginForm.Field] = []
  /// How the parameters of OAuth requests are written. A `LoginForm` has its own encoding.
  package var encoding = LoginForm.Encoding.form
  /// Where the response has the access token and its lifetime.
  package var places = TokenPlaces.standard

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

  /// Where the browser goes after a login.
  package var redirect = LoopbackRedirect.standard
  /// The time limit for a login in a browser, in milliseconds.
  package var loginTimeout = OAuth2Key.loginTimeoutDefault

  package var isByLogin: Bool { deviceAuthorization != nil || authorization != nil }

  /// Absolute path of the file that stores the refresh token; `nil` if the token is not stored.
  package var store: String?
  /// Whether the login is kept, but only in memory.
  package var keepsLoginInMemory = false
  /// Whether a login is kept for later token requests, in a file or in memory.
  package var keepsLogin: Bool { store != nil || keepsLoginInMemory }
  /// Milliseconds from the renewal of a token to the end of its use. See `RenewalSettings.lead`.
  package var lead = OAuth2Key.renewAheadDefault
  /// How long before its expiry a token is no longer used, in milliseconds. See `RenewalSettings.skew`.
  package var skew = OAuth2Key.skewDefault
  /// Maximum time for a whole request to `endpoint`, in milliseconds.
  package var timeout = OAuth2Key.timeoutDefault

  package init(credential: String, endpoint: Endpoint, grant: TokenGrantKind, client: TokenClient) {
    self.credential = credential
    self.endpoint = endpoint
    self.grant = grant
    self.client = client
  }

  /// The value of `grant` in the configuration. Empty for a `LoginForm`.
  package var grantName: String {
    switch grant {
    case .clientCredentials: "client_credentials"
    case .refreshToken:
      deviceAuthorization != nil ? "device_code" : authorization != nil ? "authorization_code" : "refresh_token"
    case .jwtBearer: "jwt_bearer"
    case .tokenExchange: "token_exchange"
    case .password: "password"
    case .custom: "custom"
    case .form: ""
    case .oauth1: "oauth1"
    }
  }

  /// The sources of all secrets that requests to `endpoint` need, each once.
  package var secrets: [SecretSource] {
    var known: Set<SecretSource> = []
    return sources.map(\.source).filter { known.insert($0).inserted }
  }
}

/// A claim of an assertion. Not secret.
package struct TokenParameter: Sendable, Hashable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}
