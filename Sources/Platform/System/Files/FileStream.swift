internal import CLinux
internal import Glibc

/// Reads a regular file from its beginning, piece by piece.
package final class FileStream {
  package let status: FileStatus
  private let descriptor: Int32
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 1)

  /// Opens a file. Throws EINVAL ("not a regular file") for pipes, devices and directories.
  package init(path: String) throws(SystemError) {
    descriptor = try FileReader.open(path)
    do throws(SystemError) {
      status = try FileReader.regularFile(descriptor)
    } catch {
      close(descriptor)
      buffer.deallocate()
      throw error
    }
  }

  deinit {
    close(descriptor)
    buffer.deallocate()
  }

  /// Calls `body` with the next bytes. Returns `false` at the end of the file.
  package func next(_ body: (Span<UInt8>) -> Void) throws(SystemError) -> Bool {
    let count = retrying { read(descriptor, buffer.baseAddress, buffer.count) }
    guard count >= 0 else { throw SystemError(operation: "read", errno: errno) }
    if count == 0 { return false }
    let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
    body(bytes.bindMemory(to: UInt8.self).span)
    return true
  }
}
