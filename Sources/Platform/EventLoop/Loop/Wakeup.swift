internal import CLibuv
internal import Synchronization

/// Wakes a loop from another thread. To be closed, on the loop's thread.
///
/// `@unchecked Sendable`, because `wake()` may be called anywhere: it touches the handle only under the lock that
/// `close()` takes, so it can come too late but never after the handle's memory is gone.
package final class Wakeup: @unchecked Sendable {
  private let memory = HandleMemory<uv_async_t>()
  private let isOpen = Mutex(true)
  private unowned let loop: Loop
  private var onWake: (() -> Void)?

  package init(loop: Loop, onWake: @escaping () -> Void) throws(UVError) {
    self.loop = loop
    self.onWake = onWake
    let status = uv_async_init(loop.raw, memory.raw) { handle in
      withOwner(handle?.pointee.data, as: Wakeup.self) { $0.hear() }
    }
    guard status == 0 else {
      memory.discard()
      throw UVError(operation: "uv_async_init", status: status)
    }
    memory.retain(self)
  }

  /// The only member that may be called from another thread. Several calls may be heard as one.
  package func wake() {
    isOpen.withLock { isOpen in
      if isOpen { uv_async_send(memory.raw) }
    }
  }

  /// Idempotent. `onWake` is not called again.
  package func close() {
    let wasOpen = isOpen.withLock { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    guard wasOpen else { return }
    onWake = nil
    memory.close()
  }

  private func hear() {
    guard let onWake else { return }
    loop.turn.begin(.message)
    onWake()
  }
}
