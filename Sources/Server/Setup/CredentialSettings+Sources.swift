package import Configuration

extension CredentialSettings {
  /// Another value comes without a person: from a token endpoint, a login URL, or a program.
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
  /// A program prints it.
  package var isCommand: Bool {
    switch self {
    case .command, .userOfCommand: true
    case .file, .systemd, .env, .token, .login: false
    }
  }

  /// systemd has read it.
  package var isSystemd: Bool { if case .systemd = self { true } else { false } }
}
