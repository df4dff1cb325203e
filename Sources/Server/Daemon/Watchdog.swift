internal import EventLoop
internal import Log
internal import StatusModel
internal import System

/// Reports to the service manager that the daemon is healthy, as long as no event loop is stuck (T60).
final class Watchdog {
  private let end = ThreadSignal()
  private let thread: BackgroundThread

  /// - Parameters:
  ///   - interval: the timeout of the service manager in milliseconds.
  ///   - pulses: the progress of each worker's event loop.
  init(interval: UInt64, pulses: [LoopPulse], hasPriorities: Bool, sink: LogSink?) {
    thread = BackgroundThread { [end] in
      let log = EventLog(hasPriorities: hasPriorities, worker: pulses.count, sink: sink)
      var watch = PulseMonitor(count: pulses.count)
      var isReported = false
      while !end.wait(milliseconds: Int(clamping: max(1, interval / 4))) {
        let stuck = watch.check(pulses, now: Clock.monotonicMicroseconds / 1_000)
        guard let stuck, stuck.milliseconds >= interval / 2 else {
          isReported = false
          ServiceManager.notify("WATCHDOG=1")
          continue
        }
        if isReported { continue }
        isReported = true
        log.event(
          .loopStuck, ("worker", String(stuck.index + 1)), ("step", stuck.step.name),
          ("milliseconds", String(stuck.milliseconds)),
          (
            "detail",
            "it has been in one step for so long that bearerd no longer reports to the service manager that it is healthy"
          ))
        log.flush()
      }
    }
  }

  func close() {
    end.signal()
    thread.join()
  }
}
