internal import CLibuv
internal import Glibc

// All jobs together get a millisecond of each turn.
/// Runs long work in small parts so that it does not block the loop.
final class IncrementalJobs {
  private var jobs: [Job] = []
  private var isScheduled = false

  /// Works while `hasTime()` is `true`, and returns `true` when the whole job is complete.
  typealias Job = (_ hasTime: () -> Bool) -> Bool

  func add(_ job: @escaping Job, on loop: Loop) {
    jobs.append(job)
    scheduleNext(on: loop)
  }

  private func scheduleNext(on loop: Loop) {
    guard !isScheduled, !jobs.isEmpty else { return }
    isScheduled = true
    loop.onNextTurn { [unowned self, unowned loop] in
      runJobs(until: loop.turn.incrementalDeadline)
      isScheduled = false
      scheduleNext(on: loop)
    }
  }

  private func runJobs(until end: UInt64) {
    let hasTime = { bearerd_ticks() < end }
    while !jobs.isEmpty {
      let job = jobs.removeFirst()
      // Jobs that this job adds run after the rest of this job.
      let rest = jobs
      jobs = []
      let isDone = job(hasTime)
      jobs = rest + (isDone ? [] : [job]) + jobs
      if !hasTime() { return }
    }
  }
}

extension Loop {
  /// Runs long work in small parts. Calls `job` on later turns of the loop until it returns `true`.
  package func runIncrementally(_ job: @escaping (_ hasTime: () -> Bool) -> Bool) { incrementalJobs.add(job, on: self) }

  /// Calls `body` for each item in order, in small parts so that the loop is not blocked. Then calls `then`,
  /// immediately if there are no items.
  package func runIncrementally<Item>(_ items: [Item], _ body: @escaping (Item) -> Void, then: @escaping () -> Void) {
    if items.isEmpty { return then() }
    var next = 0
    runIncrementally { hasTime in
      repeat {
        body(items[next])
        next += 1
      } while next < items.count && hasTime()
      if next == items.count { then() }
      return next == items.count
    }
  }
}
