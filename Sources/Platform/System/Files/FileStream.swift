internal import CLinux
internal import Glibc

/// A regular file from its beginning, piece by piece: for those too large to hold.
package final class FileStream {
  /// As it was when it was opened.
  package let status: FileStatus
  private let descriptor: Int32
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 1)

  /// EINVAL, as "not a regular file", if it is none.
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

  /// The next bytes; false: there are none.
  package func next(_ take: (Span<UInt8>) -> Void) throws(SystemError) -> Bool {
    let count = retrying { read(descriptor, buffer.baseAddress, buffer.count) }
    guard count >= 0 else { throw SystemError(operation: "read", errno: errno) }
    if count == 0 { return false }
    let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
    take(bytes.bindMemory(to: UInt8.self).span)
    return true
  }
}
