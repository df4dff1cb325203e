package import Policy

extension CredentialSettings {
  /// How a credential gets its tokens from a server of its own (RFC 6749): names, paths and public parameters, no secret.
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

    /// How the client says who it is (RFC 6749 section 2.3, RFC 7523 section 2.2).
    package enum ClientAuth: String, Sendable, CaseIterable {
      case basic, post, none
      case privateKeyJWT = "private_key_jwt"
      /// RFC 8705 section 2: by the certificate that TLS shows.
      case tlsClientAuth = "tls_client_auth"
      case selfSignedTLSClientAuth = "self_signed_tls_client_auth"

      package var isByCertificate: Bool { self == .tlsClientAuth || self == .selfSignedTLSClientAuth }
    }

    package struct Parameter: Sendable, Equatable {
      package let name: String
      package let value: String
    }

    /// The credential's name.
    package let name: String
    /// https.
    package var endpoint: Endpoint
    /// The endpoint to which tokens are given back (RFC 7009), with the same trust; nil: none.
    package var revocation: Endpoint?
    package var allowedAddresses: [AddressBlock] = []
    package var trust = TrustPolicy()
    package var grant: Grant
    package var clientID: String?
    package var clientAuth = ClientAuth.none
    package var clientSecret: Source?
    package var privateKey: Source?
    /// The credential's certificate; the endpoint sees it if `clientAuth` says so.
    package var certificate: ClientCertificate?
    /// `kid` of what is signed with it (RFC 7515 section 4.1.4).
    package var keyID: String?
    /// `iss` and `sub` of a JWT that is a grant (RFC 7523 section 3); of a browser's login, what the server calls itself (RFC
    /// 9207).
    package var issuer: String?
    package var subject: String?
    /// Further claims of it, each a text.
    package var claims: [Parameter] = []
    /// `aud` of what is signed; nil: the URL of the endpoint.
    package var assertionAudience: String?
    package var scope: [String] = []
    /// RFC 8707.
    package var resource: [String] = []
    package var audience: [String] = []
    /// In the order of the file.
    package var parameters: [Parameter] = []
    /// The first one.
    package var refreshToken: Source?
    /// RFC 8693 section 2.1, as are those below.
    package var subjectToken: Source?
    package var subjectTokenType: String?
    package var requestedTokenType: String?
    package var actorToken: Source?
    package var actorTokenType: String?
    package var user: Value?
    package var password: Source?
    /// The beginning of a login from another device (RFC 8628 section 3.1), or of one by a browser (RFC 6749 section 3.1).
    package var deviceAuthorization: Endpoint?
    package var authorization: Endpoint?
    package var redirect = LoopbackRedirect.standard
    /// Milliseconds for which a browser is waited for.
    package var loginTimeout = OAuth2Key.loginTimeoutDefault
    /// Absolute: where a login is kept, or a refresh token that has taken the place of the first one; nil: none is ever granted.
    package var store: String?
    /// Milliseconds, as are those below: ahead of the end of use.
    package var renewAhead = OAuth2Key.renewAheadDefault
    /// Ahead of the expiry.
    package var skew = OAuth2Key.skewDefault
    /// For one request to the endpoint, all in all.
    package var timeout = OAuth2Key.timeoutDefault
    /// Bytes of a request's body that are kept, so that it can be sent once more when the upstream calls the token expired.
    package var replayBuffer = OAuth2Key.replayBufferDefault
    /// Answers that call the token expired, besides 401.
    package var refreshOn: [ExpirySigns.Sign] = []

    init(name: String, endpoint: Endpoint, grant: Grant) {
      self.name = name
      self.endpoint = endpoint
      self.grant = grant
    }

    /// The sources of the secrets that the endpoint is shown.
    package var secrets: [Source] {
      var user: Source?
      if case .secret(let source) = self.user { user = source }
      return [clientSecret, privateKey, refreshToken, subjectToken, actorToken, user, password].compactMap(\.self)
    }
  }
}
