internal import Policy

extension CredentialSettings {
  /// The sources of its secrets, in the order of its fields; behind a token those that its endpoint is shown.
  package var sources: [Source] { scheme.sources }

  /// The sources, and that of the key of its certificate, which is no part of what is sent.
  package var allSources: [Source] { sources + (certificate.map { [$0.key] } ?? []) }

  /// The credential is several of the file's that go out together.
  package var isCombined: Bool { if case .all = scheme { true } else { false } }
}

extension CredentialSettings.Scheme {
  fileprivate var sources: [CredentialSettings.Source] {
    switch self {
    case .bearer(.token(let token)): [.token(token)] + token.secrets
    case .bearer(.login(let login)): [.login(login)] + login.secrets
    case .bearer(let source): [source]
    case .basic(.secret(.userOfCommand(let user)), .secret(.command(let command))) where user == command:
      [.command(command)]
    case .basic(let user, let password): user.sources + password.sources
    case .headers(let headers): headers.flatMap(\.value.sources) + (login?.secrets ?? [])
    case .digest(let digest): digest.user.sources + [digest.password]
    case .registry(let registry): (registry.user?.sources ?? []) + [registry.password].compactMap(\.self)
    case .query(_, let value): [value]
    case .oauth1(let client): client.secrets
    case .all(let schemes): schemes.flatMap(\.sources)
    }
  }

  /// nil: its value comes from elsewhere.
  var token: CredentialSettings.OAuth2? {
    switch self {
    case .bearer(.token(let token)): token
    case .bearer, .basic, .headers, .query, .oauth1, .digest, .registry: nil
    case .all(let schemes): schemes.lazy.compactMap(\.token).first
    }
  }
}

extension CredentialSettings {
  /// nil: its value comes from elsewhere.
  package var token: OAuth2? {
    if case .bearer(.token(let token)) = scheme { token } else { nil }
  }
}

extension CredentialSettings.Value {
  fileprivate var sources: [CredentialSettings.Source] {
    switch self {
    case .plain: []
    case .secret(let source): [source]
    }
  }
}

extension CredentialSettings.Source {
  /// Short, for a line that says more.
  package var short: String {
    switch self {
    case .file(let path): "file \(path)"
    case .systemd(let name): "systemd credential \(name)"
    case .env(let name): "environment variable \(name)"
    case .command(let command), .userOfCommand(let command): command.short
    case .token(let token): "token endpoint \(token.endpoint)"
    case .login(let login): "login at \(login.endpoint)"
    }
  }
}

extension CredentialSettings.Command {
  /// The program, and how it is asked.
  package var short: String {
    switch format {
    case .text: "command \(path)"
    case .gitCredential, .execCredential, .dockerCredential: "command \(path) (\(format.name))"
    }
  }
}
