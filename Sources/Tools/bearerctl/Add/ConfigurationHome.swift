internal import Console
internal import Configuration
internal import Primitives
internal import Settings
internal import Loading
internal import System

/// The paths of a configuration, and the users and modes of its files.
struct ConfigurationHome {
  /// The path of the main configuration file.
  let file: String
  /// The daemon's user, if root runs bearerctl for the system's configuration; otherwise `nil`.
  let user: UInt32?
  /// The group that may read secret files, if root runs bearerctl for the system's configuration; otherwise `nil`.
  let secretGroup: UInt32?

  init(_ option: String?) {
    file = absolute(option ?? ConfigurationLoader.defaultFile)
    let isSystem = file == ConfigurationLoader.systemFile && Users.currentUID == 0
    secretGroup = isSystem ? Users.gid(named: "bearerd") : nil
    user = isSystem ? Users.uid(named: "bearerd") : nil
  }

  var startCommand: String {
    if file != ConfigurationLoader.defaultFile { return "bearerd --config \(ShellWord.quoted(file))" }
    return file == ConfigurationLoader.systemFile
      ? "systemctl enable --now bearerd" : "systemctl --user enable --now bearerd"
  }

  /// The `--config` option for suggested commands; empty if they find the file without it.
  var configOption: String {
    file == ConfigurationLoader.defaultFile && ProcessEnvironment.value("SUDO_USER") == nil
      ? "" : " --config \(ShellWord.quoted(file))"
  }

  var directory: String { String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)]) }
  var parts: String { directory + "/conf.d" }
  var secrets: String { directory + "/secrets" }

  var listener: String { parts + "/00-listener.yaml" }

  func part(_ name: String) -> String { "\(parts)/\(name).yaml" }
  func secret(_ name: String) -> String { "\(secrets)/\(name).key" }

  /// The daemon's user and group, if root runs bearerctl for the system's configuration; otherwise `nil`.
  var systemUser: (uid: UInt32, gid: UInt32)? {
    guard let user, let secretGroup else { return nil }
    return (user, secretGroup)
  }

  var secretMode: UInt32 { secretGroup == nil ? 0o600 : 0o640 }
  var secretsMode: UInt32 { secretGroup == nil ? 0o700 : 0o750 }

  /// Throws if another user can replace a directory of the configuration.
  func demandSafety() throws {
    // This user could then read keys written there.
    for path in [directory, parts, secrets] {
      guard let problem = FileWalk(path, as: user ?? Users.currentUID).problem else { continue }
      throw Failure(Failure.no, "\(path) is not safe for a key: \(problem.brief). Nothing was changed")
    }
  }

  /// Whether a pattern in the `include` key of the main file matches a path.
  func includes(_ path: String) throws -> Bool {
    let text: [UInt8]
    do throws(SystemError) { text = try FileReader.read(path: file, maximum: 1 << 20).bytes } catch {
      throw Failure(Failure.usage, "\(file) cannot be read: \(error)")
    }
    guard case .sequence(let patterns)? = ConfigurationTree(reading: text)?["include"] else { return false }
    return patterns.contains { pattern in
      guard case .scalar(let text, _) = pattern else { return false }
      return PathPattern(text, in: directory).matches(path)
    }
  }

  /// Whether `bearerctl add` must write the listener file, because the system's configuration has no listeners.
  func needsListener() throws -> Bool {
    guard let status = FileStatus(path: file),
      (user ?? (Users.currentUID == 0 ? status.owner : Users.currentUID)) < 1_000,
      let tree = try? ConfigurationLoader.tree(of: file), tree["listeners"] == nil
    else { return false }
    return try includes(listener)
  }

  /// Returns the main file or listener file that must be written before a service; `nil` if none is missing.
  func firstFile(_ first: FirstConfiguration) throws -> (path: String, text: String)? {
    if FileStatus(path: file) == nil { return (file, first.text) }
    return try needsListener() ? (listener, first.listenerText) : nil
  }

  func load() throws(LoadError) -> (settings: DaemonSettings, findings: [Diagnostic]) {
    try ConfigurationLoader.load(file, as: user)
  }
}

/// The texts of a new main configuration file and of a new listener file.
struct FirstConfiguration {
  var port: UInt16 = 7070
  /// The user for the key `allow_users`; `nil` for a user's own daemon.
  var caller: String?

  init() {
    guard Users.currentUID < 1_000 else { return }
    caller = ProcessEnvironment.value("SUDO_USER") ?? Users.name(ofUID: Users.currentUID) ?? "\(Users.currentUID)"
  }

  var text: String {
    """
    # Configuration of bearerd, which adds credentials to the requests of programs on this machine.
    # "bearerctl add" writes services to conf.d. The manual page bearerd.yaml(5) describes all keys.
    include: [conf.d/*.yaml]
    \(listeners)
    """
  }

  var listenerText: String {
    """
    # The users who may use bearerd. Written by bearerctl, because the main file has no listeners.
    \(listeners)
    """
  }

  private var listeners: String {
    let callers = caller.map { ", allow_users: [\(ConfigurationTree.quoted($0))]" } ?? ""
    return """
      listeners:
        main: { address: localhost:\(port)\(callers) }

      """
  }
}
