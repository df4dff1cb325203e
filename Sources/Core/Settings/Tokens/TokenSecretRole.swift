/// What a secret is for in requests to a token endpoint.
package enum TokenSecretRole: Sendable, Hashable {
  case clientSecret
  case clientKey
  case assertionKey
  /// The passphrase of `clientKey` and `assertionKey`, which the configuration does not distinguish.
  case passphrase
  case refreshToken, subjectToken, actorToken, userName, password
  /// Codes of an interactive login: from a device, or from the browser with its PKCE verifier (RFC 7636).
  case deviceCode, code, codeVerifier
  case revokedToken
  /// The consumer key of OAuth 1.0, if it is secret.
  case consumerKey
  /// The request token of a login with OAuth 1.0, its secret, and the verifier (RFC 5849 sections 2.1 and 2.2).
  case requestToken, requestTokenSecret, verifier
  /// A field of a `LoginForm`, by index.
  case field(Int)
  /// A parameter or a header field of a `TokenSource`, by index.
  case parameter(Int), header(Int)

  /// Whether every request to the authorization server needs the secret, also a revocation.
  package var isOfEveryRequest: Bool {
    switch self {
    case .clientSecret, .clientKey, .passphrase, .header: true
    default: false
    }
  }
}

extension SigningKeySource {
  func sources(for role: TokenSecretRole) -> [(role: TokenSecretRole, source: SecretSource)] {
    [(role, source)] + (passphrase.map { [(.passphrase, $0)] } ?? [])
  }
}

extension TokenSource {
  /// The sources of all secrets for a token request, by role.
  package var sources: [(role: TokenSecretRole, source: SecretSource)] {
    var sources: [(role: TokenSecretRole, source: SecretSource)] = []
    switch client.authentication {
    case .none, .certificate: break
    case .basic(let secret), .basicRaw(let secret), .post(let secret): sources.append((.clientSecret, secret))
    case .privateKeyJWT(let key, _), .privateKeyBearer(let key, _): sources += key.sources(for: .clientKey)
    }
    switch grant {
    case .clientCredentials, .custom: break
    case .refreshToken(let first): if let first { sources.append((.refreshToken, first)) }
    case .jwtBearer(let assertion): sources += assertion.key.sources(for: .assertionKey)
    case .tokenExchange(let exchange):
      sources.append((.subjectToken, exchange.subject))
      if let actor = exchange.actor { sources.append((.actorToken, actor)) }
    case .password(let user, let password):
      if case .secret(let user) = user { sources.append((.userName, user)) }
      sources.append((.password, password))
    case .oauth1(let login): sources += login.sources
    case .form(let form):
      for (index, field) in form.fields.enumerated() {
        for source in field.value.sources { sources.append((.field(index), source)) }
      }
    }
    for (index, parameter) in parameters.enumerated() {
      for source in parameter.value.sources { sources.append((.parameter(index), source)) }
    }
    for (index, field) in headers.enumerated() {
      for source in field.value.sources { sources.append((.header(index), source)) }
    }
    return sources
  }
}
