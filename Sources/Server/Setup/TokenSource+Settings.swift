internal import Configuration
internal import Policy
internal import Secrets

extension TokenSource {
  /// Converts the settings of a token source.
  init(_ token: CredentialSettings.OAuth2) {
    self.init(
      credential: token.name, endpoint: token.endpoint, grant: TokenGrantKind(token),
      client: TokenClient(id: token.clientID ?? "", authentication: TokenClient.Authentication(token)))
    scope = token.scope
    resource = token.resource
    audience = token.audience
    revocation = token.revocation
    parameters = token.parameters.map { TokenParameter($0.name, $0.value) }
    trust = token.trust
    allowedAddresses = token.allowedAddresses
    deviceAuthorization = token.deviceAuthorization
    authorization = token.authorization
    issuer = token.grant == .authorizationCode ? token.issuer : nil
    store = token.store
    lead = token.renewAhead
    skew = token.skew
    timeout = token.timeout
  }
}

extension TokenSource {
  /// Converts the settings of a container registry's token endpoint.
  init(_ registry: CredentialSettings.Registry) {
    self.init(
      credential: registry.name, endpoint: registry.realm, grant: .clientCredentials,
      client: TokenClient(id: "", authentication: .none))
    trust = registry.trust
    allowedAddresses = registry.allowedAddresses
    timeout = registry.timeout
  }
}

extension TokenGrantKind {
  fileprivate init(_ token: CredentialSettings.OAuth2) {
    switch token.grant {
    case .clientCredentials: self = .clientCredentials
    case .refreshToken: self = .refreshToken(first: token.refreshToken.map { SecretSource($0) })
    case .jwtBearer:
      var assertion = TokenAssertion(key: SigningKeySource(token))
      assertion.issuer = token.issuer
      assertion.subject = token.subject
      assertion.audience = token.assertionAudience
      assertion.claims = token.claims.map { TokenParameter($0.name, $0.value) }
      self = .jwtBearer(assertion)
    case .tokenExchange:
      var exchange = TokenExchange(subject: SecretSource(needed: token.subjectToken))
      if let type = token.subjectTokenType { exchange.subjectType = type }
      exchange.actor = token.actorToken.map { SecretSource($0) }
      exchange.actorType = token.actorTokenType
      exchange.requestedType = token.requestedTokenType
      self = .tokenExchange(exchange)
    case .deviceCode, .authorizationCode: self = .refreshToken(first: nil)
    case .password:
      self = .password(
        user: token.user.map { FieldValue($0) } ?? .plain(""), password: SecretSource(needed: token.password))
    }
  }
}

extension TokenClient.Authentication {
  fileprivate init(_ token: CredentialSettings.OAuth2) {
    switch token.clientAuth {
    case .none: self = .none
    case .basic: self = .basic(SecretSource(needed: token.clientSecret))
    case .post: self = .post(SecretSource(needed: token.clientSecret))
    case .privateKeyJWT: self = .privateKeyJWT(SigningKeySource(token), audience: token.assertionAudience)
    case .tlsClientAuth, .selfSignedTLSClientAuth: self = .certificate(token.certificate?.identifier ?? "")
    }
  }
}

extension SigningKeySource {
  fileprivate init(_ token: CredentialSettings.OAuth2) {
    self.init(SecretSource(needed: token.privateKey), identifier: token.keyID)
  }
}

extension SecretSource {
  /// Converts a source that the configuration reader requires.
  fileprivate init(needed source: CredentialSettings.Source?) { self = source.map { SecretSource($0) } ?? .file("") }
}

extension Settings {
  /// All trust settings, with the configuration key that contains them.
  var trusts: [(name: String, trust: TrustPolicy)] {
    let services = rules.services.map { ("services.\($0.name)", $0.trust) }
    return services
      + credentials.compactMap { credential in
        if case .registry(let registry) = credential.scheme {
          return ("credentials.\(credential.name).registry", registry.trust)
        }
        if let login = credential.login { return ("credentials.\(credential.name).login", login.trust) }
        return credential.token.map { ("credentials.\(credential.name).oauth2", $0.trust) }
      }
  }
}
