internal import CJansson
internal import Glibc

/// jansson's memory: what is given back is wiped first. The allocator is not told sizes, so each block begins with its own.
enum JanssonMemory {
  private static let header = 16

  /// Before anything else of jansson's.
  static func prepare() { _ = isPrepared }

  private static let isPrepared: Bool = {
    json_set_alloc_funcs(
      { count in
        let (whole, isTooMuch) = count.addingReportingOverflow(JanssonMemory.header)
        guard !isTooMuch, let block = malloc(whole) else { return nil }
        block.storeBytes(of: whole, as: Int.self)
        return block + JanssonMemory.header
      },
      { bytes in
        guard let bytes else { return }
        let block = bytes - JanssonMemory.header
        explicit_bzero(block, block.load(as: Int.self))
        free(block)
      })
    return true
  }()
}
