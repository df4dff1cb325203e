internal import Glibc

/// Memory that is wiped before it is freed. Each block begins with its size, which zlib does not pass to `free`.
enum WipedMemory {
  /// Bytes before each block, for its size. 16, so that the block stays aligned.
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
