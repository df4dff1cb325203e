@testable import Configuration

/// A machine that exists in the test only. A case changes it with comments: `# machine: uid 999`,
/// `# machine: file PATH MODE OWNER`, `# machine: no file PATH`, `# machine: no IPv6`, `# machine: no audit REASON`,
/// `# machine: no socket REASON`, `# machine: no socket yet REASON`.
struct Machine {
  static let file = "/etc/bearerd/bearerd.yaml"
  /// 2026-07-01
  static let now: Int64 = 1_782_864_000

  var uid: UInt32 = 1000
  var hasIPv6 = true
  var auditProblem: String?
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
      case "no" where words[1] == "audit": auditProblem = words[2...].joined(separator: " ")
      case "no" where words[1] == "socket":
        let isPassing = words[2] == "yet"
        socketProblem = (words[(isPassing ? 3 : 2)...].joined(separator: " "), isPassing)
      case "no": files[words[2]] = .some(nil)
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
      fileStatus: { [files] path in
        if let known = files[path] { return known }
        return path.contains("missing") ? nil : (0, 0o640, true)
      }, readFile: { [contents] in contents[$0] },
      auditProblem: { [auditProblem] path in auditProblem.map { ("audit file \(path): \($0)", "look at it") } },
      socketProblem: { [socketProblem] path in
        socketProblem.map { ("no socket can be made at \(path): \($0.reason)", "look at it", $0.isPassing) }
      },
      hasIPv6: hasIPv6, stateDirectory: "/var/lib/bearerd")
  }

  func read(_ text: String) -> Result<(Settings, warnings: [Diagnostic]), ConfigurationErrors> {
    ConfigurationReader.read(text: Array(text.utf8), file: Self.file, environment: environment)
  }
}
