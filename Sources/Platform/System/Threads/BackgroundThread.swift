internal import CLinux
internal import Glibc

/// A thread for one task. Must be joined or detached.
package final class BackgroundThread {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  private var thread: pthread_t?

  /// Starts the thread. If the system cannot create a thread, `run` is not called, and `isStarted` is `false`.
  package init(_ run: @escaping @Sendable () -> Void) {
    let body = Unmanaged.passRetained(Body(run))
    // The new thread blocks all signals: the loop handles signals.
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

  /// `false` if the thread was not created, or was joined or detached.
  package var isStarted: Bool { thread != nil }

  package func join() {
    guard let thread else { return }
    self.thread = nil
    pthread_join(thread, nil)
  }

  package func detach() {
    guard let thread else { return }
    self.thread = nil
    pthread_detach(thread)
  }
}
