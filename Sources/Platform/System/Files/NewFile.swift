internal import Glibc

package enum NewFile {
  /// Creates a file with this content atomically, and syncs it to disk. Throws EEXIST if the name is taken.
  /// - Parameters:
  ///   - path: absolute.
  ///   - mode: as for chmod(2). The umask does not apply.
  ///   - group: `nil` for the group of the process.
  package static func create(
    _ path: String, _ bytes: UnsafeRawBufferPointer, mode: UInt32, group: UInt32? = nil
  ) throws(SystemError) {
    let slash = path.lastIndex(of: "/") ?? path.startIndex
    let temporary =
      "\(path[...slash]).\(path[path.index(after: slash)...]).\(getpid()).\(Clock.monotonicMicroseconds).new"
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
    let descriptor = try check(retrying { open(temporary, flags, 0o600) }, "create")
    defer {
      unlink(temporary)
      close(descriptor)
    }
    try write(bytes, to: descriptor)
    if let group { try check(fchown(descriptor, uid_t.max, group), "chown") }
    try check(fchmod(descriptor, mode), "chmod")
    try check(retrying { fsync(descriptor) }, "fsync")
    try check(link(temporary, path), "link")
    let directory = try check(retrying { open(String(path[...slash]), O_RDONLY | O_DIRECTORY | O_CLOEXEC) }, "open")
    defer { close(directory) }
    try check(retrying { fsync(directory) }, "fsync")
  }

  package static func create(_ path: String, _ text: String, mode: UInt32, group: UInt32? = nil) throws(SystemError) {
    let bytes = text.utf8.span
    try bytes.withUnsafeBytes { (bytes) throws(SystemError) in try create(path, bytes, mode: mode, group: group) }
  }

  static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(SystemError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = retrying { Glibc.write(descriptor, rest.baseAddress, rest.count) }
      guard count > 0 else { throw SystemError(operation: "write", errno: count < 0 ? errno : ENOSPC) }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Creates a directory, and missing parents with mode 0755.
  /// - Returns: the created directories, parents first.
  @discardableResult
  package static func createDirectory(_ path: String, mode: UInt32, group: UInt32? = nil) throws(SystemError)
    -> [String]
  {
    var status = stat()
    if stat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFDIR else { throw SystemError(operation: "mkdir", errno: ENOTDIR) }
      return []
    }
    var made: [String] = []
    if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      made = try createDirectory(String(path[..<slash]), mode: 0o755)
    }
    if mkdir(path, 0o700) != 0 {
      guard errno == EEXIST else { throw SystemError(operation: "mkdir", errno: errno) }
      return made
    }
    if let group { try check(chown(path, uid_t.max, group), "chown") }
    try check(fchmodat(AT_FDCWD, path, mode, 0), "chmod")
    return made + [path]
  }

  /// Removes a file if it exists.
  package static func remove(_ path: String) throws(SystemError) {
    if unlink(path) != 0, errno != ENOENT { throw SystemError(operation: "unlink", errno: errno) }
  }

  package static func move(_ path: String, to other: String) throws(SystemError) {
    try check(rename(path, other), "rename")
  }

  /// Removes a directory if it exists and is empty.
  package static func removeDirectory(_ path: String) { rmdir(path) }
}
