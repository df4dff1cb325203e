internal import Glibc

/// Memory for a C library that frees without saying how much: each block knows its size, and is wiped before it goes.
enum WipedMemory {
  /// Keeps what follows aligned.
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
