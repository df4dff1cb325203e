internal import Glibc

package enum DirectoryLock {
  /// Acquires an flock(2) lock on a directory. Waits while another process has it.
  /// - Parameter waiting: called before waiting.
  /// - Returns: the descriptor of the lock. Close it to release the lock.
  /// - Throws: ENOENT if the directory was removed in the meantime.
  package static func acquire(_ path: String, waiting: () -> Void) throws(SystemError) -> Int32 {
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
