internal import Glibc

/// A lock for state that several event loops share. Does nothing if there is only one loop.
/// `@unchecked Sendable`, because the mutex works on any thread.
@usableFromInline
package final class SharedLock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  @usableFromInline package let isShared: Bool

  package init(isShared: Bool) {
    self.isShared = isShared
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Calls `body` under the lock. Not reentrant.
  package func callAsFunction<Result>(_ body: () -> Result) -> Result {
    lock()
    defer { unlock() }
    return body()
  }

  @inlinable package func lock() { if isShared { lockMutex() } }
  @inlinable package func unlock() { if isShared { unlockMutex() } }

  @usableFromInline package func lockMutex() { pthread_mutex_lock(mutex) }
  @usableFromInline package func unlockMutex() { pthread_mutex_unlock(mutex) }
}
