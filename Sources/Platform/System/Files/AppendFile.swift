internal import CLinux
internal import Glibc

/// A file of ours that is only ever written at its end, and by no other process as long as this object is there.
package final class AppendFile: Sendable {
  package let path: String
  /// The content that is in it already.
  package let content: OpenedFile

  /// Makes it (0600) if it is not there. Its directory has to be as `UnixSocket.listen` asks for, and the file itself regular,
  /// ours, no symbolic link, and nothing that others can write: EPERM, EINVAL or ELOOP otherwise. EWOULDBLOCK: another
  /// process holds it.
  package init(path: String) throws(SystemError) {
    guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw SystemError(operation: "path", errno: EINVAL) }
    let directory = try SafeDirectory(parentOf: path)
    let flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    let content = OpenedFile(try check(retrying { openat(directory.descriptor, directory.name, flags, 0o600) }, "open"))
    try AppendFile.judge(try content.status(), of: geteuid())
    try check(retrying { flock(content.descriptor, LOCK_EX | LOCK_NB) }, "flock")
    self.path = path
    self.content = content
  }

  /// Whether it may be written by this user, and by no other but root.
  static func judge(_ status: FileStatus, of user: UInt32) throws(SystemError) {
    guard status.isRegular else { throw SystemError(finding: "it is not a regular file", errno: EINVAL) }
    guard status.owner == user else {
      throw SystemError(finding: "it belongs to uid \(status.owner)", errno: EPERM)
    }
    guard status.mode & 0o022 == 0 else { throw SystemError(finding: "others can write it", errno: EPERM) }
  }

  /// Whether its path still leads to it.
  package var isInPlace: Bool {
    var raw = stat()
    guard lstat(path, &raw) == 0, let mine = try? content.status() else { return false }
    let there = FileStatus(raw)
    return there.device == mine.device && there.inode == mine.inode
  }

  /// Writes at the end, unless no name leads to the file any more.
  /// - Returns: how many bytes were written, and why not all: a disk that fills up takes a part.
  package func append(_ bytes: Span<UInt8>) -> (count: Int, error: SystemError?) {
    // A deleted file could never be read.
    guard let status = try? content.status(), status.links > 0 else {
      return (0, SystemError(operation: "the file was deleted: reload to begin a new one", errno: ENOENT))
    }
    return bytes.withUnsafeBytes { bytes in
      var written = 0
      while written < bytes.count {
        let count = retrying {
          write(content.descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
        }
        if count < 0 { return (written, SystemError(operation: "write", errno: errno)) }
        if count == 0 { return (written, SystemError(operation: "write", errno: ENOSPC)) }
        written += count
      }
      return (written, nil)
    }
  }

  /// All that was written is on the disk when this returns.
  package func synchronise() { _ = fdatasync(content.descriptor) }
}
