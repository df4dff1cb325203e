package import Credentials
internal import Gateway
internal import Synchronization
package import System

package final class SharedState: Sendable {
  package let workers: Int
  /// The lock for all counts that workers share.
  package let lock: SharedLock
  let quotas: CallerQuotas
  let unadmittedCallerLog: UnadmittedCallerLog
  package let jars: CookieJars
  let reportHistory = Guarded<ReportHistory>(ReportHistory())
  /// Whether accepting is paused.
  let isFull = Atomic<Bool>(false)
  /// Whether a worker has run out of file descriptors.
  let needsDescriptors = Atomic<Bool>(false)
  let mainThreadMessages = Guarded<[WorkerLink.Message]>([])

  package init(workers: Int) {
    self.workers = workers
    lock = SharedLock(isShared: workers > 1)
    quotas = CallerQuotas(lock: lock)
    unadmittedCallerLog = UnadmittedCallerLog(lock: lock)
    jars = CookieJars(isShared: workers > 1)
  }

  /// Returns one worker's share of `all`, rounded up.
  func share(of all: Int) -> Int { all == 0 ? 0 : (all - 1) / workers + 1 }

  /// Limits the log lines about callers that are not admitted.
  final class UnadmittedCallerLog: @unchecked Sendable {
    // All mutable state is used only under the lock.
    private let lock: SharedLock
    private var limiter = LogRateLimiter()

    init(lock: SharedLock) { self.lock = lock }

    /// Returns whether to log the next refusal, and how many refusals were not logged before.
    func acquireLine(at now: UInt64) -> (isLogged: Bool, omitted: UInt64) {
      lock {
        var omitted: UInt64 = 0
        let isLogged = limiter.acquireLine(at: now) { omitted = $0 }
        return (isLogged, omitted)
      }
    }

    func removeOmitted() -> UInt64 {
      lock {
        var omitted: UInt64 = 0
        limiter.reportOmitted { omitted = $0 }
        return omitted
      }
    }
  }
}
