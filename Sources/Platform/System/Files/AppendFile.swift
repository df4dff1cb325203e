internal import CLinux
internal import Glibc

/// A file opened for appending, and locked against other processes that use `AppendFile`.
package final class AppendFile: Sendable {
  package let path: String
  package let content: OpenedFile

  /// Opens the file, or creates it with mode 0600.
  /// - Throws: EPERM for an unsafe owner, mode or directory, EINVAL for a relative path or a file that is not regular,
  ///   ELOOP for a symbolic link, EWOULDBLOCK if another process has locked the file.
  package init(path: String) throws(SystemError) {
    guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw SystemError(operation: "path", errno: EINVAL) }
    let directory = try SafeDirectory(parentOf: path)
    let flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    let content = OpenedFile(try check(retrying { openat(directory.descriptor, directory.name, flags, 0o600) }, "open"))
    try AppendFile.validate(try content.status(), of: geteuid())
    try check(retrying { flock(content.descriptor, LOCK_EX | LOCK_NB) }, "flock")
    self.path = path
    self.content = content
  }

  deinit {
    // A child process that has not called execve(2) yet still has the descriptor, and with it the lock.
    _ = flock(content.descriptor, LOCK_UN)
  }

  static func validate(_ status: FileStatus, of user: UInt32) throws(SystemError) {
    guard status.isRegular else { throw SystemError(finding: "it is not a regular file", errno: EINVAL) }
    guard status.owner == user else {
      throw SystemError(finding: "it belongs to uid \(status.owner)", errno: EPERM)
    }
    guard status.mode & 0o022 == 0 else { throw SystemError(finding: "others can write it", errno: EPERM) }
  }

  package var isStillAtPath: Bool {
    var raw = stat()
    guard lstat(path, &raw) == 0, let own = try? content.status() else { return false }
    let current = FileStatus(raw)
    return current.device == own.device && current.inode == own.inode
  }

  /// Writes at the end of the file. Fails if the file was deleted.
  /// - Returns: the number of bytes written, and the error if some were not written.
  package func append(_ bytes: Span<UInt8>) -> (count: Int, error: SystemError?) {
    // The content of a deleted file would be lost.
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

  package func synchronize() { _ = fdatasync(content.descriptor) }
}
