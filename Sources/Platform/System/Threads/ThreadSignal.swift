internal import CLinux
internal import Glibc

/// An event that one thread sends and another thread waits for.
///
/// `@unchecked Sendable`, because all state is accessed only under the lock.
package final class ThreadSignal: @unchecked Sendable {
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var isSignaled = false

  package init() {
    pthread_mutex_init(lock, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(lock)
    condition.deallocate()
    lock.deallocate()
  }

  /// Wakes the waiting thread, or lets the next `wait` return immediately. Several signals may be merged into one.
  package func signal() {
    pthread_mutex_lock(lock)
    isSignaled = true
    pthread_cond_signal(condition)
    pthread_mutex_unlock(lock)
  }

  /// Waits for a signal. Returns immediately if one was sent since the last `wait`.
  /// - Parameter milliseconds: the time limit. `nil` for none.
  /// - Returns: `false` if the time limit has expired.
  @discardableResult
  package func wait(milliseconds: Int?) -> Bool {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    var end = timespec()
    if let milliseconds {
      clock_gettime(CLOCK_MONOTONIC, &end)
      end.tv_sec += milliseconds / 1000
      end.tv_nsec += milliseconds % 1000 * 1_000_000
      if end.tv_nsec >= 1_000_000_000 {
        end.tv_sec += 1
        end.tv_nsec -= 1_000_000_000
      }
    }
    while !isSignaled {
      if milliseconds == nil {
        pthread_cond_wait(condition, lock)
      } else if pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &end) == ETIMEDOUT {
        return false
      }
    }
    isSignaled = false
    return true
  }
}
