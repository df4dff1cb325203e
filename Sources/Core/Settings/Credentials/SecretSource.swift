package import Policy

/// Where a secret comes from. Contains only names and paths, not the secret.
package indirect enum SecretSource: Sendable, Hashable {
  case file(String)
  /// The file with this name in `$CREDENTIALS_DIRECTORY`.
  case systemd(String)
  case env(String)
  /// The token or password in the program's output.
  case command(SecretCommand)
  /// The user name in the program's output.
  case userOfCommand(SecretCommand)
  case token(TokenSource)

  package var isFile: Bool {
    switch self {
    case .file, .systemd: true
    case .env, .command, .userOfCommand, .token: false
    }
  }

  /// The program whose output is the value; `nil` for other sources.
  package var command: SecretCommand? {
    switch self {
    case .file, .systemd, .env, .token: nil
    case .command(let command), .userOfCommand(let command): command
    }
  }

  package var isCommand: Bool { command != nil }

  package var isSystemd: Bool { if case .systemd = self { true } else { false } }

  /// A short description for messages, such as `file /etc/key`.
  package var summary: String {
    switch self {
    case .file(let path): "file \(path)"
    case .systemd(let name): "systemd credential \(name)"
    case .env(let name): "environment variable \(name)"
    case .command(let command), .userOfCommand(let command): command.summary
    case .token(let token):
      (token.form == nil ? "token endpoint" : "login at") + " \(token.endpoint)"
        + (token.keepsLoginInMemory ? " (login only in memory)" : "")
    }
  }

  /// This source, and the sources of the secrets that it needs to get a token.
  var withSecrets: [SecretSource] { if case .token(let token) = self { [self] + token.secrets } else { [self] } }

  /// What an error message calls the source, such as `the output of /usr/bin/pass`.
  package var name: String {
    switch self {
    case .file(let path): path
    case .systemd(let name): "the systemd credential \(name)"
    case .env(let name): "the environment variable \(name)"
    case .command(let command), .userOfCommand(let command): "the output of \(command.path)"
    case .token(let token): "the \(token.form == nil ? "token" : "session") of \(token.endpoint)"
    }
  }
}

/// A program whose output is a secret. Equal commands share each run.
package struct SecretCommand: Sendable, Hashable {
  /// The program's absolute path, and its arguments. Never show the arguments, which can be secrets.
  package let words: [String]
  package let format: CommandFormat
  /// Milliseconds from the start of a run until its value expires; `nil` if it does not expire.
  package let timeToLive: UInt64?
  /// Maximum duration of a run in milliseconds.
  package let timeout: UInt64
  /// Names of bearerd's environment variables that the program gets, sorted.
  package let passedVariables: [String]

  package init(
    words: [String], format: CommandFormat = .text, timeToLive: UInt64?, timeout: UInt64,
    passedVariables: Set<String> = []
  ) {
    self.words = words
    self.format = format
    self.passedVariables = passedVariables.sorted()
    self.timeToLive = timeToLive
    self.timeout = timeout
  }

  package var path: String { words.first ?? "" }

  /// The program's path and the format of its output, for messages.
  package var summary: String {
    switch format {
    case .text: "command \(path)"
    case .gitCredential, .execCredential, .dockerCredential: "command \(path) (\(format.name))"
    }
  }
}

package enum FieldValue: Sendable, Hashable {
  case plain(String)
  case secret(SecretSource)

  package var plainText: String? { if case .plain(let text) = self { text } else { nil } }

  package var isSecret: Bool { plainText == nil }

  /// The source of a secret value, or nothing.
  package var sources: [SecretSource] { if case .secret(let source) = self { [source] } else { [] } }
}
