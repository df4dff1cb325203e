internal import CLinux
internal import Glibc

/// Reads complete regular files, and returns the status of exactly the file that was read (T44). Does not block on
/// FIFOs, and refuses devices.
package enum FileReader {
  /// Returns the absolute path for a path relative to the working directory.
  package static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
    defer { free(directory) }
    return String(cString: directory) + "/" + path
  }

  package static func linkTarget(_ path: String) -> String? {
    withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer in
      guard let start = buffer.bindMemory(to: CChar.self).baseAddress else { return nil }
      let count = readlink(path, start, buffer.count)
      return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
  }

  /// Reads a complete file.
  /// - Throws: EFBIG if the file has more than `maximum` bytes, EINVAL ("not a regular file"), EAGAIN if the file keeps
  ///   changing, or an error of open(2) or read(2).
  package static func read(
    path: String, maximum: Int
  ) throws(SystemError) -> (bytes: [UInt8], status: FileStatus) {
    try read(opened: try open(path), maximum: maximum)
  }

  private static func read(
    opened descriptor: Int32, maximum: Int
  ) throws(SystemError) -> (bytes: [UInt8], status: FileStatus) {
    defer { close(descriptor) }
    let size = try regularFile(descriptor).size
    guard size <= maximum else { throw SystemError(operation: "read", errno: EFBIG) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(Int(size), 1), alignment: 1)
    defer { buffer.deallocate() }
    let (count, status) = try readWhole(descriptor, into: buffer)
    return (Array(buffer[..<count]), status)
  }

  /// Reads the file that a walk has reached. Call `FileWalk.validated` to refuse files that another user could replace.
  package static func read(_ walk: FileWalk, maximum: Int) throws(SystemError) -> (bytes: [UInt8], status: FileStatus) {
    try read(opened: try walk.open(), maximum: maximum)
  }

  /// Reads a secret directly into locked memory. Throws EFBIG if the memory is too small. Wipes the memory on errors.
  package static func read(
    _ walk: FileWalk, into memory: LockedMemory
  ) throws(SystemError) -> (count: Int, status: FileStatus) {
    do throws(SystemError) {
      let descriptor = try walk.open()
      defer { close(descriptor) }
      return try readWhole(descriptor, into: memory.bytes)
    } catch {
      memory.wipe()
      throw error
    }
  }

  static func open(_ path: String) throws(SystemError) -> Int32 {
    guard !path.utf8.contains(0) else { throw SystemError(operation: "open", errno: EINVAL) }
    let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
    let descriptor = retrying { bearerd_openat2(AT_FDCWD, path, UInt64(flags), UInt64(RESOLVE_NO_MAGICLINKS)) }
    // Linux before 5.6, or a seccomp filter that refuses openat2.
    guard descriptor < 0, errno == ENOSYS || errno == EPERM else { return try check(descriptor, "open") }
    return try check(retrying { Glibc.open(path, flags) }, "open")
  }

  static func regularFile(_ descriptor: Int32) throws(SystemError) -> FileStatus {
    let status = try FileStatus(descriptor: descriptor)
    guard status.isRegular else { throw SystemError(operation: "not a regular file", errno: EINVAL) }
    return status
  }

  private static func readWhole(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> (count: Int, status: FileStatus) {
    for _ in 0..<3 {
      let before = try regularFile(descriptor)
      guard before.size <= buffer.count else { throw SystemError(operation: "read", errno: EFBIG) }
      let count = try read(descriptor, into: buffer)
      if try FileStatus(descriptor: descriptor) == before, count == before.size { return (count, before) }
    }
    throw SystemError(operation: "read", errno: EAGAIN)
  }

  /// Reads until the buffer is full or the file ends. Returns the number of bytes.
  static func read(
    _ descriptor: Int32, from offset: Int64 = 0, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Int {
    var count = 0
    while count < buffer.count {
      let read = retrying {
        pread(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count, off_t(offset) + count)
      }
      guard read >= 0 else { throw SystemError(operation: "read", errno: errno) }
      if read == 0 { break }
      count += read
    }
    return count
  }

  /// Reads the beginning of a small file in `/proc`. `nil` if it cannot be opened.
  static func procText(_ path: String) -> String? {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 16_384)
    let count = retrying { Glibc.read(descriptor, &bytes, bytes.count) }
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}
