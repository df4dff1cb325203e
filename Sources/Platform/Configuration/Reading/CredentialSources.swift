internal import Policy

extension CredentialSettings {
  /// The sources of all secrets of the credential's scheme.
  package var sources: [Source] { scheme.sources }

  /// The sources of all secrets, including the private key of the client certificate.
  package var allSources: [Source] { sources + (certificate.map { [$0.key] } ?? []) }

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

  var token: CredentialSettings.OAuth2? {
    switch self {
    case .bearer(.token(let token)): token
    case .bearer, .basic, .headers, .query, .oauth1, .digest, .registry: nil
    case .all(let schemes): schemes.lazy.compactMap(\.token).first
    }
  }
}

extension CredentialSettings {
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
  /// A short description for messages, such as `file /etc/key`.
  package var summary: String {
    switch self {
    case .file(let path): "file \(path)"
    case .systemd(let name): "systemd credential \(name)"
    case .env(let name): "environment variable \(name)"
    case .command(let command), .userOfCommand(let command): command.summary
    case .token(let token): "token endpoint \(token.endpoint)"
    case .login(let login): "login at \(login.endpoint)"
    }
  }
}

extension CredentialSettings.Command {
  /// The program's path and the format of its output, for messages.
  package var summary: String {
    switch format {
    case .text: "command \(path)"
    case .gitCredential, .execCredential, .dockerCredential: "command \(path) (\(format.name))"
    }
  }
}
