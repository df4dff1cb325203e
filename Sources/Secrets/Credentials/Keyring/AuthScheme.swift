package import Policy
package import Secrets

/// How a credential is added to a request.
package enum AuthScheme: Sendable, Equatable {
  case bearer(SecretSource)
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

  /// All sources that the scheme reads, and the required form of their values.
  var sources: [(source: SecretSource, form: SecretForm)] {
    switch self {
    case .bearer(let source): [(source, source.bearerForm)]
    case .basic(let user, let password): user.sources(of: .userName) + password.sources(of: .text)
    case .digest(let user, let password, _): user.sources(of: .userName) + [(password, .text)]
    case .registry(nil, _): []
    case .registry(let login?, _):
      switch login.user {
      case .plain: [(login.password, .text)]
      case .secret(let user): [(user, .userName), (login.password, .text)]
      }
    case .headers(let templates):
      templates.compactMap { template in
        switch template.value {
        case .plain: nil
        case .secret(let source): (source, .fieldValue)
        }
      }
    case .query(_, let value): [(value, .text)]
    case .oauth1(let client): client.sources.map { ($0, .text) }
    case .all(let schemes): schemes.flatMap(\.sources)
    }
  }

  var files: [SecretSource] { sources.map(\.source).filter(\.isFile) }

  var commands: [SecretCommand] { sources.compactMap(\.source.command) }

  /// The token endpoint that issues the scheme's token; `nil` for other schemes.
  var token: TokenSource? {
    switch self {
    case .bearer(.token(let token)): token
    case .bearer, .basic, .query, .oauth1, .digest, .registry: nil
    case .headers(let templates):
      templates.lazy.compactMap { template in
        if case .secret(.token(let token)) = template.value { token } else { nil }
      }.first
    case .all(let schemes): schemes.lazy.compactMap(\.token).first
    }
  }

  var hashes: Set<DigestHash>? {
    switch self {
    case .digest(_, _, let hashes): hashes
    case .bearer, .basic, .headers, .registry, .query, .oauth1, .all: nil
    }
  }

  var registry: TokenSource? {
    if case .registry(_, let source) = self { source } else { nil }
  }
}

extension SecretSource {
  var bearerForm: SecretForm {
    switch self {
    case .file, .systemd, .env, .command, .userOfCommand: .bearer
    case .token: .token
    }
  }
}

extension FieldValue {
  fileprivate func sources(of form: SecretForm) -> [(source: SecretSource, form: SecretForm)] {
    switch self {
    case .plain: []
    case .secret(let source): [(source, form)]
    }
  }
}

package struct RegistryLogin: Sendable, Equatable {
  package let user: FieldValue
  package let password: SecretSource

  package init(user: FieldValue, password: SecretSource) {
    self.user = user
    self.password = password
  }
}

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
