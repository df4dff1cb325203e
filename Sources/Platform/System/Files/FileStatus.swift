internal import CLinux
internal import Glibc

/// The owner, permissions and identity of a file, from stat(2).
package struct FileStatus: Sendable, Equatable {
  package let owner: UInt32
  package let group: UInt32
  /// The twelve permission bits, such as 0o0640.
  package let mode: UInt32
  package let isRegular: Bool
  package let isDirectory: Bool
  package let size: Int64
  /// Modification time, in nanoseconds since 1970.
  package let modified: Int64
  package let device: UInt64
  package let inode: UInt64
  /// Number of hard links.
  package let links: UInt64

  /// Reads the status of a file, following symbolic links. `nil` if stat(2) fails.
  package init?(path: String) {
    var raw = stat()
    guard stat(path, &raw) == 0 else { return nil }
    self.init(raw)
  }

  init(descriptor: Int32) throws(SystemError) {
    var raw = stat()
    try check(fstat(descriptor, &raw), "fstat")
    self.init(raw)
  }

  init(_ raw: stat) {
    owner = raw.st_uid
    group = raw.st_gid
    mode = UInt32(raw.st_mode & 0o7777)
    isRegular = raw.st_mode & S_IFMT == S_IFREG
    isDirectory = raw.st_mode & S_IFMT == S_IFDIR
    size = Int64(raw.st_size)
    modified = Int64(raw.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(raw.st_mtim.tv_nsec)
    device = UInt64(raw.st_dev)
    inode = UInt64(raw.st_ino)
    links = UInt64(raw.st_nlink)
  }
}
