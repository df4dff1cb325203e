package import Policy

/// How a credential is added to a request.
package enum AuthScheme: Sendable, Equatable {
  case bearer(SecretSource)
  /// `password` is plain text only if it is empty.
  case basic(user: FieldValue, password: FieldValue)
  case headers([HeaderTemplate])
  /// Digest (RFC 7616).
  case digest(user: FieldValue, password: SecretSource, hashes: Set<DigestHash>)
  /// Tokens that a container registry's token server issues. If `login` is `nil`, requests for tokens are anonymous.
  case registry(login: RegistryLogin?, TokenSource)
  case query(name: String, value: SecretSource)
  case oauth1(OAuth1Client)
  /// Several schemes that are sent together or not at all.
  case all([AuthScheme])

  /// The token endpoint or login URL that issues the scheme's token. `nil` for other schemes.
  package var token: TokenSource? {
    switch self {
    case .bearer(.token(let token)): token
    case .oauth1(let client): if case .token(let token) = client.token { token } else { nil }
    case .bearer, .basic, .query, .digest, .registry: nil
    case .headers(let templates):
      templates.lazy.compactMap { template in
        if case .secret(.token(let token)) = template.value { token } else { nil }
      }.first
    case .all(let schemes): schemes.lazy.compactMap(\.token).first
    }
  }

  package var login: TokenSource? {
    if case .all = self { return nil }
    return token.flatMap { $0.form == nil ? nil : $0 }
  }

  /// The sources of all secrets, each once.
  var secretSources: [SecretSource] {
    switch self {
    case .bearer(let source): return source.withSecrets
    case .basic(.secret(.userOfCommand(let user)), .secret(.command(let command))) where user == command:
      return [.command(command)]
    case .basic(let user, let password): return user.sources + password.sources
    case .headers(let templates): return templates.flatMap(\.value.sources) + (login?.secrets ?? [])
    case .digest(let user, let password, _): return user.sources + [password]
    case .registry(let login, _): return login.map { $0.user.sources + [$0.password] } ?? []
    case .query(_, let value): return [value]
    case .oauth1(let client): return client.sources
    case .all(let schemes): return schemes.flatMap(\.secretSources)
    }
  }

  /// Whether a secret comes from an environment variable of the daemon.
  package var usesEnvironment: Bool { secretSources.contains { if case .env = $0 { true } else { false } } }
}

package struct RegistryLogin: Sendable, Equatable {
  package let user: FieldValue
  package let password: SecretSource

  package init(user: FieldValue, password: SecretSource) {
    self.user = user
    self.password = password
  }
}

/// A header field that a credential sets: `prefix`, then the value.
package struct HeaderTemplate: Sendable, Equatable {
  package let name: String
  package let prefix: String
  package let value: FieldValue

  package init(name: String, prefix: String, value: FieldValue) {
    self.name = name
    self.prefix = prefix
    self.value = value
  }
}
