internal import Glibc
package import System

/// The `bearerd` in the same directory as this program.
package enum InstalledDaemon {
  package static func start(configuration: String) throws -> ChildProcess {
    try ChildProcess(path: try program(), arguments: ["--config", configuration])
  }

  /// Starts a daemon on free ports, which ends with this process.
  /// - Parameter user: The user and group of the daemon. `nil` for the current user.
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

  package static var directory: String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }
}
