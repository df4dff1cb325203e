internal import Gateway
internal import System

/// What the workers have in common, one per process.
final class Commons: Sendable {
  /// Of all that is counted for all workers together.
  let lock: SharedLock
  let quotas: CallerQuotas
  let strangers: Strangers

  init() {
    lock = SharedLock(isShared: false)
    quotas = CallerQuotas(lock: lock)
    strangers = Strangers(lock: lock)
  }

  /// `@unchecked Sendable`, because they are counted under the lock alone.
  final class Strangers: @unchecked Sendable {
    private let lock: SharedLock
    private var inLog = StrangersInLog()

    init(lock: SharedLock) { self.lock = lock }

    /// Whether the next refusal of a stranger gets a line, and how many had none that the log has to be told of.
    func takeLine(at now: UInt64) -> (isTaken: Bool, omitted: UInt64) {
      lock {
        var omitted: UInt64 = 0
        let isTaken = inLog.takeLine(at: now) { omitted = $0 }
        return (isTaken, omitted)
      }
    }

    func takeOmitted() -> UInt64 {
      lock {
        var omitted: UInt64 = 0
        inLog.tellOmitted { omitted = $0 }
        return omitted
      }
    }
  }
}
