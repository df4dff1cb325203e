internal import CLinux
internal import Glibc

/// What can be said of a file that is to be an `AppendFile` by somebody who may be another user than the one who will write
/// it. Nothing is made, changed or locked. Whether another process holds it is not looked at.
package struct AppendFileOutlook: Sendable {
  package enum Verdict: Sendable {
    /// Nothing is in the way.
    case fit
    case unfit(SystemError)
    /// We may not look as far as the answer.
    case unseen(SystemError)
  }

  package let verdict: Verdict
  /// The only user who can write it or make it; nil: that cannot be seen.
  package let writer: UInt32?
  package let isThere: Bool
  /// What is in it already, where we may read it.
  package let content: OpenedFile?

  package init(path: String) {
    var raw = stat()
    let reason = lstat(path, &raw) == 0 ? 0 : errno
    isThere = reason == 0
    let writer = isThere ? raw.st_uid : AppendFileOutlook.maker(of: path, isClosed: reason == EACCES)
    self.writer = writer
    let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    let descriptor = isThere && raw.st_mode & S_IFMT == S_IFREG ? retrying { open(path, flags) } : -1
    content = descriptor < 0 ? nil : OpenedFile(descriptor)
    do throws(SystemError) {
      guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw SystemError(operation: "path", errno: EINVAL) }
      try SafeDirectory.check(parentOf: path, of: writer ?? geteuid())
      if isThere {
        guard raw.st_mode & S_IFMT != S_IFLNK else {
          throw SystemError(operation: "it is a symbolic link", errno: ELOOP)
        }
        try AppendFile.judge(FileStatus(raw), of: raw.st_uid)
        if writer == geteuid() { try check(faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS), "open") }
      } else {
        guard reason != EACCES else { throw SystemError(operation: path, errno: EACCES) }
        try AppendFileOutlook.checkMaking(path, by: writer)
      }
      verdict = .fit
    } catch {
      verdict = error.errno == EACCES && writer != geteuid() ? .unseen(error) : .unfit(error)
    }
  }

  /// The owner of the directory that it is to be made in, or of one on the way that we may not look into.
  private static func maker(of path: String, isClosed: Bool) -> UInt32? {
    var (directory, raw) = (parent(of: path), stat())
    var isParent = true
    while stat(directory, &raw) != 0 {
      guard directory != "/" else { return nil }
      (directory, isParent) = (parent(of: directory), false)
    }
    return isParent || (isClosed && raw.st_uid != 0) ? raw.st_uid : nil
  }

  /// What another user may do there cannot be asked; but in a directory of root's, closed to the writes of others, only root
  /// makes files.
  private static func checkMaking(_ path: String, by writer: UInt32?) throws(SystemError) {
    guard writer == geteuid() || writer == 0, faccessat(AT_FDCWD, parent(of: path), W_OK | X_OK, AT_EACCESS) != 0 else {
      return
    }
    let reason = errno
    guard writer == 0, reason == EACCES else { throw SystemError(operation: "open", errno: reason) }
    throw SystemError(operation: "only root can make it there", errno: EPERM)
  }

  private static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }
}
