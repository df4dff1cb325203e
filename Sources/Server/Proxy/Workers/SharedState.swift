package import Credentials
internal import Gateway
internal import Synchronization
package import System

/// The state that the workers have in common, one per process.
package final class SharedState: Sendable {
  /// How many there are.
  package let workers: Int
  /// The lock of all that is counted for all workers together.
  package let lock: SharedLock
  let quotas: CallerQuotas
  let strangers: Strangers
  package let jars: CookieJars
  /// Whether no more connections are accepted just now: a worker that ends one says so.
  let isFull = Atomic<Bool>(false)
  /// Some worker has no descriptor left: the others close what they do not use, once the main thread hears of it.
  let wantsRoom = Atomic<Bool>(false)
  /// Work that other workers have for the main thread.
  let errands = Guarded<[WorkerLink.Message]>([])

  package init(workers: Int) {
    self.workers = workers
    lock = SharedLock(isShared: workers > 1)
    quotas = CallerQuotas(lock: lock)
    strangers = Strangers(lock: lock)
    jars = CookieJars(isShared: workers > 1)
  }

  /// The share of one worker in something that there is so much of in all: together they have no less, and each has some.
  func share(of all: Int) -> Int { all == 0 ? 0 : (all - 1) / workers + 1 }

  /// `@unchecked Sendable`, because they are counted under the lock alone.
  final class Strangers: @unchecked Sendable {
    private let lock: SharedLock
    private var inLog = LogRateLimiter()

    init(lock: SharedLock) { self.lock = lock }

    /// Whether the next refusal of a stranger gets a line, and how many had none that the log has to be told of.
    func takeLine(at now: UInt64) -> (isTaken: Bool, omitted: UInt64) {
      lock {
        var omitted: UInt64 = 0
        let isTaken = inLog.takeLine(at: now) { omitted = $0 }
        return (isTaken, omitted)
      }
    }

    func removeOmitted() -> UInt64 {
      lock {
        var omitted: UInt64 = 0
        inLog.reportOmitted { omitted = $0 }
        return omitted
      }
    }
  }
}
