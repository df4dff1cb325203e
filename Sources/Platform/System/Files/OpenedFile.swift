internal import Glibc

/// An open regular file, for reading at any offset.
package final class OpenedFile: Sendable {
  let descriptor: Int32

  /// Takes ownership of the descriptor.
  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  package func status() throws(SystemError) -> FileStatus { try FileStatus(descriptor: descriptor) }

  /// Reads at most `maximum` bytes from `offset`. Returns fewer only at the end of the file.
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
