internal import CLinux
internal import Glibc

/// Whether a name in a directory is safe from everybody but root and us.
enum SafeDirectory {
  /// The parent of an absolute path: every directory that leads to it, as written and as resolved, belongs to root or us and
  /// is not writable for others. Else EPERM; for a parent that is a symbolic link ELOOP.
  /// - Parameter user: who "we" are.
  static func check(parentOf path: String, of user: UInt32 = geteuid()) throws(SystemError) {
    let components = path.split(separator: "/").dropLast()
    guard !components.contains("..") else { throw SystemError(operation: "path", errno: EINVAL) }
    let parent = "/" + components.joined(separator: "/")
    try checkEach(parent, of: user, allowsLinks: true)
    guard let resolved = realpath(parent, nil) else { throw SystemError(operation: parent, errno: errno) }
    defer { free(resolved) }
    try checkEach(String(cString: resolved), of: user, allowsLinks: false)
  }

  /// A link on the way may only be one that root or we have made, in a directory where nobody else can exchange it.
  private static func checkEach(_ directory: String, of user: UInt32, allowsLinks: Bool) throws(SystemError) {
    var prefix = ""
    var steps = ["/"]
    for component in directory.split(separator: "/") {
      prefix += "/" + component
      steps.append(prefix)
    }
    for step in steps {
      let isParent = step == steps.last
      var status = stat()
      guard lstat(step, &status) == 0 else { throw SystemError(operation: step, errno: errno) }
      guard status.st_uid == 0 || status.st_uid == user else {
        throw SystemError(finding: "\(step) belongs to uid \(status.st_uid)", errno: EPERM)
      }
      if status.st_mode & S_IFMT == S_IFLNK {
        guard allowsLinks, !isParent else { throw SystemError(finding: "\(step) is a symbolic link", errno: ELOOP) }
      } else {
        guard status.st_mode & S_IFMT == S_IFDIR else {
          throw SystemError(finding: "\(step) is not a directory", errno: ENOTDIR)
        }
        let isOpen = status.st_mode & 0o022 != 0
        let isSticky = status.st_mode & 0o1000 != 0
        guard !isOpen || (isSticky && !isParent) else {
          let mode = String(status.st_mode & 0o7777, radix: 8)
          throw SystemError(finding: "others can write \(step) (mode \(mode))", errno: EPERM)
        }
      }
    }
  }
}
