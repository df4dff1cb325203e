internal import CLibuv

/// A repeating or one-shot timer. Must be closed. For many deadlines, use a `DeadlineQueue`.
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

  /// Starts or restarts the timer.
  /// - Parameters:
  ///   - delay: milliseconds from `loop.now`.
  ///   - repeatEvery: milliseconds. 0 fires only once.
  package func start(after delay: UInt64, repeatEvery: UInt64 = 0) {
    guard onFire != nil else { return }
    uv_timer_start(memory.raw, { withOwner($0?.pointee.data, as: Timer.self) { $0.didFire() } }, delay, repeatEvery)
  }

  package func stop() {
    guard onFire != nil else { return }
    uv_timer_stop(memory.raw)
  }

  /// Releases `onFire`, which is not called again. Idempotent.
  package func close() {
    guard onFire != nil else { return }
    onFire = nil
    memory.close()
  }

  private func didFire() {
    guard let onFire else { return }
    loop.turn.begin(.timer)
    onFire()
  }
}
