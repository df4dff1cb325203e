internal import Glibc

/// A regular file that is open, read at places of one's choice.
package final class OpenedFile: Sendable {
  let descriptor: Int32

  /// Takes the descriptor over.
  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  package func status() throws(SystemError) -> FileStatus { try FileStatus(descriptor: descriptor) }

  /// At most `maximum` bytes from `offset` on; fewer only at the end.
  package func read(from offset: Int64, maximum: Int) throws(SystemError) -> [UInt8] {
    var failure: Int32?
    let bytes = [UInt8](unsafeUninitializedCapacity: maximum) { buffer, count in
      while count < maximum {
        let got = retrying {
          pread(descriptor, buffer.baseAddress?.advanced(by: count), maximum - count, off_t(offset) + count)
        }
        if got < 0 { failure = errno }
        guard got > 0 else { return }
        count += got
      }
    }
    if let failure { throw SystemError(operation: "read", errno: failure) }
    return bytes
  }
}
