internal import EventLoop
internal import Log
internal import System

/// Tells the service manager that the daemon lives, for as long as something moves in every loop (T60).
///
/// On a thread of its own, because a loop that is busy with one long turn is not dead: as long as it begins one step after
/// the other, requests are answered, and an end of the daemon would be of no help. Only a loop that stays at one step for half
/// of the manager's time counts as stuck.
final class Watchdog {
  private let end = ThreadSignal()
  private let thread: BackgroundThread

  /// - Parameters:
  ///   - interval: milliseconds after which the manager loses patience.
  ///   - pulses: of all workers' loops, in their order.
  init(interval: UInt64, pulses: [LoopPulse], hasPriorities: Bool, sink: LogSink?) {
    thread = BackgroundThread { [end] in
      let log = EventLog(hasPriorities: hasPriorities, of: pulses.count, share: sink)
      var watch = PulseWatch(count: pulses.count)
      var isTold = false
      while !end.wait(milliseconds: Int(clamping: max(1, interval / 4))) {
        let stuck = watch.look(at: pulses, now: Clock.monotonicMicroseconds / 1_000)
        guard let stuck, stuck.milliseconds >= interval / 2 else {
          isTold = false
          ServiceManager.notify("WATCHDOG=1")
          continue
        }
        if isTold { continue }
        isTold = true
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
    end.give()
    thread.join()
  }
}
