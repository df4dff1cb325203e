/// A request that waits until a secret has been read, fetched or renewed.
package class SecretWait {
  private var onEnd: (() -> Void)?

  package init(onEnd: @escaping () -> Void) { self.onEnd = onEnd }

  package var isDone: Bool { onEnd == nil }

  package func cancel() { onEnd = nil }

  package func end() { onEnd.take()?() }
}
