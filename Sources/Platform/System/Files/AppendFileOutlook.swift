internal import CLinux
internal import Glibc

/// A look at a file that is to be an `AppendFile`, by a user who may be another one than the one who will write
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
  /// The content that is in it already, where we may read it.
  package let content: OpenedFile?

  package init(path: String) {
    let place = PlaceOutlook(path: path, isReplaced: false) { (status, writer) throws(SystemError) in
      guard status.st_mode & S_IFMT != S_IFLNK else {
        throw SystemError(finding: "it is a symbolic link", errno: ELOOP)
      }
      try AppendFile.judge(FileStatus(status), of: writer)
      if writer == geteuid() { try check(faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS), "open") }
    }
    (writer, isThere) = (place.maker, place.status != nil)
    verdict =
      switch place.verdict {
      case .fit: .fit
      case .unfit(let error), .onlyForRoot(let error): .unfit(error)
      case .unseen(let error): .unseen(error)
      }
    let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    let isRegular = place.status.map { $0.st_mode & S_IFMT == S_IFREG } ?? false
    let descriptor = isRegular ? retrying { open(path, flags) } : -1
    content = descriptor < 0 ? nil : OpenedFile(descriptor)
  }
}
