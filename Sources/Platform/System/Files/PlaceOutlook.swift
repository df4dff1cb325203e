internal import CLinux
internal import Glibc

/// A look at a place, in a directory of its user's alone, by a user who may be another one than the one who is
/// to make something there. Nothing is made, changed or locked.
struct PlaceOutlook {
  enum Verdict {
    /// Nothing is in the way.
    case fit
    case unfit(SystemError)
    /// In the way of everybody but root.
    case onlyForRoot(SystemError)
    /// We may not look as far as the answer.
    case unseen(SystemError)
  }

  let verdict: Verdict
  /// The only user who can make it, or change what stands there; nil: that cannot be seen.
  let maker: UInt32?
  /// The file that stands there, as `lstat` sees it.
  let status: stat?

  /// - Parameters:
  /// - isReplaced: what stands there is taken away, so that its owner is not the one who has to make it.
  ///   - judge: what stands there already, if something does, and whose it has to be.
  init(path: String, isReplaced: Bool, judge: (stat, _ maker: UInt32) throws(SystemError) -> Void) {
    var raw = stat()
    let reason = lstat(path, &raw) == 0 ? 0 : errno
    let isThere = reason == 0
    status = isThere ? raw : nil
    let maker = PlaceOutlook.maker(of: path, owner: isThere && !isReplaced ? raw.st_uid : nil)
    self.maker = maker
    do throws(SystemError) {
      guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw SystemError(operation: "path", errno: EINVAL) }
      try SafeDirectory.check(parentOf: path, of: maker ?? geteuid())
      if isThere {
        try judge(raw, maker ?? geteuid())
      } else {
        guard reason != EACCES else { throw SystemError(operation: path, errno: EACCES) }
        try PlaceOutlook.checkMaking(path, by: maker)
      }
      verdict = .fit
    } catch {
      verdict =
        if error == PlaceOutlook.onlyForRoot {
          .onlyForRoot(error)
        } else {
          error.errno == EACCES && maker != geteuid() ? .unseen(error) : .unfit(error)
        }
    }
  }

  /// The owner of the directory that it is in, or is to be made in, or of the last one on the way that we can see. In a
  /// directory of root's, that of the file itself.
  private static func maker(of path: String, owner: UInt32?) -> UInt32? {
    var (directory, raw) = (parent(of: path), stat())
    var isParent = true
    while stat(directory, &raw) != 0 {
      guard directory != "/" else { return owner }
      (directory, isParent) = (parent(of: directory), false)
    }
    if let owner, !isParent || raw.st_uid == 0 { return owner }
    return isParent || raw.st_uid != 0 ? raw.st_uid : nil
  }

  /// Another user's rights there cannot be asked; but in a directory of root's, closed to the writes of others, only root
  /// makes files.
  static func checkMaking(_ path: String, by maker: UInt32?) throws(SystemError) {
    guard maker == geteuid() || maker == 0, faccessat(AT_FDCWD, parent(of: path), W_OK | X_OK, AT_EACCESS) != 0 else {
      return
    }
    let reason = errno
    guard maker == 0, reason == EACCES else { throw SystemError(operation: "open", errno: reason) }
    throw onlyForRoot
  }

  private static let onlyForRoot = SystemError(finding: "only root can create it there", errno: EPERM)

  private static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }
}
