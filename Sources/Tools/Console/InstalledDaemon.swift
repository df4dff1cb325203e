internal import Glibc
package import System

/// The `bearerd` that stands beside this program.
package enum InstalledDaemon {
  /// - Parameter isPrivate: whether it serves on free ports.
  package static func start(configuration: String, isPrivate: Bool = false) throws -> ChildProcess {
    let program = "\(directory)/bearerd"
    guard access(program, X_OK) == 0 else {
      throw Failure(Failure.unavailable, "there is no \(program); \"make build\" builds it beside bearerctl")
    }
    // What it has to store, such as a login that was renewed, it stores first.
    return isPrivate
      ? try ChildProcess(path: program, arguments: ["--config", configuration, "--private"], signalAtEnd: SIGTERM)
      : try ChildProcess(path: program, arguments: ["--config", configuration])
  }

  /// The directory of this program.
  package static var directory: String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }
}
