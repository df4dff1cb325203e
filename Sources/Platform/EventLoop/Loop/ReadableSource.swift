internal import CLibuv

/// Watches a descriptor for readability, without owning it. Must be closed before the descriptor.
package final class ReadableSource {
  private let memory = HandleMemory<uv_poll_t>()
  private unowned let loop: Loop
  private var onReadable: (() -> Void)?

  /// Makes the descriptor non-blocking. Calls `onReadable` on every turn of the loop while there is something to read.
  package init(loop: Loop, descriptor: Int32, onReadable: @escaping () -> Void) throws(UVError) {
    self.loop = loop
    self.onReadable = onReadable
    try memory.check(uv_poll_init(loop.raw, memory.raw, descriptor), "uv_poll_init")
    memory.retain(self)
    uv_poll_start(memory.raw, CInt(UV_READABLE.rawValue)) { handle, _, _ in
      // POLLERR also means readable: the next read returns the error.
      withOwner(handle?.pointee.data, as: ReadableSource.self) { $0.didBecomeReadable() }
    }
  }

  package func close() {
    guard onReadable != nil else { return }
    onReadable = nil
    memory.close()
  }

  private func didBecomeReadable() {
    guard let onReadable else { return }
    loop.turn.begin(.file)
    onReadable()
  }
}
