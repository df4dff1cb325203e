/// A request that waits until a secret has been read, fetched or renewed.
package class SecretWait {
  private var onEnd: (() -> Void)?

  package init(onEnd: @escaping () -> Void) { self.onEnd = onEnd }

  /// Whether the wait was cancelled, or has ended: `onEnd` is not called any more.
  package var isDone: Bool { onEnd == nil }

  /// Gives the wait up, without a call of `onEnd`.
  package func cancel() { onEnd = nil }

  /// Calls `onEnd`, unless it has been called or the wait was cancelled.
  package func end() {
    let onEnd = onEnd
    self.onEnd = nil
    onEnd?()
  }
}
