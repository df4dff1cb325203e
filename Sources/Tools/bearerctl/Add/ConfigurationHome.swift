internal import Console
internal import Configuration
internal import Primitives
internal import Setup
internal import System

/// The places of a configuration that `bearerctl add` writes to.
struct ConfigurationHome {
  /// The main file.
  let file: String
  /// The user that the daemon runs as; `nil`: this user.
  let user: UInt32?
  /// The group of the system's daemon, which may read secret files; `nil`: only their owner may.
  let secretGroup: UInt32?

  init(_ option: String?) {
    file = absolute(option ?? ConfigurationLoader.defaultFile)
    let isSystem = file == ConfigurationLoader.systemFile && Users.currentUID == 0
    secretGroup = isSystem ? Users.gid(named: "bearerd") : nil
    user = isSystem ? Users.uid(named: "bearerd") : nil
  }

  /// The command that starts its daemon.
  var start: String {
    if file != ConfigurationLoader.defaultFile { return "bearerd --config \(ShellWord.quoted(file))" }
    return file == ConfigurationLoader.systemFile
      ? "systemctl enable --now bearerd" : "systemctl --user enable --now bearerd"
  }

  /// The option with which `env` and `run` find this file for the user who called; empty if they find it without one.
  var option: String {
    file == ConfigurationLoader.defaultFile && ProcessEnvironment.value("SUDO_USER") == nil
      ? "" : " --config \(ShellWord.quoted(file))"
  }

  var directory: String { String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)]) }
  var parts: String { directory + "/conf.d" }
  var secrets: String { directory + "/secrets" }

  /// The file that says who may ask where the main file does not.
  var listener: String { parts + "/00-listener.yaml" }

  func part(_ name: String) -> String { "\(parts)/\(name).yaml" }
  func secret(_ name: String) -> String { "\(secrets)/\(name).key" }

  /// The user and group of the system's daemon, if root writes to its configuration.
  var systemUser: (uid: UInt32, gid: UInt32)? {
    guard let user, let secretGroup else { return nil }
    return (user, secretGroup)
  }

  var secretMode: UInt32 { secretGroup == nil ? 0o600 : 0o640 }
  var secretsMode: UInt32 { secretGroup == nil ? 0o700 : 0o750 }

  /// Refuses directories that other users can replace: the key could end up in a file of theirs.
  func demandSafety() throws {
    for path in [directory, parts, secrets] {
      guard let problem = FileWalk(path, as: user ?? Users.currentUID).problem else { continue }
      throw Failure(Failure.no, "\(path) is not safe for a key: \(problem.brief). Nothing was changed")
    }
  }

  /// Whether the main file includes a file.
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

  /// Whether the main file leaves open who may ask, as the package's does, and the daemon has to be told. It then reads `listener`.
  func needsListener() throws -> Bool {
    guard let status = FileStatus(path: file),
      (user ?? (Users.currentUID == 0 ? status.owner : Users.currentUID)) < 1_000,
      let tree = try? ConfigurationLoader.tree(of: file), tree["listeners"] == nil
    else { return false }
    return try includes(listener)
  }

  /// The file that has to be there before a service: the main file, or the one that says who may ask. `nil`: all is there.
  func firstFile(_ first: FirstConfiguration) throws -> (path: String, text: String)? {
    if FileStatus(path: file) == nil { return (file, first.text) }
    return try needsListener() ? (listener, first.listenerText) : nil
  }

  /// Reads the configuration as its daemon would.
  func load() throws(LoadError) -> (settings: Settings, findings: [Diagnostic]) {
    try ConfigurationLoader.load(file, as: user)
  }
}

/// The first main file, which only includes others.
struct FirstConfiguration {
  var port: UInt16 = 7070
  /// The user who may ask; `nil`: whose daemon it is. One of the system has to be told.
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

  /// A file beside a main file that does not say who may ask.
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
