internal import CLinux
internal import Glibc

/// Writes to standard error without waiting for its reader.
package enum StandardError {
  package static let descriptor: Int32 = STDERR_FILENO

  /// Writes as much as possible without blocking. Returns the number of bytes written.
  @discardableResult
  package static func write(_ bytes: [UInt8]) -> Int { write(bytes.span) }

  @discardableResult
  package static func write(_ bytes: Span<UInt8>, to descriptor: Int32 = Self.descriptor) -> Int {
    bytes.withUnsafeBytes { write($0, to: descriptor, descriptor == Self.descriptor ? kind : Kind(of: descriptor)) }
  }

  private enum Kind {
    case socket, file, other

    init(of descriptor: Int32) {
      var status = stat()
      let kind = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
      self = kind == S_IFSOCK ? .socket : kind == S_IFREG ? .file : .other
    }
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ kind: Kind) -> Int {
    var written = 0
    while written < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
      let count = retrying { writeOnce(rest, to: descriptor, kind) }
      guard count > 0 else { break }
      written += count
    }
    return written
  }

  private static func writeOnce(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ kind: Kind) -> Int {
    switch kind {
    case .socket:
      return send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
    case .file:
      return Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    case .other:
      // A writable pipe accepts PIPE_BUF bytes without blocking (pipe(7)).
      var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&room, 1, 0) == 1, room.revents & Int16(POLLOUT) != 0 else { return 0 }
      return Glibc.write(descriptor, bytes.baseAddress, min(bytes.count, Int(PIPE_BUF)))
    }
  }

  private static let kind = Kind(of: descriptor)
}
