import Policy
import Settings

/// The settings of `oauth2` that differ from their defaults, as text.
struct TokenSummary {
  private let token: TokenSource
  private let grant: Grant
  private let source: (SecretSource) -> String
  private var words: [(name: String, text: String?)] = []

  static func text(_ token: TokenSource, _ grant: Grant, _ source: @escaping (SecretSource) -> String) -> String {
    var summary = TokenSummary(token: token, grant: grant, source: source)
    summary.fill()
    return summary.words.compactMap { name, text in text.map { " \(name) \($0)" } }.joined()
  }

  private init(token: TokenSource, grant: Grant, source: @escaping (SecretSource) -> String) {
    (self.token, self.grant, self.source) = (token, grant, source)
  }

  private var assertion: TokenAssertion? { if case .jwtBearer(let assertion) = token.grant { assertion } else { nil } }
  private var exchange: TokenExchange? { if case .tokenExchange(let exchange) = token.grant { exchange } else { nil } }

  private mutating func fill() {
    var (auth, secret, key, audience): (String, SecretSource?, SigningKeySource?, String?) = ("none", nil, nil, nil)
    switch token.client.authentication {
    case .none: break
    case .basic(let source): (auth, secret) = ("basic", source)
    case .basicRaw(let source): (auth, secret) = ("basic_raw", source)
    case .post(let source): (auth, secret) = ("post", source)
    case .privateKeyBearer(let own, let of): (auth, key, audience) = ("private_key_bearer", own, of)
    case .privateKeyJWT(let own, let of): (auth, key, audience) = ("private_key_jwt", own, of)
    case .certificate: auth = "tls_client_auth"
    }
    key = key ?? assertion?.key
    words += [
      ("client", token.client.id.isEmpty ? nil : token.client.id), ("auth", auth), ("key", key?.identifier),
      ("issuer", token.issuer ?? assertion?.issuer), ("subject", assertion?.subject), ("scope", list(token.scope)),
      ("resource", list(token.resource)), ("audience", list(token.audience)),
      ("parameters", list(token.parameters.map { LoginSummary.text($0, source) })),
      ("headers", list(token.headers.map { LoginSummary.text($0, source) })),
      ("body", token.encoding == .form ? nil : token.encoding.rawValue),
      ("subject type", exchange?.subjectType), ("requested type", exchange?.requestedType),
      ("actor type", exchange?.actorType), ("store", token.keepsLoginInMemory ? "memory" : token.store),
      ("aud", audience ?? assertion?.audience),
      ("revocation", token.revocation?.description),
      ("claims", list((assertion?.claims ?? []).map { "\($0.name)=\($0.value)" })),
      ("trusts", token.trust.caFile), ("lists", token.trust.revocation?.listFile),
      ("stapling", token.trust.revocation?.stapling?.rawValue),
      ("pins", list(token.trust.pinning.pins.map(\.description))),
      ("blocks", token.allowedAddresses.isEmpty ? nil : "\(token.allowedAddresses.count)"),
      ("token at", token.places.token == ["access_token"] ? nil : token.places.token.joined(separator: ".")),
      ("expires in", token.places.expiresIn?.joined(separator: ".")),
      ("expires at", token.places.expiresAt?.joined(separator: ".")),
      ("ahead", token.lead == 60_000 ? nil : "\(token.lead)"), ("skew", token.skew == 10_000 ? nil : "\(token.skew)"),
      ("timeout", token.timeout == 10_000 ? nil : "\(token.timeout)"),
      ("device", token.deviceAuthorization?.description), ("browser", token.authorization?.description),
      ("redirect", token.authorization.map { _ in token.redirect.uri(port: token.redirect.port) }),
      ("login", token.loginTimeout == 300_000 ? nil : "\(token.loginTimeout)"),
      ("refresh on", list(grant.expiry.more.map(LoginSummary.text))),
    ]
    if case .password(let user, _) = token.grant {
      words.append(("user", user.plainText ?? user.sources.first.map(source)))
    }
    words += [
      ("secret", secret.map(source)), ("private", (key?.source).map(source)),
      ("passphrase", key?.passphrase.map(source)),
    ]
    switch token.grant {
    case .refreshToken(let first): words.append(("refresh", first.map(source)))
    case .tokenExchange(let exchange):
      words += [("subject token", source(exchange.subject)), ("actor", exchange.actor.map(source))]
    case .password(_, let password): words.append(("password", source(password)))
    case .oauth1(let login): words.append(("request token", login.requestToken.description))
    case .custom(let type): words.append(("grant type", type ?? "none"))
    case .clientCredentials, .jwtBearer, .form: break
    }
  }

  private func list(_ words: [String]) -> String? { words.isEmpty ? nil : "\(words)" }
}
