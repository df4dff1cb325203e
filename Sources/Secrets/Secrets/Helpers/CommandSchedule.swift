internal import Lifecycle
package import Settings

/// When a command runs next, and when its value expires. All times are milliseconds of one monotonic clock.
package struct CommandSchedule: Sendable, Equatable {
  private let timeToLive: UInt64?
  /// Start of the next run; `nil` if the command does not run again.
  package private(set) var nextRun: UInt64? = 0
  /// Expiry of the current value; `nil` if there is no value or the value never expires.
  package private(set) var expiry: UInt64?
  private var failures = 0
  private var rejections = 0
  private var lastRejection: UInt64 = 0

  package init(_ command: SecretCommand) {
    timeToLive = command.timeToLive
  }

  /// Minimum time in milliseconds between the end of a run and the next run.
  private static let shortestPause: UInt64 = 500
  private static let backOff = BackOff(first: 1_000, longest: 300_000)

  /// Records a run that gave a value, and schedules the next run before the value expires.
  /// - Parameter lifetime: milliseconds from the end of the run to the value's expiry; `nil` if unknown.
  package mutating func succeeded(startedAt start: UInt64, endedAt end: UInt64, lifetime: UInt64? = nil) {
    failures = 0
    let ownExpiry = lifetime.map { $0 > .max - end ? .max : end + $0 }
    guard let newExpiry = [timeToLive.map { start &+ $0 }, ownExpiry].compactMap(\.self).min() else {
      (nextRun, expiry) = (nil, nil)
      return
    }
    expiry = newExpiry
    nextRun = max(start &+ (newExpiry &- start) / 5 &* 4, end &+ Self.shortestPause)
  }

  /// Records a failed run. Failures in a row delay the next run by 1 s, 2 s, 4 s, …, 5 min.
  package mutating func failed(endedAt end: UInt64) {
    failures &+= 1
    nextRun = end &+ Self.backOff.time(after: failures)
  }

  /// Records that an upstream rejected the value, and schedules the next run. Returns `true` if it starts immediately.
  package mutating func rejected(at now: UInt64) -> Bool {
    // Rejections that follow each other delay the next run by 1 s, 2 s, 4 s, …, 5 min.
    if now &- lastRejection > Self.backOff.longest { rejections = 0 }
    lastRejection = now
    rejections &+= 1
    nextRun = now &+ Self.backOff.time(after: rejections - 1)
    expiry = nil
    return rejections == 1
  }

  package mutating func expired() { expiry = nil }

  /// Makes the command due immediately if its last run failed.
  package mutating func retryFailed() {
    // The administrator may have fixed the cause.
    if failures > 0 { nextRun = 0 }
  }
}
