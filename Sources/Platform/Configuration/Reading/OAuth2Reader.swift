internal import Policy
internal import Settings

/// Reads `oauth2` of a credential: tokens from a token endpoint (RFC 6749).
extension SettingsReader {
  func oauth2(_ node: YAMLNode, at location: TextLocation, of draft: inout CredentialDraft) -> AuthScheme? {
    guard let fields = fields(node, at: location, of: OAuth2Key.self) else { return nil }
    let errors = report.errorCount
    let endpoint = tokenURL(fields)
    guard let grant = grant(fields) else { return nil }
    checkKeys(fields, of: grant)
    guard let endpoint else { return nil }
    let key = signingKey(fields, at: endpoint)
    let client = client(fields, for: grant, at: endpoint, key, draft.certificate?.settings)
    let kind = grantKind(fields, grant, at: endpoint, key)
    var token = TokenSource(credential: draft.name, endpoint: endpoint, grant: kind, client: client)
    token.revocation = fields[.revocationURL].flatMap {
      self.endpoint($0, like: "https://login.example.com/oauth2/revoke")
    }
    token.trust = trust(fields)
    token.allowedAddresses = allowedAddresses(fields)
    readParameters(fields, into: &token)
    readTimes(fields, into: &token)
    readLogin(fields, grant, into: &token)
    draft.replayBuffer = size(.replayBuffer, of: fields) ?? OAuth2Key.replayBufferDefault
    if let node = fields[.refreshOn] { draft.refreshOn = refreshOn(node) }
    if grant.keys.contains(.store) { token.store = store(fields, of: draft.name) }
    return report.errorCount == errors ? .bearer(.token(token)) : nil
  }

  private func tokenURL(_ fields: Fields<OAuth2Key>) -> Endpoint? {
    guard let node = fields[.tokenURL] else {
      missing(
        .tokenURL, in: fields, "\"oauth2\" has no token_url",
        help: "add token_url: https://HOST/oauth2/token")
      return nil
    }
    return endpoint(node, like: "https://login.example.com/oauth2/token")
  }

  func endpoint(_ node: YAMLNode, like example: String) -> Endpoint? {
    guard let text = text(node, "a URL like \(example)"), checkURL(text, at: node.location) else { return nil }
    do throws(PolicySyntaxError) {
      return try Endpoint(parsing: text)
    } catch {
      report.error(node.location, error.message)
      return nil
    }
  }

  private func grant(_ fields: Fields<OAuth2Key>) -> OAuth2Grant? {
    guard let node = fields[.grant] else {
      missing(
        .grant, in: fields, "\"oauth2\" has no grant",
        help: "add grant: and one of \(Self.grants)")
      return nil
    }
    if node.text == "implicit" {
      report.error(
        node.location,
        "the implicit grant is not supported: this grant puts tokens into URLs, and RFC 9700 advises against it",
        help: "write grant: authorization_code for a login in a browser, or grant: client_credentials")
      return nil
    }
    return choice(node, OAuth2Grant.allCases.map { ($0.rawValue, $0) })
  }

  private static var grants: String {
    OAuth2Grant.allCases.map(\.rawValue).joined(separator: ", ")
  }

  /// Reports missing keys, and keys that do not belong to this grant.
  private func checkKeys(_ fields: Fields<OAuth2Key>, of grant: OAuth2Grant) {
    var reported: Set<OAuth2Key> = []
    for other in OAuth2Grant.allCases where other != grant {
      let foreign = other.keys.first { fields.has($0) && !grant.keys.contains($0) }
      if let key = foreign, reported.insert(key).inserted {
        report.error(
          fields.location(of: key),
          "\"\(key.rawValue)\" is allowed only with grant: \(other.rawValue), and this grant is \(grant.rawValue)",
          help: "delete the line, or write grant: \(other.rawValue)")
      }
    }
    for key in grant.needed where !fields.has(key) && !fields.isMisspelled(key) {
      let example = key.isSecret ? "{ file: NAME }" : key.isURL ? "https://HOST/PATH" : "NAME"
      report.error(
        fields.location, "grant \(grant.rawValue) needs \"\(key.rawValue)\"",
        help: "add \(key.rawValue): \(example)")
    }
  }

  /// Reads the keys of one grant. After an error, the result is incomplete.
  private func grantKind(
    _ fields: Fields<OAuth2Key>, _ grant: OAuth2Grant, at endpoint: Endpoint, _ key: JWTKey
  ) -> TokenGrantKind {
    checkGrant(fields, grant)
    // `checkKeys` has reported a missing secret.
    func needed(_ key: OAuth2Key) -> SecretSource { secret(key, fields, at: endpoint) ?? .file("") }
    switch grant {
    case .clientCredentials: return .clientCredentials
    case .refreshToken: return .refreshToken(first: secret(.refreshToken, fields, at: endpoint))
    case .jwtBearer:
      var assertion = TokenAssertion(key: key.source)
      assertion.issuer = words(.issuer, fields)
      assertion.subject = words(.subject, fields)
      assertion.audience = key.audience
      assertion.claims = namedValues(.claims, fields, "claim", ProtocolParameters.claims)
      return .jwtBearer(assertion)
    case .tokenExchange:
      var exchange = TokenExchange(subject: needed(.subjectToken))
      if let type = words(.subjectTokenType, fields) { exchange.subjectType = type }
      exchange.actor = secret(.actorToken, fields, at: endpoint)
      exchange.actorType = words(.actorTokenType, fields)
      exchange.requestedType = words(.requestedTokenType, fields)
      return .tokenExchange(exchange)
    case .deviceCode, .authorizationCode: return .refreshToken(first: nil)
    case .password:
      let use = SecretUse(role: .user, origins: [endpoint.origin])
      let user = fields[.user].flatMap {
        value($0, at: fields.location(of: .user), "a user name, or { file: NAME }", for: use)
      }
      return .password(user: user ?? .plain(""), password: needed(.password))
    }
  }

  private func checkGrant(_ fields: Fields<OAuth2Key>, _ grant: OAuth2Grant) {
    if fields.has(.actorToken) != fields.has(.actorTokenType) {
      let key = fields.has(.actorToken) ? OAuth2Key.actorToken : .actorTokenType
      report.error(
        fields.location(of: key),
        "\"actor_token\" and \"actor_token_type\" must be used together (RFC 8693 section 2.1)")
    }
    if grant == .password, fields.has(.grant) {
      report.warning(
        fields[.grant]?.location ?? fields.location,
        "the password grant reveals a person's password to bearerd and to the server: RFC 9700 advises against this grant",
        help: "use client_credentials or refresh_token if the server supports one of them")
    }
  }

  private func readTimes(_ fields: Fields<OAuth2Key>, into token: inout TokenSource) {
    if let time = fields[.renewAhead].flatMap({ duration($0, orZero: true) }) { token.lead = time }
    if let time = fields[.skew].flatMap({ duration($0, orZero: true) }) { token.skew = time }
    if let time = duration(.timeout, of: fields, "requests have to wait for the token") { token.timeout = time }
  }

  /// Reads the source of a secret that requests to the endpoint need.
  func secret(
    _ key: OAuth2Key, _ fields: Fields<OAuth2Key>, at endpoint: Endpoint
  ) -> SecretSource? {
    let use = SecretUse(role: .value, origins: [endpoint.origin])
    return fields[key].flatMap { source($0, at: fields.location(of: key), for: use) }
  }

  func words(_ key: OAuth2Key, _ fields: Fields<OAuth2Key>) -> String? {
    fields[key].flatMap { text($0, "text for \"\(key.rawValue)\"") }
  }
}

/// The values of `grant`.
enum OAuth2Grant: String, CaseIterable {
  case clientCredentials = "client_credentials"
  case refreshToken = "refresh_token"
  case jwtBearer = "jwt_bearer"
  case tokenExchange = "token_exchange"
  case deviceCode = "device_code"
  case authorizationCode = "authorization_code"
  case password

  /// The keys of this grant, without the keys that all grants have.
  var keys: [OAuth2Key] {
    switch self {
    case .clientCredentials: []
    case .refreshToken: [.refreshToken, .store]
    case .jwtBearer: [.issuer, .subject, .claims]
    case .tokenExchange: [.subjectToken, .subjectTokenType, .requestedTokenType, .actorToken, .actorTokenType]
    case .deviceCode: [.deviceAuthorizationURL, .store]
    case .authorizationCode: [.authorizationURL, .redirectURI, .loginTimeout, .issuer, .store]
    case .password: [.user, .password]
    }
  }

  fileprivate var needed: [OAuth2Key] {
    switch self {
    case .clientCredentials: [.clientID]
    case .refreshToken: [.clientID, .refreshToken]
    case .jwtBearer: [.issuer, .privateKey]
    case .tokenExchange: [.subjectToken, .subjectTokenType]
    case .deviceCode: [.clientID, .deviceAuthorizationURL]
    case .authorizationCode: [.clientID, .authorizationURL]
    case .password: [.clientID, .user, .password]
    }
  }
}

extension OAuth2Key {
  fileprivate var isSecret: Bool {
    switch self {
    case .clientSecret, .privateKey, .refreshToken, .subjectToken, .actorToken, .password: true
    default: false
    }
  }

  fileprivate var isURL: Bool { self == .deviceAuthorizationURL || self == .authorizationURL }
}
