internal import CLinux
internal import Glibc

/// A small file of ours alone that is replaced as a whole.
package enum PrivateFile {
  /// Puts a file (0600) with the first `count` bytes of `memory` in the place of the one there, if there is one. Whenever the
  /// process or the machine ends, what is there afterwards is the whole old file or the whole new one; when this returns, the
  /// new one is on the disk. Takes as long as the file system takes: not on a loop.
  ///
  /// The path has to be absolute and its directory as `SafeDirectory` asks for. What stands there has to be a regular file,
  /// ours, and closed to others: EINVAL or EPERM otherwise, and nothing is written. EWOULDBLOCK: another process is at it.
  package static func replace(_ path: String, with memory: LockedMemory, count: Int) throws(SystemError) {
    fatalError("not yet")
  }
}
