/// Whoever waits is answered, whatever else hangs.
final class Patience: Timed {
  private let onPass: () -> Void

  init(onPass: @escaping () -> Void) { self.onPass = onPass }

  override func deadlinePassed() { onPass() }
}
