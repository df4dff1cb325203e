internal import CNghttp2
internal import Glibc

/// Memory for nghttp2 that is wiped before it is freed. nghttp2 encodes the fields of a head in this memory, also credentials.
enum NghttpMemory {
  // nghttp2 does not pass the size to `free`. 16, so that the block stays aligned.
  /// Bytes before each block, for its size.
  private static let header = 16

  static func functions() -> nghttp2_mem {
    nghttp2_mem(
      mem_user_data: nil,
      malloc: { count, _ in NghttpMemory.allocate(count) },
      free: { memory, _ in NghttpMemory.free(memory) },
      calloc: { number, size, _ in
        let (count, overflow) = number.multipliedReportingOverflow(by: size)
        guard !overflow, let block = NghttpMemory.allocate(count) else { return nil }
        return memset(block, 0, count)
      },
      realloc: { memory, count, _ in NghttpMemory.reallocate(memory, count) })
  }

  private static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
    let (whole, overflow) = count.addingReportingOverflow(header)
    guard !overflow, let block = Glibc.malloc(whole) else { return nil }
    block.storeBytes(of: count, as: Int.self)
    return block + header
  }

  private static func free(_ memory: UnsafeMutableRawPointer?) {
    guard let memory else { return }
    let block = memory - header
    explicit_bzero(memory, block.load(as: Int.self))
    Glibc.free(block)
  }

  private static func reallocate(_ memory: UnsafeMutableRawPointer?, _ count: Int) -> UnsafeMutableRawPointer? {
    guard let new = allocate(count) else { return nil }
    if let memory { memcpy(new, memory, min(count, (memory - header).load(as: Int.self))) }
    free(memory)
    return new
  }
}
