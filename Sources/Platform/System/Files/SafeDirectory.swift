internal import CLinux
internal import Glibc

/// The directory of a file of ours, in which a name is safe from everybody but root and us.
struct SafeDirectory {
  /// The file's name in it.
  let name: String
  private let walk: FileWalk
  /// O_PATH.
  let descriptor: Int32

  /// The parent of an absolute path: every directory and link that leads to it belongs to root or us, and none is writable for
  /// others; the parent is no sticky one either. Else EPERM; for a parent that is a symbolic link ELOOP.
  /// - Parameter user: who "we" are.
  init(parentOf path: String, of user: UInt32 = geteuid()) throws(SystemError) {
    var components = path.split(separator: "/")
    guard let name = components.popLast(), !components.contains("..") else {
      throw SystemError(operation: "path", errno: EINVAL)
    }
    self.name = String(name)
    let parent = "/" + components.joined(separator: "/")
    walk = FileWalk(parent, as: user, followsLast: false)
    if let problem = walk.problem ?? walk.pardoned { throw SystemError(finding: problem.brief, errno: EPERM) }
    if let failure = walk.failure, failure.error.errno == ELOOP { throw failure.error }
    descriptor = try walk.directoryAtEnd()
    if let mode = walk.status?.mode, mode & 0o022 != 0 {
      throw SystemError(finding: "others can write \(parent) (mode \(String(mode, radix: 8)))", errno: EPERM)
    }
  }

  static func check(parentOf path: String, of user: UInt32 = geteuid()) throws(SystemError) {
    _ = try SafeDirectory(parentOf: path, of: user)
  }
}
