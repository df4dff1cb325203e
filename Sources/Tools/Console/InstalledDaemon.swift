internal import Glibc
package import System

/// The `bearerd` that stands beside this program.
package enum InstalledDaemon {
  package static func start(configuration: String) throws -> ChildProcess {
    try ChildProcess(path: try program(), arguments: ["--config", configuration])
  }

  /// Starts one on free ports, which ends with this process. What it has to store, such as a login that was renewed, it stores first.
  /// - Parameter user: the user that it runs as, and the user's group; `nil`: this one.
  package static func startPrivate(
    configuration: String, isAudited: Bool, as user: (uid: UInt32, gid: UInt32)?
  ) throws -> ChildProcess {
    let arguments = ["--config", configuration, "--private", "\(Users.currentUID)"] + (isAudited ? [] : ["--no-audit"])
    return try ChildProcess(path: try program(), arguments: arguments, signalAtEnd: SIGTERM, as: user)
  }

  private static func program() throws -> String {
    let program = "\(directory)/bearerd"
    guard access(program, X_OK) == 0 else {
      throw Failure(
        Failure.unavailable,
        "\(program) was not found. bearerd and bearerctl must be in one directory (\"make build\" builds both)")
    }
    return program
  }

  /// The directory of this program.
  package static var directory: String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }
}
