internal import Policy
internal import Settings

/// Reads `oauth2` of a credential: tokens from a token endpoint (RFC 6749).
struct OAuth2Reader: SectionReader {
  let context: ReadingContext

  func scheme(_ credential: Fields<CredentialKey>, of draft: inout CredentialDraft) -> AuthScheme? {
    guard let fields = section(.oauth2, of: credential, as: OAuth2Key.self) else { return nil }
    let errors = report.errorCount
    required(.tokenURL, of: fields, "\"oauth2\" has no token_url", help: "add token_url: https://HOST/oauth2/token")
    guard let grant = grant(fields) else {
      _ = endpointWithQuery(.tokenURL, of: fields, like: "https://login.example.com/oauth2/token")
      return nil
    }
    // Some servers expect the type of a custom grant in the query.
    let sent =
      grant == .custom
      ? ProtocolParameters.namesOfCustomGrant.subtracting(["grant_type"]) : ProtocolParameters.names
    let endpoint = endpointWithQuery(
      .tokenURL, of: fields, like: "https://login.example.com/oauth2/token", sent: sent)
    checkKeys(fields, of: grant)
    guard let endpoint else { return nil }
    let parameters = OAuth2ParameterReader(context: context, fields: fields, origins: [endpoint.origin])
    let key = parameters.signingKey()
    let client = OAuth2ClientReader(context: context, fields: fields, grant: grant).client(
      parameters, key, draft.certificate?.settings)
    let kind = OAuth2GrantReader(context: context, fields: fields, parameters: parameters).kind(grant, key)
    var token = TokenSource(credential: draft.name, endpoint: endpoint, grant: kind, client: client)
    token.revocation = endpointWithQuery(
      .revocationURL, of: fields, like: "https://login.example.com/oauth2/revoke", sent: ProtocolParameters.names)
    let trust = TrustReader(context: context, fields: fields)
    (token.trust, token.allowedAddresses) = (trust.trust(for: endpoint.origin.host), trust.allowedAddresses())
    parameters.read(into: &token)
    token.headers = RequestHeadersReader(
      context: context, origins: [endpoint.origin], setsAuthorization: client.setsAuthorization
    ).fields(fields[.headers])
    token.lead = duration(.renewAhead, of: fields) ?? token.lead
    token.skew = duration(.skew, of: fields) ?? token.skew
    token.timeout = duration(.timeout, of: fields, "requests have to wait for the token") ?? token.timeout
    token.places = places(fields)
    OAuth2LoginReader(context: context, fields: fields).read(grant, into: &token)
    draft.replayBuffer = size(.replayBuffer, of: fields) ?? OAuth2Key.replayBufferDefault
    if let node = fields[.refreshOn] { draft.refreshOn = RefreshOnReader(context: context).signs(node) }
    return report.errorCount == errors ? .bearer(.token(token)) : nil
  }

  /// Reads where the response has the token and its lifetime.
  private func places(_ fields: Fields<OAuth2Key>) -> TokenPlaces {
    var places = TokenPlaces.standard
    if let node = fields[.token] { places.token = jsonPath(node, "the place of the token in the JSON") ?? places.token }
    places.expiresIn = fields[.expiresIn].flatMap { jsonPath($0, "the place of the lifetime in the JSON") }
    places.expiresAt = fields[.expiresAt].flatMap { jsonPath($0, "the place of the expiry time in the JSON") }
    if fields.has(.expiresIn), fields.has(.expiresAt) {
      report.error(
        fields.location(of: .expiresAt), "\"expires_in\" and \"expires_at\" cannot be used together",
        help: "delete one of the two")
    }
    return places
  }

  private func grant(_ fields: Fields<OAuth2Key>) -> OAuth2Grant? {
    let grants = OAuth2Grant.allCases.map(\.rawValue).joined(separator: ", ")
    guard
      let node = required(.grant, of: fields, "\"oauth2\" has no grant", help: "add grant: and one of \(grants)")
    else { return nil }
    if node.text == "implicit" {
      return report.error(
        node.location,
        "the implicit grant is not supported: this grant puts tokens into URLs, and RFC 9700 advises against it",
        help: "write grant: authorization_code for a login in a browser, or grant: client_credentials")
    }
    return choice(node)
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
}

enum OAuth2Grant: String, CaseIterable {
  case clientCredentials = "client_credentials"
  case refreshToken = "refresh_token"
  case jwtBearer = "jwt_bearer"
  case tokenExchange = "token_exchange"
  case deviceCode = "device_code"
  case authorizationCode = "authorization_code"
  case password, custom

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
    case .custom: [.grantType]
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
    case .custom: [.grantType]
    }
  }
}

extension TokenClient {
  fileprivate var setsAuthorization: Bool {
    switch authentication {
    case .basic, .basicRaw, .privateKeyBearer: true
    case .none, .post, .privateKeyJWT, .certificate: false
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
