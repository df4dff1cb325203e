internal import CLinux
internal import Glibc

/// A small file that only the current user can access, and that is replaced atomically.
package enum PrivateFile {
  /// Atomically writes the first `count` bytes of `memory` to a file (mode 0600). Blocks until the file is on disk.
  /// - Throws: EINVAL, EPERM or ELOOP for an unsafe path or existing file. EWOULDBLOCK if another process is replacing
  ///   it.
  package static func replace(_ path: String, with memory: LockedMemory, count: Int) throws(SystemError) {
    guard path.hasPrefix("/"), path.utf8.last != UInt8(ascii: "/"), !path.utf8.contains(0) else {
      throw SystemError(operation: "path", errno: EINVAL)
    }
    let directory = try SafeDirectory(parentOf: path)
    try checkExisting(directory)
    let temporary = directory.name + temporarySuffix
    let descriptor = try create(temporary, in: directory.descriptor)
    defer { close(descriptor) }
    do throws(SystemError) {
      try NewFile.write(UnsafeRawBufferPointer(rebasing: memory.bytes.prefix(max(0, count))), to: descriptor)
      try check(retrying { fsync(descriptor) }, "fsync")
      try check(renameat(directory.descriptor, temporary, directory.descriptor, directory.name), "rename")
    } catch {
      unlinkat(directory.descriptor, temporary, 0)
      throw error
    }
    try synchronize(directory)
  }

  /// Removes the file if it exists, and syncs the removal to disk. Blocks.
  package static func remove(_ path: String) throws(SystemError) {
    guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw SystemError(operation: "path", errno: EINVAL) }
    let directory = try SafeDirectory(parentOf: path)
    unlinkat(directory.descriptor, directory.name + temporarySuffix, 0)
    if unlinkat(directory.descriptor, directory.name, 0) != 0, errno != ENOENT {
      throw SystemError(operation: "unlink", errno: errno)
    }
    try synchronize(directory)
  }

  static let temporarySuffix = ".new"

  /// Reads the complete file. Returns `nil` if it does not exist.
  /// - Parameter mustLock: whether to throw if the memory cannot be locked.
  /// - Throws: EPERM if another user can read, write or replace the file (T61). EINVAL if it is not regular, ELOOP for
  ///   a symbolic link, EFBIG if it has more than `maximum` bytes.
  package static func read(
    _ path: String, maximum: Int, mustLock: Bool
  ) throws(SystemError) -> (memory: LockedMemory, count: Int)? {
    guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw SystemError(operation: "path", errno: EINVAL) }
    let walk = try FileWalk(path, followsLast: false).validated()
    if walk.failure?.error.isNotFound == true { return nil }
    let descriptor = try walk.open()
    defer { close(descriptor) }
    let status = try FileStatus(descriptor: descriptor)
    try validate(status)
    guard status.size <= maximum else { throw SystemError(operation: "read", errno: EFBIG) }
    let memory = try LockedMemory(byteCount: max(1, Int(status.size)), mustLock: mustLock)
    let room = UnsafeMutableRawBufferPointer(rebasing: memory.bytes[..<Int(status.size)])
    return (memory, try FileReader.read(descriptor, into: room))
  }

  private static func checkExisting(_ directory: SafeDirectory) throws(SystemError) {
    var raw = stat()
    guard fstatat(directory.descriptor, directory.name, &raw, AT_SYMLINK_NOFOLLOW) == 0 else {
      guard errno == ENOENT else { throw SystemError(operation: "fstatat", errno: errno) }
      return
    }
    try validate(FileStatus(raw))
  }

  private static func validate(_ status: FileStatus) throws(SystemError) {
    guard status.isRegular else { throw SystemError(finding: "it is not a regular file", errno: EINVAL) }
    guard status.owner == geteuid() else {
      throw SystemError(finding: "it belongs to uid \(status.owner)", errno: EPERM)
    }
    guard status.mode & 0o077 == 0 else {
      throw SystemError(finding: "it is open to others (mode 0\(String(status.mode, radix: 8)))", errno: EPERM)
    }
  }

  /// Creates and locks the temporary file. Throws EWOULDBLOCK if another process has locked it.
  private static func create(_ name: String, in directory: Int32) throws(SystemError) -> Int32 {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
    for _ in 0..<2 {
      let descriptor = retrying { openat(directory, name, flags, 0o600) }
      if descriptor >= 0 {
        do throws(SystemError) {
          try check(flock(descriptor, LOCK_EX | LOCK_NB), "flock")
          // The umask may have removed permissions of the owner.
          try check(fchmod(descriptor, 0o600), "fchmod")
          return descriptor
        } catch {
          close(descriptor)
          throw error
        }
      }
      guard errno == EEXIST else { throw SystemError(operation: "open", errno: errno) }
      try removeStale(name, in: directory)
    }
    throw SystemError(operation: "open", errno: EWOULDBLOCK)
  }

  private static func removeStale(_ name: String, in directory: Int32) throws(SystemError) {
    let descriptor = retrying { openat(directory, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
    if descriptor < 0, errno == ENOENT { return }
    try check(descriptor, "open")
    defer { close(descriptor) }
    try check(flock(descriptor, LOCK_EX | LOCK_NB), "flock")
    // If the file was renamed meanwhile, it is the new file itself.
    var current = stat()
    let own = try FileStatus(descriptor: descriptor)
    guard fstatat(directory, name, &current, AT_SYMLINK_NOFOLLOW) == 0, UInt64(current.st_ino) == own.inode,
      UInt64(current.st_dev) == own.device
    else { return }
    try check(unlinkat(directory, name, 0), "unlink")
  }

  private static func synchronize(_ directory: SafeDirectory) throws(SystemError) {
    let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
    let descriptor = try check(retrying { openat(directory.descriptor, ".", flags) }, "open")
    defer { close(descriptor) }
    try check(retrying { fsync(descriptor) }, "fsync")
  }
}
