internal import CLibuv
internal import Synchronization

/// Wakes a loop from another thread. Must be closed on the loop's thread.
///
/// `@unchecked`: `wake()` and `close()` use the handle only under the same lock.
package final class Wakeup: @unchecked Sendable {
  private let memory = HandleMemory<uv_async_t>()
  private let isOpen = Mutex(true)
  private unowned let loop: Loop
  private var onWake: (() -> Void)?

  package init(loop: Loop, onWake: @escaping () -> Void) throws(UVError) {
    self.loop = loop
    self.onWake = onWake
    let status = uv_async_init(loop.raw, memory.raw) { handle in
      withOwner(handle?.pointee.data, as: Wakeup.self) { $0.didWake() }
    }
    try memory.check(status, "uv_async_init")
    memory.retain(self)
  }

  /// Schedules a call of `onWake` on the loop's thread. Several calls may be merged into one. Thread-safe.
  package func wake() {
    isOpen.withLock { isOpen in
      if isOpen { uv_async_send(memory.raw) }
    }
  }

  package func close() {
    let wasOpen = isOpen.withLock { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    guard wasOpen else { return }
    onWake = nil
    memory.close()
  }

  private func didWake() {
    guard let onWake else { return }
    loop.turn.begin(.message)
    onWake()
  }
}
