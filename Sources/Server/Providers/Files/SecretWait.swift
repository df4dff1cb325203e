/// Somebody who waits for a secret.
package class SecretWait {
  var onEnd: (() -> Void)?

  package init(onEnd: @escaping () -> Void) { self.onEnd = onEnd }

  /// `onEnd` is not called any more.
  package func cancel() { onEnd = nil }

  /// Calls `onEnd`, if nobody has yet.
  package func end() {
    let onEnd = onEnd
    self.onEnd = nil
    onEnd?()
  }
}
