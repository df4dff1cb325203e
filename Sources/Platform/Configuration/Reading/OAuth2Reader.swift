internal import Policy

/// Reads `oauth2` of a credential: tokens from a token endpoint (RFC 6749).
extension SettingsReader {
  /// JWT claims that bearerd sets itself (RFC 7519 section 4.1).
  private static let ownClaims: Set<String> = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"]

  func oauth2(_ node: YAMLNode, at location: TextLocation, of draft: CredentialDraft) -> CredentialSettings.Scheme? {
    let name = draft.name
    guard let fields = fields(node, at: location, of: OAuth2Key.self) else { return nil }
    let errors = report.errorCount
    let endpoint = tokenURL(fields)
    guard let grant = grant(fields) else { return nil }
    checkKeys(fields, of: grant)
    guard let endpoint else { return nil }
    var token = CredentialSettings.OAuth2(name: name, endpoint: endpoint, grant: grant)
    token.revocation = revocation(fields)
    token.trust = trust(fields)
    token.allowedAddresses = allowedAddresses(fields)
    token.certificate = draft.certificate?.settings
    readClient(fields, into: &token)
    readParameters(fields, into: &token)
    readGrant(fields, into: &token)
    readTimes(fields, into: &token)
    readLogin(fields, into: &token)
    if let node = fields[.refreshOn] { token.refreshOn = refreshOn(node) }
    if grant.keys.contains(.store) { token.store = store(fields, of: name) }
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

  private func grant(_ fields: Fields<OAuth2Key>) -> CredentialSettings.OAuth2.Grant? {
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
    return choice(node, CredentialSettings.OAuth2.Grant.allCases.map { ($0.rawValue, $0) })
  }

  private static var grants: String {
    CredentialSettings.OAuth2.Grant.allCases.map(\.rawValue).joined(separator: ", ")
  }

  /// Reports missing keys, and keys that do not belong to this grant.
  private func checkKeys(_ fields: Fields<OAuth2Key>, of grant: CredentialSettings.OAuth2.Grant) {
    var reported: Set<OAuth2Key> = []
    for other in CredentialSettings.OAuth2.Grant.allCases where other != grant {
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

  /// Reads the keys that only some grants have.
  private func readGrant(_ fields: Fields<OAuth2Key>, into token: inout CredentialSettings.OAuth2) {
    token.refreshToken = secret(.refreshToken, fields, at: token.endpoint)
    token.subjectToken = secret(.subjectToken, fields, at: token.endpoint)
    token.actorToken = secret(.actorToken, fields, at: token.endpoint)
    token.password = secret(.password, fields, at: token.endpoint)
    token.subjectTokenType = words(.subjectTokenType, fields)
    token.requestedTokenType = words(.requestedTokenType, fields)
    token.actorTokenType = words(.actorTokenType, fields)
    token.issuer = words(.issuer, fields)
    token.subject = words(.subject, fields)
    token.user = fields[.user].flatMap {
      value(
        $0, at: fields.location(of: .user), "a user name, or { file: NAME }",
        for: SecretUse(role: .user, origins: [token.endpoint.origin]))
    }
    token.assertionAudience = words(.assertionAudience, fields)
    token.claims = namedValues(.claims, fields, "claim", Self.ownClaims)
    if fields.has(.actorToken) != fields.has(.actorTokenType) {
      let key = fields.has(.actorToken) ? OAuth2Key.actorToken : .actorTokenType
      report.error(
        fields.location(of: key),
        "\"actor_token\" and \"actor_token_type\" must be used together (RFC 8693 section 2.1)")
    }
    if token.grant == .password, fields.has(.grant) {
      report.warning(
        fields[.grant]?.location ?? fields.location,
        "the password grant reveals a person's password to bearerd and to the server: RFC 9700 advises against this grant",
        help: "use client_credentials or refresh_token if the server supports one of them")
    }
  }

  private func readTimes(_ fields: Fields<OAuth2Key>, into token: inout CredentialSettings.OAuth2) {
    if let time = fields[.renewAhead].flatMap({ duration($0, orZero: true) }) { token.renewAhead = time }
    if let time = fields[.skew].flatMap({ duration($0, orZero: true) }) { token.skew = time }
    if let size = size(.replayBuffer, of: fields) { token.replayBuffer = size }
    if let time = duration(.timeout, of: fields, "requests have to wait for the token") { token.timeout = time }
  }

  /// Reads the source of a secret that requests to the endpoint need.
  func secret(
    _ key: OAuth2Key, _ fields: Fields<OAuth2Key>, at endpoint: Endpoint
  ) -> CredentialSettings.Source? {
    let use = SecretUse(role: .value, origins: [endpoint.origin])
    return fields[key].flatMap { source($0, at: fields.location(of: key), for: use) }
  }

  func words(_ key: OAuth2Key, _ fields: Fields<OAuth2Key>) -> String? {
    fields[key].flatMap { text($0, "text for \"\(key.rawValue)\"") }
  }
}

extension CredentialSettings.OAuth2.Grant {
  /// The keys of this grant, without the keys that all grants have.
  fileprivate var keys: [OAuth2Key] {
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
