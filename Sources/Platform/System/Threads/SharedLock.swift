internal import Glibc

/// Under it is touched what several loops share, for a few instructions each time. A loop that is alone passes it by.
///
/// A mutex of the C library and not of `Synchronization`, which the thread sanitizer does not know.
///
/// `@unchecked Sendable`, because the mutex is made for any thread, and nothing else changes.
@usableFromInline
package final class SharedLock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  /// False: there is only one loop.
  @usableFromInline package let isShared: Bool

  package init(isShared: Bool) {
    self.isShared = isShared
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Not to be entered within `body` once more. For each request, `enter` and `leave` cost less.
  package func callAsFunction<Result>(_ body: () -> Result) -> Result {
    enter()
    defer { leave() }
    return body()
  }

  @inlinable package func enter() { if isShared { wait() } }
  @inlinable package func leave() { if isShared { release() } }

  @usableFromInline package func wait() { pthread_mutex_lock(mutex) }
  @usableFromInline package func release() { pthread_mutex_unlock(mutex) }
}
