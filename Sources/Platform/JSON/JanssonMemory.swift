internal import CJansson
internal import Glibc

/// Allocates memory for jansson, and wipes it before freeing it.
enum JanssonMemory {
  private static let header = 16

  /// Installs the allocator. Call this before any other function of jansson.
  static func prepare() { _ = isPrepared }

  private static let isPrepared: Bool = {
    json_set_alloc_funcs(
      { count in
        let (whole, overflow) = count.addingReportingOverflow(JanssonMemory.header)
        guard !overflow, let block = malloc(whole) else { return nil }
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
