internal import Settings
internal import System

/// Describes whether the source of a secret exists, without opening the source.
struct SourceStatus: CustomStringConvertible {
  let description: String
  /// Whether the source is missing or unusable.
  let isMissing: Bool

  /// - Parameter silent: Files whose file system does not respond. They are not accessed.
  init(_ source: SecretSource, silent: Set<String>) {
    let isSilent =
      switch source {
      case .file(let path): silent.contains(path)
      case .command(let command), .userOfCommand(let command): silent.contains(command.path)
      case .token(let token): token.store.map(silent.contains) ?? false
      case .systemd, .env: false
      }
    self = isSilent ? SourceStatus(unresponsive: source) : SourceStatus(checking: source)
  }

  private init(unresponsive source: SecretSource) {
    isMissing = false
    description =
      switch source {
      case .file(let path): "file \(path): its file system does not respond"
      case .systemd(let name): "systemd credential \(name): its file system does not respond"
      case .env(let name): "environment variable \(name)"
      case .command(let command), .userOfCommand(let command): "\(command.summary): its file system does not respond"
      case .token: source.summary
      }
  }

  private init(checking source: SecretSource) {
    switch source {
    case .file(let path):
      description = "file \(path): \(SourceStatus.ofFile(path))"
      isMissing =
        FileStatus(path: path).map { !$0.isRegular || $0.size == 0 || $0.isForOthers } ?? true
        || FileWalk(path).problem != nil
    case .systemd(let name):
      description = "systemd credential \(name): \(SourceStatus.ofSystemd(name))"
      isMissing = false
    case .env(let name):
      isMissing = false
      let isSet = ProcessEnvironment.value(name) != nil
      description =
        "environment variable \(name): \(isSet ? "set" : "not set") here; the daemon uses its own environment"
    case .token(let token):
      isMissing = false
      description =
        if let form = token.form {
          "login at \(token.endpoint), with \(form.encoding.rawValue); only the daemon logs in there"
        } else if token.oauth1 != nil {
          "login with OAuth 1.0 at \(token.endpoint); only the daemon contacts it" + SourceStatus.ofLogin(token)
        } else {
          "token endpoint \(token.endpoint), grant \(token.grantName); only the daemon contacts it"
            + SourceStatus.ofLogin(token)
        }
    case .command(let command), .userOfCommand(let command):
      let problem = ProgramFile.problem(of: command.path)
      isMissing = problem != nil
      let missing = command.passedVariables.filter { !ProcessEnvironment.isSet($0) }
      let note = missing.isEmpty ? "" : "; not set here: \(missing.joined(separator: ", "))"
      description = "\(command.summary): \(problem ?? "exists; only the daemon runs it\(note)")"
    }
  }

  /// Returns a note whether a login is stored; empty if no login is needed.
  private static func ofLogin(_ token: TokenSource) -> String {
    if token.keepsLoginInMemory {
      return token.isByLogin
        ? "; the login is only in memory. After each restart, log in: bearerctl login \(token.credential)"
        : "; newer refresh tokens are only in memory, until a restart"
    }
    guard token.isByLogin else { return "" }
    let isThere = token.store.map { FileStatus(path: $0) != nil } ?? false
    return isThere
      ? "; a login file exists" : "; no stored login was found. To log in: bearerctl login \(token.credential)"
  }

  private static func ofFile(_ path: String) -> String {
    guard let status = FileStatus(path: path) else { return "missing, or not visible to you" }
    guard status.isRegular else { return "not a regular file" }
    if status.size == 0 { return "empty" }
    if let problem = FileWalk(path).problem { return "exists, but is not used: \(problem.message)" }
    if status.isForOthers { return "exists, but is not used: users other than its owner can read or change it" }
    var readers: [String] = []
    if status.mode & 0o400 != 0 { readers.append(Users.name(ofUID: status.owner) ?? "uid \(status.owner)") }
    if status.mode & 0o040 != 0 {
      readers.append("group \(Users.groupName(ofGID: status.group) ?? String(status.group))")
    }
    if status.mode & 0o004 != 0 { readers.append("everyone") }
    if readers.isEmpty { return "exists; only root can read it" }
    let isShort = status.size < 8
    return "exists; \(readers.joined(separator: " and ")) can read it"
      + (isShort ? "; shorter than 8 bytes, so it is not masked in responses" : "")
  }

  private static func ofSystemd(_ name: String) -> String {
    guard let directory = ProcessEnvironment.value("CREDENTIALS_DIRECTORY") else {
      return "provided by LoadCredential=\(name):/path in the unit"
    }
    return ofFile("\(directory)/\(name)")
  }
}

extension FileStatus {
  /// Whether bearerd refuses to use the file, because other users can read or change it (T44).
  fileprivate var isForOthers: Bool { mode & (owner == 0 ? 0o037 : 0o077) != 0 }
}
