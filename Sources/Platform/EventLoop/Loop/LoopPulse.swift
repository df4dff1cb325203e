internal import Synchronization

/// The activity of a loop, readable by other threads: waiting for events, or the number and kind of the current step.
package final class LoopPulse: Sendable {
  private let word = Atomic<UInt64>(LoopPulse.waiting)

  private static let waiting: UInt64 = 0

  package init() {}

  @inline(__always)
  func begin(_ step: LoopStep, number: UInt64) {
    word.store(number &<< 8 | UInt64(step.rawValue), ordering: .relaxed)
  }

  func markWaiting() { word.store(LoopPulse.waiting, ordering: .relaxed) }

  /// The number and kind of the current step. 0 while the loop waits for events.
  var step: UInt64 { word.load(ordering: .relaxed) }
}

/// Finds loops that make no progress. A loop makes progress if it waits for events, or has begun another step since the
/// last call of `check`.
package struct PulseMonitor {
  package struct Stuck: Equatable {
    package let index: Int
    package let step: LoopStep
    package let milliseconds: UInt64
  }

  private var samples: [(step: UInt64, since: UInt64)]

  package init(count: Int) { samples = Array(repeating: (0, 0), count: count) }

  /// Returns the loop that has been in one step for the longest time; `nil` if all loops have made progress.
  /// - Parameter now: milliseconds of a monotonic clock.
  package mutating func check(_ pulses: [LoopPulse], now: UInt64) -> Stuck? {
    var stuck: Stuck?
    for (index, pulse) in pulses.enumerated() where index < samples.count {
      let step = pulse.step
      if step == 0 || step != samples[index].step {
        samples[index] = (step, now)
      } else if now > samples[index].since, now - samples[index].since > stuck?.milliseconds ?? 0 {
        stuck = Stuck(
          index: index, step: LoopStep(rawValue: UInt8(truncatingIfNeeded: step)) ?? .none,
          milliseconds: now - samples[index].since)
      }
    }
    return stuck
  }
}
