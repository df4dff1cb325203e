import Foundation

/// Control groups (version 2) of one test, in one slice. Removed with this object.
package final class ControlGroupTree {
  /// The name of the slice.
  package let name = "bearerd-test-\(getpid())-\(UInt32.random(in: 0 ... .max)).slice"
  private let root: String
  private var made: [String] = []

  private static let mount = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].first {
    access("\($0)/cgroup.procs", W_OK) == 0
  }
  /// Whether control groups are mounted, and writable for the user of the tests.
  package static var canBeMade: Bool { mount != nil }

  package init() throws {
    guard let mount = Self.mount else { throw TestFailure("there are no control groups") }
    root = "\(mount)/\(name)"
  }

  deinit { for directory in made.reversed() { rmdir(directory) } }

  /// Creates a control group and returns its inode.
  @discardableResult
  package func make(_ path: String) throws -> UInt64 {
    var directory = root
    for step in [Substring()] + path.split(separator: "/") {
      directory += step.isEmpty ? "" : "/\(step)"
      if mkdir(directory, 0o755) == 0 { made.append(directory) }
    }
    var status = stat()
    guard lstat(directory, &status) == 0 else { throw TestFailure("\(directory): \(errno)") }
    return UInt64(status.st_ino)
  }

  /// Returns a command that moves itself into the group, and then executes the program that follows.
  package func wrapper(_ path: String) throws -> [String] {
    try make(path)
    return ["sh", "-c", "echo $$ > '\(root)/\(path)/cgroup.procs' && exec \"$@\"", "sh"]
  }
}
