internal import CLinux
internal import Glibc

/// A signal that one thread waits for and another one gives.
///
/// `@unchecked Sendable`, because everything that it has is touched under its own lock.
package final class ThreadSignal: @unchecked Sendable {
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var isGiven = false

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

  /// Several at once may be heard as one.
  package func give() {
    pthread_mutex_lock(lock)
    isGiven = true
    pthread_cond_signal(condition)
    pthread_mutex_unlock(lock)
  }

  /// Returns when it is given, at once if it was since the last time, or when so many milliseconds are over; nil: never.
  /// - Returns: false if they are over.
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
    while !isGiven {
      if milliseconds == nil {
        pthread_cond_wait(condition, lock)
      } else if pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &end) == ETIMEDOUT {
        return false
      }
    }
    isGiven = false
    return true
  }
}
