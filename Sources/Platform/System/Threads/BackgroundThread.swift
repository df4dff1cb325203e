internal import CLinux
internal import Glibc

/// A thread that does one thing beside the loop. To be joined, or left.
package final class BackgroundThread {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  private var thread: pthread_t?

  /// If the system has no thread for it, it is not done, and `isStarted` says so.
  package init(_ run: @escaping @Sendable () -> Void) {
    let body = Unmanaged.passRetained(Body(run))
    // Signals are the loop's.
    var (all, before) = (sigset_t(), sigset_t())
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    var made = pthread_t()
    let status = pthread_create(
      &made, nil,
      { body in
        if let body { Unmanaged<Body>.fromOpaque(body).takeRetainedValue().run() }
        return nil
      }, body.toOpaque())
    pthread_sigmask(SIG_SETMASK, &before, nil)
    if status == 0 { thread = made } else { body.release() }
  }

  /// False: the system had none, or it was joined or left.
  package var isStarted: Bool { thread != nil }

  /// Waits for its end. Idempotent.
  package func join() {
    guard let thread else { return }
    self.thread = nil
    pthread_join(thread, nil)
  }

  /// Its end is not waited for.
  package func leave() {
    guard let thread else { return }
    self.thread = nil
    pthread_detach(thread)
  }
}
