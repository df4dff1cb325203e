internal import Glibc

// `@unchecked`: every access to the state locks the mutex, which the compiler cannot verify.
/// State that a mutex protects, and whose changes `wait` can wait for.
final class Monitor<State>: @unchecked Sendable {
  // On the heap, because a pthread object must not move.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var state: State

  init(_ state: State) {
    self.state = state
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(mutex)
    changed.deallocate()
    mutex.deallocate()
  }

  func withLock<Result, Failure: Error>(_ body: (inout State) throws(Failure) -> Result) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer {
      pthread_cond_broadcast(changed)
      pthread_mutex_unlock(mutex)
    }
    return try body(&state)
  }

  /// Waits until the condition is true. Returns `false` if it is still false after `seconds`.
  func wait(seconds: Int, until condition: (State) -> Bool) -> Bool {
    var deadline = timespec()
    clock_gettime(CLOCK_REALTIME, &deadline)
    deadline.tv_sec += seconds
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while !condition(state) {
      guard pthread_cond_timedwait(changed, mutex, &deadline) == 0 else { return condition(state) }
    }
    return true
  }
}
