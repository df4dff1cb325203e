internal import CLibuv

/// Delivers a signal as an event of the loop. Must be closed.
package final class SignalSource {
  private let memory = HandleMemory<uv_signal_t>()
  private unowned let loop: Loop
  private var onSignal: (() -> Void)?

  package init(loop: Loop, signal: Int32, onSignal: @escaping () -> Void) throws(UVError) {
    self.loop = loop
    self.onSignal = onSignal
    try memory.check(uv_signal_init(loop.raw, memory.raw), "uv_signal_init")
    memory.retain(self)
    let status = uv_signal_start(
      memory.raw, { handle, _ in withOwner(handle?.pointee.data, as: SignalSource.self) { $0.didFire() } }, signal)
    guard status == 0 else {
      close()
      throw UVError(operation: "uv_signal_start", status: status)
    }
  }

  /// Stops watching the signal, which gets its default action if no other source watches it. Idempotent.
  package func close() {
    guard onSignal != nil else { return }
    onSignal = nil
    memory.close()
  }

  private func didFire() {
    guard let onSignal else { return }
    loop.turn.begin(.signal)
    onSignal()
  }
}
