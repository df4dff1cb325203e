internal import Glibc

/// Files and directories that were not there before.
package enum NewFile {
  /// Makes a file with this content, whole or not at all, and brings it to the disk. EEXIST if there is something of this name: it
  /// stays as it is.
  /// - Parameters:
  ///   - path: absolute.
  ///   - mode: as in chmod(2), whatever the umask is.
  ///   - group: the group that it gets; `nil`: the process's own.
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
    var rest = bytes
    while !rest.isEmpty {
      let count = retrying { write(descriptor, rest.baseAddress, rest.count) }
      guard count > 0 else { throw SystemError(operation: "write", errno: count < 0 ? errno : ENOSPC) }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    if let group { try check(fchown(descriptor, uid_t.max, group), "chown") }
    try check(fchmod(descriptor, mode), "chmod")
    try check(retrying { fsync(descriptor) }, "fsync")
    try check(link(temporary, path), "link")
    let directory = try check(retrying { open(String(path[...slash]), O_RDONLY | O_DIRECTORY | O_CLOEXEC) }, "open")
    defer { close(directory) }
    try check(retrying { fsync(directory) }, "fsync")
  }

  package static func create(_ path: String, _ text: String, mode: UInt32, group: UInt32? = nil) throws(SystemError) {
    let bytes = Array(text.utf8)
    let result = bytes.withUnsafeBytes { (bytes) -> Result<Void, SystemError> in
      do throws(SystemError) { return .success(try create(path, bytes, mode: mode, group: group)) } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  /// Makes a directory, and those above it that are missing (those with mode 0755).
  /// - Returns: the directories that it made, those above first.
  @discardableResult
  package static func directory(_ path: String, mode: UInt32, group: UInt32? = nil) throws(SystemError) -> [String] {
    var status = stat()
    if stat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFDIR else { throw SystemError(operation: "mkdir", errno: ENOTDIR) }
      return []
    }
    var made: [String] = []
    if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      made = try directory(String(path[..<slash]), mode: 0o755)
    }
    if mkdir(path, 0o700) != 0 {
      guard errno == EEXIST else { throw SystemError(operation: "mkdir", errno: errno) }
      return made
    }
    if let group { try check(chown(path, uid_t.max, group), "chown") }
    try check(fchmodat(AT_FDCWD, path, mode, 0), "chmod")
    return made + [path]
  }

  /// Removes a file, if it is there.
  package static func remove(_ path: String) throws(SystemError) {
    if unlink(path) != 0, errno != ENOENT { throw SystemError(operation: "unlink", errno: errno) }
  }

  /// Gives a file another name in its directory.
  package static func move(_ path: String, to other: String) throws(SystemError) {
    try check(rename(path, other), "rename")
  }

  /// Removes a directory, if it is there and empty.
  package static func removeDirectory(_ path: String) { rmdir(path) }
}
