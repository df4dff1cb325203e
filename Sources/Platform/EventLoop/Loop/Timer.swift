internal import CLibuv

/// A repeating or one-shot timer. The daemon has few: one drives its timer wheel. To be closed.
package final class Timer {
  private let memory = HandleMemory<uv_timer_t>()
  private unowned let loop: Loop
  private var onFire: (() -> Void)?

  package init(loop: Loop, onFire: @escaping () -> Void) {
    self.loop = loop
    self.onFire = onFire
    uv_timer_init(loop.raw, memory.raw)
    memory.retain(self)
  }

  /// Milliseconds, counted from `loop.now`. Starting again moves it. `repeatEvery` 0 fires once.
  package func start(after delay: UInt64, repeatEvery: UInt64 = 0) {
    guard onFire != nil else { return }
    uv_timer_start(memory.raw, { withOwner($0?.pointee.data, as: Timer.self) { $0.hear() } }, delay, repeatEvery)
  }

  package func stop() {
    guard onFire != nil else { return }
    uv_timer_stop(memory.raw)
  }

  /// Idempotent. `onFire` is not called again, and let go.
  package func close() {
    guard onFire != nil else { return }
    onFire = nil
    memory.close()
  }

  private func hear() {
    guard let onFire else { return }
    loop.turn.begin(.timer)
    onFire()
  }
}
