import EventLoop
@testable import Providers

/// A worker's clocks and timers that stand still until a test advances them.
final class VirtualTime: WorkerTime {
  private(set) var now: UInt64 = 1_000_000
  /// Differs from the loop's clock, so that a test fails if code uses the wrong one.
  var bootTime: UInt64 { now + 7_000_000 }
  private var timers: [(time: UInt64, owner: DeadlineOwner)] = []
  private var actions: [() -> Void] = []
  private var jobs: [(_ hasTime: () -> Bool) -> Bool] = []
  private let workers: Int

  init(workers: Int = 1) { self.workers = workers }

  var hasTimers: Bool { !timers.isEmpty }

  func schedule(_ owner: DeadlineOwner, at time: UInt64) {
    cancel(owner)
    timers.append((time, owner))
  }

  func cancel(_ owner: DeadlineOwner) { timers.removeAll { $0.owner === owner } }
  func onNextTurn(_ action: @escaping () -> Void) { actions.append(action) }
  func runIncrementally(_ job: @escaping (_ hasTime: () -> Bool) -> Bool) { jobs.append(job) }
  func share(of all: Int) -> Int { (all + workers - 1) / workers }

  /// Runs one turn of the loop: everything that was deferred before it.
  /// - Parameter hasTime: whether incremental jobs may do more than one step.
  func turn(hasTime: Bool = true) {
    let (actions, jobs) = (actions, jobs)
    (self.actions, self.jobs) = ([], [])
    for action in actions { action() }
    for job in jobs where !job({ hasTime }) { self.jobs.append(job) }
  }

  /// Advances the clocks, calls the deadlines that pass at their times, and runs a turn after each.
  func advance(_ milliseconds: UInt64) {
    let end = now + milliseconds
    while let next = timers.indices.min(by: { timers[$0].time < timers[$1].time }), timers[next].time <= end {
      let (time, owner) = timers.remove(at: next)
      now = max(now, time)
      owner.deadlinePassed()
      turn()
    }
    now = end
    turn()
  }
}

/// Threads whose work ends when a test says so.
final class VirtualThreads: WorkerThreads {
  private(set) var tasks: [(finish: () -> Void, fail: () -> Void)] = []
  private(set) var isClosed = false

  func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value, onEnd: @escaping (Value?) -> Void) {
    tasks.append(({ onEnd(work()) }, { onEnd(nil) }))
  }

  func close() { isClosed = true }

  /// Ends the task that began first.
  func finishFirst() { tasks.removeFirst().finish() }
  /// Reports for the first task that no thread could be started.
  func failFirst() { tasks.removeFirst().fail() }
}
