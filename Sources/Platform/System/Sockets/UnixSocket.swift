internal import CLinux
internal import Glibc

/// Creates listening Unix sockets that no other user can replace or intercept (T9).
package enum UnixSocket {
  /// Whether the permissions of a socket prevent the current user from connecting.
  package static func isClosedToUs(_ path: String) -> Bool { access(path, W_OK) != 0 && errno == EACCES }

  /// Creates a listening socket with its final mode and group, and returns its descriptor. Replaces an old socket of
  /// the current user if no process listens on it.
  /// - Throws: EPERM or ELOOP for an unsafe directory, EADDRINUSE if a process listens, EEXIST for any other file,
  ///   EINVAL for an invalid path.
  package static func listen(
    path: String, mode: UInt32, group: UInt32?, backlog: Int32
  ) throws(SystemError) -> Int32 {
    var address = try UnixAddress(path: path)
    _ = try SafeDirectory(parentOf: path)
    try removeStale(path, &address)
    let descriptor = try check(bearerd_stream_socket(AF_UNIX), "socket")
    var isBound = false
    do throws(SystemError) {
      // Linux creates the file with the socket's mode, minus the umask: only for the current user at first.
      try check(fchmod(descriptor, mode & 0o600), "fchmod")
      try check(address.with { bind(descriptor, $0, $1) }, "bind")
      isBound = true
      if let group { try check(lchown(path, UInt32.max, group), "chown") }
      try check(chmod(path, mode), "chmod")
      try check(Glibc.listen(descriptor, backlog), "listen")
      return descriptor
    } catch {
      close(descriptor)
      if isBound { unlink(path) }
      throw error
    }
  }

  /// Returns the status of a socket that another process has created for bearerd.
  /// - Throws: EPERM for an unsafe owner or directory, ENOENT if the socket does not exist, ENOTSOCK for other files.
  package static func inspect(path: String) throws(SystemError) -> FileStatus {
    _ = try SafeDirectory(parentOf: path)
    var status = stat()
    try check(lstat(path, &status), "lstat")
    guard status.st_mode & S_IFMT == S_IFSOCK else { throw SystemError(operation: "lstat", errno: ENOTSOCK) }
    guard status.st_uid == 0 || status.st_uid == geteuid() else {
      throw SystemError(finding: "it belongs to uid \(status.st_uid)", errno: EPERM)
    }
    return FileStatus(status)
  }

  /// Removes a Unix socket on which no process listens. Does nothing for other files.
  package static func remove(path: String) {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK, var address = try? UnixAddress(path: path),
      (try? isStale(&address)) == true
    else { return }
    unlink(path)
  }

  package static func setMode(_ mode: UInt32, path: String) { chmod(path, mode_t(mode & 0o777)) }

  private static func removeStale(_ path: String, _ address: inout UnixAddress) throws(SystemError) {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return }
      throw SystemError(operation: "lstat", errno: errno)
    }
    try validate(status, of: geteuid())
    guard try isStale(&address) else { throw SystemError(finding: "another program listens on it", errno: EADDRINUSE) }
    try check(unlink(path), "unlink")
  }

  /// Throws EEXIST unless an existing file is a socket of `user`.
  static func validate(_ status: stat, of user: UInt32) throws(SystemError) {
    let kind =
      switch status.st_mode & S_IFMT {
      case S_IFSOCK: "a socket"
      case S_IFREG: "a file"
      case S_IFDIR: "a directory"
      case S_IFLNK: "a symbolic link"
      case S_IFIFO: "a pipe"
      default: "a device"
      }
    guard kind == "a socket" else { throw SystemError(finding: "\(kind) with this name already exists", errno: EEXIST) }
    guard status.st_uid == user else {
      throw SystemError(finding: "a socket of uid \(status.st_uid) with this name already exists", errno: EEXIST)
    }
  }

  private static func isStale(_ address: inout UnixAddress) throws(SystemError) -> Bool {
    let probe = try check(bearerd_stream_socket(AF_UNIX), "socket")
    defer { close(probe) }
    return address.with { connect(probe, $0, $1) } != 0 && errno == ECONNREFUSED
  }
}

struct UnixAddress {
  private var raw = sockaddr_un()
  private let length: socklen_t

  /// Throws EINVAL unless the path is absolute and fits into a `sockaddr_un`, including its NUL.
  init(path: String) throws(SystemError) {
    guard path.hasPrefix("/") else { throw SystemError(operation: "unix socket path", errno: EINVAL) }
    try self.init(name: Array(path.utf8), terminated: true)
  }

  init(abstractName: String) throws(SystemError) {
    try self.init(name: [0] + Array(abstractName.utf8), terminated: false)
  }

  private init(name: [UInt8], terminated: Bool) throws(SystemError) {
    let room = MemoryLayout.size(ofValue: raw.sun_path)
    let header = MemoryLayout<sockaddr_un>.size - room
    let count = name.count + (terminated ? 1 : 0)
    guard count <= room, !name.dropFirst().contains(0) else {
      throw SystemError(operation: "unix socket path", errno: EINVAL)
    }
    length = socklen_t(header + count)
    raw.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &raw.sun_path) { $0.copyBytes(from: name) }
  }

  mutating func with(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    withUnsafeBytes(of: &raw) { bytes in
      guard let start = bytes.baseAddress else { return -1 }
      return body(start.assumingMemoryBound(to: sockaddr.self), length)
    }
  }
}
