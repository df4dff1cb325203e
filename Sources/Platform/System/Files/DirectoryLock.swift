internal import Glibc

/// An advisory lock (flock(2)) on a directory.
package enum DirectoryLock {
  /// Waits until nobody else has the lock. A directory that is removed meanwhile is ENOENT.
  /// - Parameter waiting: called before it waits, if it has to.
  /// - Returns: a descriptor; closing it gives the lock back.
  package static func take(_ path: String, waiting: () -> Void) throws(SystemError) -> Int32 {
    let descriptor = try check(retrying { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }, "open")
    if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
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
