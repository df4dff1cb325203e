package import Configuration

extension CredentialSettings {
  /// Whether the credential can get a new value without a user's action.
  package var changesByItself: Bool {
    if case .registry = scheme { return false }
    return allSources.contains {
      switch $0 {
      case .command, .userOfCommand, .token, .login: true
      case .file, .systemd, .env: false
      }
    }
  }
}

extension CredentialSettings.Source {
  package var isCommand: Bool {
    switch self {
    case .command, .userOfCommand: true
    case .file, .systemd, .env, .token, .login: false
    }
  }

  package var isSystemd: Bool { if case .systemd = self { true } else { false } }
}
