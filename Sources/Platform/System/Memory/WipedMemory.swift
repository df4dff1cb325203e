internal import Glibc

/// Memory for a C library that may keep secrets in it. It is wiped before it is freed.
package enum WipedMemory {
  // The libraries do not pass the size to `free`. 16, so that the block stays aligned.
  /// Bytes before each block, for its size.
  private static let header = 16

  /// Returns `count` bytes. `nil` if there is no memory.
  package static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
    let (whole, isTooLong) = count.addingReportingOverflow(header)
    guard !isTooLong, let block = malloc(whole) else { return nil }
    block.storeBytes(of: count, as: Int.self)
    return block + header
  }

  /// Returns `number` blocks of `size` bytes, which are zero. `nil` if there is no memory.
  package static func allocate(_ number: Int, of size: Int) -> UnsafeMutableRawPointer? {
    let (count, overflows) = number.multipliedReportingOverflow(by: size)
    guard !overflows, let memory = allocate(count) else { return nil }
    return memset(memory, 0, count)
  }

  /// Returns memory with the contents of `memory`, which is freed. `nil` if there is no memory, and then `memory` stays as it is.
  package static func reallocate(_ memory: UnsafeMutableRawPointer?, _ count: Int) -> UnsafeMutableRawPointer? {
    guard let new = allocate(count) else { return nil }
    if let memory { memcpy(new, memory, min(count, (memory - header).load(as: Int.self))) }
    free(memory)
    return new
  }

  package static func free(_ memory: UnsafeMutableRawPointer?) {
    guard let memory else { return }
    let block = memory - header
    explicit_bzero(memory, block.load(as: Int.self))
    Glibc.free(block)
  }
}
