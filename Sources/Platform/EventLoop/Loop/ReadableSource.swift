internal import CLibuv

/// Watches a descriptor that belongs to others for readability. To be closed, before the descriptor is.
package final class ReadableSource {
  private let memory = HandleMemory<uv_poll_t>()
  private unowned let loop: Loop
  private var onReadable: (() -> Void)?

  /// Makes the descriptor non-blocking. `onReadable` is called again on every turn until there is nothing left to read.
  package init(loop: Loop, descriptor: Int32, onReadable: @escaping () -> Void) throws(UVError) {
    self.loop = loop
    self.onReadable = onReadable
    let status = uv_poll_init(loop.raw, memory.raw, descriptor)
    guard status == 0 else {
      memory.discard()
      throw UVError(operation: "uv_poll_init", status: status)
    }
    memory.retain(self)
    resume()
  }

  /// Stops watching until `resume()`.
  package func pause() {
    guard onReadable != nil else { return }
    uv_poll_stop(memory.raw)
  }

  package func resume() {
    guard onReadable != nil else { return }
    uv_poll_start(memory.raw, CInt(UV_READABLE.rawValue)) { handle, _, _ in
      // An error (POLLERR) is told as readability too: the reader then finds it.
      withOwner(handle?.pointee.data, as: ReadableSource.self) { $0.hear() }
    }
  }

  /// Idempotent. `onReadable` is not called again.
  package func close() {
    guard onReadable != nil else { return }
    onReadable = nil
    memory.close()
  }

  private func hear() {
    guard let onReadable else { return }
    loop.turn.begin(.file)
    onReadable()
  }
}
