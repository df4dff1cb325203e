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
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: maximum) { buffer, count in
      let room = UnsafeMutableRawBufferPointer(buffer)[..<maximum]
      do throws(SystemError) {
        count = try FileReader.read(descriptor, from: offset, into: UnsafeMutableRawBufferPointer(rebasing: room))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }
}
