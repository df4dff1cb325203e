internal import EventLoop
internal import System
internal import Transport

/// The clocks and timers of a worker. Unit tests use virtual ones.
protocol WorkerTime: AnyObject {
  /// The loop's clock, in milliseconds.
  var now: UInt64 { get }
  /// `BootTimer`, in milliseconds.
  var bootTime: UInt64 { get }
  /// Calls `owner.deadlinePassed()` at `time`, in milliseconds of the loop's clock.
  func schedule(_ owner: DeadlineOwner, at time: UInt64)
  func cancel(_ owner: DeadlineOwner)
  /// Calls `action` once, on a later turn of the loop and never within this call.
  func onNextTurn(_ action: @escaping () -> Void)
  /// Calls `job` on later turns of the loop until it returns `true`.
  func runIncrementally(_ job: @escaping (_ hasTime: () -> Bool) -> Bool)
  /// Returns one worker's share of `all`, rounded up.
  func share(of all: Int) -> Int
}

extension WorkerContext: WorkerTime {
  var now: UInt64 { loop.now }
  var bootTime: UInt64 { BootTimer.now }
  func schedule(_ owner: DeadlineOwner, at time: UInt64) { deadlines.schedule(owner, at: time) }
  func cancel(_ owner: DeadlineOwner) { deadlines.cancel(owner) }
  func onNextTurn(_ action: @escaping () -> Void) { loop.onNextTurn(action) }
  func runIncrementally(_ job: @escaping (_ hasTime: () -> Bool) -> Bool) { loop.runIncrementally(job) }
}

/// Runs work that may block, each task on its own thread. Unit tests decide when a task ends.
protocol WorkerThreads: AnyObject {
  /// Runs `work` on another thread, and then calls `onEnd` on the loop, but never after `close`. `onEnd` receives `nil`
  /// if no thread could be started.
  func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value, onEnd: @escaping (Value?) -> Void)
  func close()
}

extension BlockingTasks: WorkerThreads {}
