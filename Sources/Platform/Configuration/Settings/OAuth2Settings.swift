package import Policy

extension CredentialSettings {
  /// How a credential gets tokens from a token endpoint (RFC 6749). Contains no secret.
  package struct OAuth2: Sendable, Equatable {
    package enum Grant: String, Sendable, CaseIterable {
      case clientCredentials = "client_credentials"
      case refreshToken = "refresh_token"
      case jwtBearer = "jwt_bearer"
      case tokenExchange = "token_exchange"
      case deviceCode = "device_code"
      case authorizationCode = "authorization_code"
      case password
    }

    /// How bearerd authenticates at the token endpoint (RFC 6749 section 2.3, RFC 7523 section 2.2).
    package enum ClientAuth: String, Sendable, CaseIterable {
      case basic, post, none
      case privateKeyJWT = "private_key_jwt"
      /// By a TLS certificate of the client (RFC 8705 section 2).
      case tlsClientAuth = "tls_client_auth"
      case selfSignedTLSClientAuth = "self_signed_tls_client_auth"

      package var isByCertificate: Bool { self == .tlsClientAuth || self == .selfSignedTLSClientAuth }
    }

    package struct Parameter: Sendable, Equatable {
      package let name: String
      package let value: String
    }

    package let name: String
    /// The token endpoint.
    package var endpoint: Endpoint
    /// The revocation endpoint (RFC 7009). `nil` if there is none.
    package var revocation: Endpoint?
    package var allowedAddresses: [AddressBlock] = []
    package var trust = TrustPolicy()
    package var grant: Grant
    package var clientID: String?
    package var clientAuth = ClientAuth.none
    package var clientSecret: Source?
    package var privateKey: Source?
    /// The client certificate, which some endpoints need.
    package var certificate: ClientCertificate?
    /// The `kid` of JWTs that are signed with `privateKey` (RFC 7515 section 4.1.4).
    package var keyID: String?
    /// The `iss` of a JWT grant (RFC 7523 section 3), or the server's issuer in a browser login (RFC 9207).
    package var issuer: String?
    /// The `sub` of a JWT grant.
    package var subject: String?
    /// Further claims of a JWT grant.
    package var claims: [Parameter] = []
    /// The `aud` of signed JWTs. `nil` for the URL of the token endpoint.
    package var assertionAudience: String?
    package var scope: [String] = []
    /// The target resources (RFC 8707).
    package var resource: [String] = []
    package var audience: [String] = []
    /// Further parameters of token requests, in the order of the file.
    package var parameters: [Parameter] = []
    /// The source of the initial refresh token.
    package var refreshToken: Source?
    /// The source of the subject's token for a token exchange (RFC 8693 section 2.1).
    package var subjectToken: Source?
    package var subjectTokenType: String?
    package var requestedTokenType: String?
    package var actorToken: Source?
    package var actorTokenType: String?
    package var user: Value?
    package var password: Source?
    /// The endpoint for a login from another device (RFC 8628 section 3.1).
    package var deviceAuthorization: Endpoint?
    /// The endpoint for a login in a browser (RFC 6749 section 3.1).
    package var authorization: Endpoint?
    package var redirect = LoopbackRedirect.standard
    /// The time limit for a login in a browser, in milliseconds.
    package var loginTimeout = OAuth2Key.loginTimeoutDefault
    /// The absolute path of the file for a login or a new refresh token. `nil` if the grant has neither.
    package var store: String?
    /// The time between the renewal of a token and the end of its use, in milliseconds.
    package var renewAhead = OAuth2Key.renewAheadDefault
    /// The time between the end of a token's use and its expiry, in milliseconds.
    package var skew = OAuth2Key.skewDefault
    /// The total time limit of a request to the token endpoint, in milliseconds.
    package var timeout = OAuth2Key.timeoutDefault
    /// Maximum size of a request body to keep for a second attempt, in bytes.
    package var replayBuffer = OAuth2Key.replayBufferDefault
    /// Responses that mean an expired token, in addition to 401.
    package var refreshOn: [ExpirySigns.Sign] = []

    init(name: String, endpoint: Endpoint, grant: Grant) {
      self.name = name
      self.endpoint = endpoint
      self.grant = grant
    }

    package var secrets: [Source] {
      var user: Source?
      if case .secret(let source) = self.user { user = source }
      return [clientSecret, privateKey, refreshToken, subjectToken, actorToken, user, password].compactMap(\.self)
    }
  }
}
