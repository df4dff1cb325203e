@testable import Configuration
import Settings

/// A simulated machine. Golden files change it with comments:
/// - `# machine: uid 999`
/// - `# machine: file PATH MODE OWNER`
/// - `# machine: no file PATH`
/// - `# machine: no IPv6`
/// - `# machine: no variable NAME`
/// - `# machine: no audit REASON`
/// - `# machine: no socket REASON`
/// - `# machine: no socket yet REASON`
/// - `# machine: empty PATH`
/// - `# machine: read-only DIRECTORY`
/// - `# machine: memory DIRECTORY`
/// - `# machine: lists PATH unusable`
/// - `# machine: lists PATH DAYS`: the list expires this many days from now
struct Machine {
  static let file = "/etc/bearerd/bearerd.yaml"
  /// 2026-07-01
  static let now: Int64 = 1_782_864_000

  var uid: UInt32 = 1000
  var hasIPv6 = true
  var missingVariables: Set<String> = []
  var auditProblem: String?
  /// Directories on read-only mounts.
  var readOnly: Set<String> = []
  /// Directories on file systems in memory, as containers have them.
  var memory: Set<String> = []
  var empty: Set<String> = []
  var lists: [String: RevocationListsStatus] = [:]
  var socketProblem: (reason: String, isPassing: Bool)?
  var files: [String: (owner: UInt32, mode: UInt32, isRegular: Bool)?] = ["/etc/bearerd": (0, 0o755, false)]
  var contents: [String: [UInt8]] = [
    "/etc/bearerd/ca.pem": Array("-----BEGIN CERTIFICATE-----\n".utf8), "/etc/bearerd/empty.pem": [],
  ]

  init() {}

  init(comments text: String) {
    for line in text.split(separator: "\n") where line.hasPrefix("# machine: ") {
      let words = line.split(separator: " ").dropFirst(2).map(String.init)
      switch words.first {
      case "uid": uid = UInt32(words[1]) ?? 0
      case "no" where words[1] == "IPv6": hasIPv6 = false
      case "no" where words[1] == "variable": missingVariables.insert(words[2])
      case "no" where words[1] == "audit": auditProblem = words[2...].joined(separator: " ")
      case "no" where words[1] == "socket":
        let isPassing = words[2] == "yet"
        socketProblem = (words[(isPassing ? 3 : 2)...].joined(separator: " "), isPassing)
      case "no": files[words[2]] = .some(nil)
      case "empty": empty.insert(words[1])
      case "read-only": readOnly.insert(words[1])
      case "lists" where words[2] == "unusable": lists[words[1]] = .bad("\(words[1]): it is not a list")
      case "lists":
        lists[words[1]] = .good([("CN=Other", .max), ("CN=Company", Self.now + (Int64(words[2]) ?? 0) * 86_400)])
      case "memory": memory.insert(words[1])
      case "file": files[words[1]] = (UInt32(words[3]) ?? 0, UInt32(words[2], radix: 8) ?? 0, true)
      default: preconditionFailure("what is \(line)?")
      }
    }
  }

  var environment: ConfigurationReader.Environment {
    let users: [String: UInt32] = ["root": 0, "dev": 1000, "deploy": 1001, "nobody": 65_534]
    let groups: [String: Set<UInt32>] = ["developers": [1000, 1001, 0], "wheel": [0], "empty": [], "27": [1000]]
    return ConfigurationReader.Environment(
      uid: uid, now: Self.now, userID: { users[$0] }, groupMembers: { groups[$0] },
      files: FileQueries(
        status: { [files] path in
          if let known = files[path] { return known }
          return path.contains("missing") ? nil : (0, 0o640, true)
        }, security: { [self] in security(of: $0) }, content: { [contents] in contents[$0] }),
      auditProblem: { [auditProblem] path in auditProblem.map { ("audit file \(path): \($0)", "look at it") } },
      socketProblem: { [socketProblem] path in
        socketProblem.map { ("bearerd cannot create the socket \(path): \($0.reason)", "look at it", $0.isPassing) }
      },
      revocationLists: { [lists] path in lists[path] ?? .good([]) },
      hasIPv6: hasIPv6, stateDirectory: "/var/lib/bearerd",
      isVariableSet: { [missingVariables] in !missingVariables.contains($0) })
  }

  /// The security of a path without links.
  private func security(of path: String) -> PathSecurity {
    var security = PathSecurity()
    security.isReadOnly = readOnly.contains { path.hasPrefix($0 + "/") }
    let isInMemory = memory.contains { path.hasPrefix($0 + "/") }
    security.isMountOfSecrets = security.isReadOnly || isInMemory
    if security.isMountOfSecrets { security.containerHelp = ". In a container: …" }
    security.isEmpty = empty.contains(path)
    var rest = path[...]
    var directories: [String] = []
    while let slash = rest.lastIndex(of: "/") {
      rest = rest[..<slash]
      directories.insert(rest.isEmpty ? "/" : String(rest), at: 0)
    }
    for directory in directories {
      guard case .some(.some(let status)) = files[directory] else { continue }
      let mode = "0" + String(status.mode, radix: 8)
      var found: (message: String, help: String)?
      if status.owner != 0, status.owner != uid {
        found = (
          "\(directory) belongs to uid \(status.owner) (mode \(mode)), who could replace \(path)",
          "chown root \(directory)"
        )
      } else if status.mode & 0o022 != 0, status.mode & 0o1000 == 0 {
        found = (
          "others can write \(directory) (mode \(mode), uid \(status.owner)), and could replace \(path)",
          "chmod go-w \(directory)"
        )
      }
      guard let found else { continue }
      if readOnly.contains(directory) {
        security.toleratedProblem = security.toleratedProblem ?? found.message
      } else {
        security.problem = security.problem ?? found
      }
    }
    return security
  }

  func read(_ text: String) -> Result<(DaemonSettings, warnings: [Diagnostic]), ConfigurationErrors> {
    ConfigurationReader.read(text: Array(text.utf8), file: Self.file, environment: environment)
  }
}
