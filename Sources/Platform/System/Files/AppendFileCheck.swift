internal import CLinux
internal import Glibc

/// Checks whether a file can be used as an `AppendFile`, without changing or locking anything. The file may be for
/// another user. Does not check for locks of other processes.
package struct AppendFileCheck: Sendable {
  package enum Verdict: Sendable {
    case usable
    case unusable(SystemError)
    /// The current user lacks the permissions for the check.
    case unknown(SystemError)
  }

  package let verdict: Verdict
  /// The uid of the only user who can write or create the file. `nil` if unknown.
  package let writer: UInt32?
  package let exists: Bool
  /// The existing file. `nil` if there is none, or the current user cannot read it.
  package let content: OpenedFile?

  package init(path: String) {
    let pathCheck = PathCheck(path: path, isReplaced: false) { (status, writer) throws(SystemError) in
      guard status.st_mode & S_IFMT != S_IFLNK else {
        throw SystemError(finding: "it is a symbolic link", errno: ELOOP)
      }
      try AppendFile.validate(FileStatus(status), of: writer)
      if writer == geteuid() { try check(faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS), "open") }
    }
    (writer, exists) = (pathCheck.creator, pathCheck.status != nil)
    verdict =
      switch pathCheck.verdict {
      case .usable: .usable
      case .unusable(let error), .onlyForRoot(let error): .unusable(error)
      case .unknown(let error): .unknown(error)
      }
    let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    let isRegular = pathCheck.status.map { $0.st_mode & S_IFMT == S_IFREG } ?? false
    let descriptor = isRegular ? retrying { open(path, flags) } : -1
    content = descriptor < 0 ? nil : OpenedFile(descriptor)
  }
}
