/// Somebody who waits for a secret.
class SecretWait {
  var onEnd: (() -> Void)?

  init(onEnd: @escaping () -> Void) { self.onEnd = onEnd }

  /// `onEnd` is not called any more.
  func cancel() { onEnd = nil }

  /// Calls `onEnd`, if nobody has yet.
  func end() {
    let onEnd = onEnd
    self.onEnd = nil
    onEnd?()
  }
}
