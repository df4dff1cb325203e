internal import Policy
internal import Settings

extension AuthScheme {
  /// All sources that the scheme reads, and the required form of their values.
  var sources: [(source: SecretSource, form: SecretForm)] {
    switch self {
    case .bearer(let source): [(source, source.bearerForm)]
    case .basic(let user, let password): user.sources(of: .userName) + password.sources(of: .text)
    case .digest(let user, let password, _): user.sources(of: .userName) + [(password, .text)]
    case .registry(nil, _): []
    case .registry(let login?, _): login.user.sources(of: .userName) + [(login.password, .text)]
    case .headers(let templates): templates.flatMap { $0.value.sources(of: .fieldValue) }
    case .query(_, let value): [(value, .text)]
    case .oauth1(let client): client.sources.map { ($0, .text) }
    case .all(let schemes): schemes.flatMap(\.sources)
    }
  }

  var files: [SecretSource] { sources.map(\.source).filter(\.isFile) }

  var commands: [SecretCommand] { sources.compactMap(\.source.command) }

  var hashes: Set<DigestHash>? {
    if case .digest(_, _, let hashes) = self { hashes } else { nil }
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
    sources.map { ($0, form) }
  }
}
