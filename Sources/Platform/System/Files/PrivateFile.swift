internal import CLinux
internal import Glibc

/// A small file of ours alone that is replaced as a whole.
package enum PrivateFile {
  /// Puts a file (0600) with the first `count` bytes of `memory` in the place of the one there, if there is one. Whenever the
  /// process or the machine ends, what is there afterwards is the whole old file or the whole new one; when this returns, the
  /// new one is on the disk. Takes as long as the file system takes: not on a loop.
  ///
  /// The path has to be absolute and its directory as `AppendFile` asks for. What stands there has to be a regular file, ours,
  /// and closed to others: EINVAL or EPERM otherwise, and nothing is written. EWOULDBLOCK: another process is at it.
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
      try write(UnsafeRawBufferPointer(rebasing: memory.bytes.prefix(max(0, count))), to: descriptor)
      try check(retrying { fsync(descriptor) }, "fsync")
      try check(renameat(directory.descriptor, temporary, directory.descriptor, directory.name), "rename")
    } catch {
      unlinkat(directory.descriptor, temporary, 0)
      throw error
    }
    try synchronise(directory)
  }

  /// Takes it away, if it is there, with what an unfinished replacement has left; when this returns, it is gone from the disk,
  /// too. Takes as long as the file system takes.
  package static func remove(_ path: String) throws(SystemError) {
    guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw SystemError(operation: "path", errno: EINVAL) }
    let directory = try SafeDirectory(parentOf: path)
    unlinkat(directory.descriptor, directory.name + temporarySuffix, 0)
    if unlinkat(directory.descriptor, directory.name, 0) != 0, errno != ENOENT {
      throw SystemError(operation: "unlink", errno: errno)
    }
    try synchronise(directory)
  }

  /// One name for all attempts: what a crash leaves behind is cleared away by the next one.
  static let temporarySuffix = ".new"

  /// Reads it whole. EINVAL or EPERM if it is not regular, not ours, or open to others, and ELOOP if it is a symbolic link;
  /// EPERM, too, if another user could put another file there (T61); EFBIG if it has more than `maximum` bytes.
  /// - Returns: nil: there is none.
  package static func read(
    _ path: String, maximum: Int, mustLock: Bool
  ) throws(SystemError) -> (memory: LockedMemory, count: Int)? {
    guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw SystemError(operation: "path", errno: EINVAL) }
    let walk = try FileWalk(path, followsLast: false).judged()
    if walk.failure?.error.isOfMissing == true { return nil }
    let descriptor = try walk.open()
    defer { close(descriptor) }
    let status = try FileStatus(descriptor: descriptor)
    try judge(status)
    guard status.size <= maximum else { throw SystemError(operation: "read", errno: EFBIG) }
    let memory = try LockedMemory(byteCount: max(1, Int(status.size)), mustLock: mustLock)
    var count = 0
    while count < Int(status.size) {
      let got = retrying {
        pread(descriptor, memory.bytes.baseAddress?.advanced(by: count), Int(status.size) - count, count)
      }
      try check(Int32(truncatingIfNeeded: got), "read")
      if got == 0 { break }
      count += got
    }
    return (memory, count)
  }

  private static func checkExisting(_ directory: SafeDirectory) throws(SystemError) {
    var raw = stat()
    guard fstatat(directory.descriptor, directory.name, &raw, AT_SYMLINK_NOFOLLOW) == 0 else {
      guard errno == ENOENT else { throw SystemError(operation: "fstatat", errno: errno) }
      return
    }
    try judge(FileStatus(raw))
  }

  private static func judge(_ status: FileStatus) throws(SystemError) {
    guard status.isRegular else { throw SystemError(finding: "it is not a regular file", errno: EINVAL) }
    guard status.owner == geteuid() else {
      throw SystemError(finding: "it belongs to uid \(status.owner)", errno: EPERM)
    }
    guard status.mode & 0o077 == 0 else {
      throw SystemError(finding: "it is open to others (mode 0\(String(status.mode, radix: 8)))", errno: EPERM)
    }
  }

  /// The process that holds its lock is at it. A file without a lock was left behind.
  private static func create(_ name: String, in directory: Int32) throws(SystemError) -> Int32 {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
    for _ in 0..<2 {
      let descriptor = retrying { openat(directory, name, flags, 0o600) }
      if descriptor >= 0 {
        do throws(SystemError) {
          try check(flock(descriptor, LOCK_EX | LOCK_NB), "flock")
          // An umask may take the owner's bits, too
          try check(fchmod(descriptor, 0o600), "fchmod")
          return descriptor
        } catch {
          close(descriptor)
          throw error
        }
      }
      guard errno == EEXIST else { throw SystemError(operation: "open", errno: errno) }
      try clearAway(name, in: directory)
    }
    throw SystemError(operation: "open", errno: EWOULDBLOCK)
  }

  private static func clearAway(_ name: String, in directory: Int32) throws(SystemError) {
    let descriptor = retrying { openat(directory, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
    if descriptor < 0, errno == ENOENT { return }
    try check(descriptor, "open")
    defer { close(descriptor) }
    try check(flock(descriptor, LOCK_EX | LOCK_NB), "flock")
    // Renamed meanwhile, it is the file itself.
    var there = stat()
    let mine = try FileStatus(descriptor: descriptor)
    guard fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) == 0, UInt64(there.st_ino) == mine.inode,
      UInt64(there.st_dev) == mine.device
    else { return }
    try check(unlinkat(directory, name, 0), "unlink")
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      let count = retrying {
        Glibc.write(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
      }
      guard count > 0 else { throw SystemError(operation: "write", errno: count < 0 ? errno : ENOSPC) }
      written += count
    }
  }

  private static func synchronise(_ directory: SafeDirectory) throws(SystemError) {
    let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
    let descriptor = try check(retrying { openat(directory.descriptor, ".", flags) }, "open")
    defer { close(descriptor) }
    try check(retrying { fsync(descriptor) }, "fsync")
  }
}
