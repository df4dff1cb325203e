internal import CLinux
internal import Glibc

/// Checks whether a file can be created or replaced at a path, without changing anything.
struct PathCheck {
  enum Verdict {
    case usable
    case unusable(SystemError)
    case onlyForRoot(SystemError)
    case unknown(SystemError)
  }

  let verdict: Verdict
  /// The uid of the only user who can create or change the file. `nil` if unknown.
  let creator: UInt32?
  let status: stat?

  /// - Parameters:
  ///   - isReplaced: whether an existing file is removed first, so that its owner does not matter.
  ///   - validate: checks an existing file, given the user who must own it.
  init(path: String, isReplaced: Bool, validate: (stat, _ creator: UInt32) throws(SystemError) -> Void) {
    var raw = stat()
    let reason = lstat(path, &raw) == 0 ? 0 : errno
    let exists = reason == 0
    status = exists ? raw : nil
    let creator = PathCheck.creator(of: path, owner: exists && !isReplaced ? raw.st_uid : nil)
    self.creator = creator
    do throws(SystemError) {
      guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw SystemError(operation: "path", errno: EINVAL) }
      _ = try SafeDirectory(parentOf: path, of: creator ?? geteuid())
      if exists {
        try validate(raw, creator ?? geteuid())
      } else {
        guard reason != EACCES else { throw SystemError(operation: path, errno: EACCES) }
        try PathCheck.checkCreation(path, by: creator)
      }
      verdict = .usable
    } catch {
      verdict =
        if error == PathCheck.onlyForRoot {
          .onlyForRoot(error)
        } else {
          error.errno == EACCES && creator != geteuid() ? .unknown(error) : .unusable(error)
        }
    }
  }

  /// Returns the uid of the user who can create the file. `nil` if unknown.
  /// - Parameter owner: the owner of an existing file.
  private static func creator(of path: String, owner: UInt32?) -> UInt32? {
    // This is the owner of the parent directory, or of its closest visible ancestor.
    var (directory, raw) = (parent(of: path), stat())
    var isParent = true
    while stat(directory, &raw) != 0 {
      guard directory != "/" else { return owner }
      (directory, isParent) = (parent(of: directory), false)
    }
    if let owner, !isParent || raw.st_uid == 0 { return owner }
    return isParent || raw.st_uid != 0 ? raw.st_uid : nil
  }

  /// Throws if `creator` is root or the current user, and the current user cannot create a file in the parent.
  static func checkCreation(_ path: String, by creator: UInt32?) throws(SystemError) {
    guard creator == geteuid() || creator == 0,
      faccessat(AT_FDCWD, parent(of: path), W_OK | X_OK, AT_EACCESS) != 0
    else { return }
    let reason = errno
    guard creator == 0, reason == EACCES else { throw SystemError(operation: "open", errno: reason) }
    throw onlyForRoot
  }

  private static let onlyForRoot = SystemError(finding: "only root can create it there", errno: EPERM)

  private static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }
}
