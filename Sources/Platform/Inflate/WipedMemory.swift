internal import Glibc

/// Memory for zlib that is wiped before it is freed.
enum WipedMemory {
  // zlib does not pass the size to `free`. 16, so that the block stays aligned.
  /// Bytes before each block, for its size.
  private static let header = 16

  static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
    guard let block = calloc(1, header + count) else { return nil }
    block.storeBytes(of: count, as: Int.self)
    return block + header
  }

  static func free(_ memory: UnsafeMutableRawPointer?) {
    guard let memory else { return }
    let block = memory - header
    explicit_bzero(memory, block.load(as: Int.self))
    Glibc.free(block)
  }
}
