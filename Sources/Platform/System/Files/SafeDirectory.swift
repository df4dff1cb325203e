internal import CLinux
internal import Glibc

/// A directory in which only root and one other user can create, rename or remove files.
struct SafeDirectory {
  /// Name of the file whose parent directory this is.
  let name: String
  private let walk: FileWalk
  /// The descriptor of the directory (O_PATH).
  let descriptor: Int32

  /// Opens the parent directory of an absolute path. Throws ELOOP if the parent is a symbolic link. Throws EPERM if a
  /// directory or link of the path belongs to a user other than root and `user`, or is writable for others. Other users
  /// may write to a sticky directory, unless it is the parent.
  init(parentOf path: String, of user: UInt32 = geteuid()) throws(SystemError) {
    var components = path.split(separator: "/")
    guard let name = components.popLast(), !components.contains("..") else {
      throw SystemError(operation: "path", errno: EINVAL)
    }
    self.name = String(name)
    let parent = "/" + components.joined(separator: "/")
    walk = FileWalk(parent, as: user, followsLast: false)
    if let problem = walk.problem ?? walk.toleratedProblem { throw SystemError(finding: problem.brief, errno: EPERM) }
    if let failure = walk.failure, failure.error.errno == ELOOP { throw failure.error }
    descriptor = try walk.directoryAtEnd()
    if let mode = walk.status?.mode, mode & 0o022 != 0 {
      throw SystemError(finding: "others can write \(parent) (mode \(String(mode, radix: 8)))", errno: EPERM)
    }
  }
}
