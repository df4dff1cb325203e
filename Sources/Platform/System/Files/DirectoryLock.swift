internal import Glibc

/// An advisory lock (flock(2)) on a directory.
package enum DirectoryLock {
  /// Waits until no other process holds the lock.
  /// - Parameter waiting: called first if another process holds it.
  /// - Returns: a descriptor; closing it releases the lock.
  /// - Throws: ENOENT if the directory was removed in the meantime.
  package static func take(_ path: String, waiting: () -> Void) throws(SystemError) -> Int32 {
    let descriptor = try check(retrying { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }, "open")
    if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
      waiting()
      _ = retrying { flock(descriptor, LOCK_EX) }
    }
    var (locked, present) = (stat(), stat())
    guard fstat(descriptor, &locked) == 0, stat(path, &present) == 0,
      (locked.st_dev, locked.st_ino) == (present.st_dev, present.st_ino)
    else {
      close(descriptor)
      throw SystemError(operation: "lock", errno: ENOENT)
    }
    return descriptor
  }
}
