internal import Synchronization

/// The pulse of a loop for other threads: whether it waits for events, and otherwise how many-th step it is at.
package final class LoopPulse: Sendable {
  private let word = Atomic<UInt64>(LoopPulse.waiting)

  private static let waiting: UInt64 = 0

  package init() {}

  @inline(__always)
  func begin(_ step: LoopStep, number: UInt64) {
    word.store(number &<< 8 | UInt64(step.rawValue), ordering: .relaxed)
  }

  func wait() { word.store(LoopPulse.waiting, ordering: .relaxed) }

  /// 0: it waits.
  var step: UInt64 { word.load(ordering: .relaxed) }
}

/// Judges from looks at the pulses of all loops whether work goes on. A loop that waits for events is well, and so is one that
/// has begun another step since the last look, however long its turn is: what counts is that something moves, not that
/// everything has had its turn.
package struct PulseWatch {
  package struct Stuck: Equatable {
    /// Which loop, from 0 on.
    package let index: Int
    package let step: LoopStep
    package let milliseconds: UInt64
  }

  private var seen: [(step: UInt64, since: UInt64)]

  package init(count: Int) { seen = Array(repeating: (0, 0), count: count) }

  /// - Parameter now: milliseconds of a clock that is never set.
  /// - Returns: the loop that has been at one step for the longest time; nil: none was seen at the same one before.
  package mutating func look(at pulses: [LoopPulse], now: UInt64) -> Stuck? {
    var stuck: Stuck?
    for (index, pulse) in pulses.enumerated() where index < seen.count {
      let step = pulse.step
      if step == 0 || step != seen[index].step {
        seen[index] = (step, now)
      } else if now > seen[index].since, now - seen[index].since > stuck?.milliseconds ?? 0 {
        stuck = Stuck(
          index: index, step: LoopStep(rawValue: UInt8(truncatingIfNeeded: step)) ?? .none,
          milliseconds: now - seen[index].since)
      }
    }
    return stuck
  }
}
