package import Policy

/// The source of a value. Names and paths only.
package indirect enum SecretSource: Sendable, Hashable {
  case file(String)
  /// File of this name below $CREDENTIALS_DIRECTORY.
  case systemd(String)
  case env(String)
  /// The token or the password that it says.
  case command(SecretCommand)
  /// The user's name that it says beside that.
  case userOfCommand(SecretCommand)
  /// A token endpoint grants it.
  case token(TokenSource)

  package var isFile: Bool {
    switch self {
    case .file, .systemd: true
    case .env, .command, .userOfCommand, .token: false
    }
  }

  /// nil: it is no program.
  package var command: SecretCommand? {
    switch self {
    case .file, .systemd, .env, .token: nil
    case .command(let command), .userOfCommand(let command): command
    }
  }

  /// For sentences.
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

/// A program whose output is a secret. Two that are equal are one: it runs once for all who use it.
package struct SecretCommand: Sendable, Hashable {
  /// The program by its absolute path, and its arguments. Only the path may be shown: arguments can be secrets.
  package let words: [String]
  package let format: CommandFormat
  /// Milliseconds for which a value counts, from the start of the run that printed it; nil: for ever.
  package let timeToLive: UInt64?
  /// Milliseconds that a run may take.
  package let timeout: UInt64

  package init(words: [String], format: CommandFormat = .text, timeToLive: UInt64?, timeout: UInt64) {
    self.words = words
    self.format = format
    self.timeToLive = timeToLive
    self.timeout = timeout
  }

  package var path: String { words.first ?? "" }
}

package enum FieldValue: Sendable, Hashable {
  case plain(String)
  case secret(SecretSource)
}
