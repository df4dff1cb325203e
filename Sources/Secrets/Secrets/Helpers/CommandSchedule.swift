internal import Lifecycle

/// When a command runs, and until when its value counts. Times are milliseconds of one clock, which only goes forward.
package struct CommandSchedule: Sendable, Equatable {
  private let timeToLive: UInt64?
  /// nil: not again.
  package private(set) var nextRun: UInt64? = 0
  /// nil: there is no value, or it counts for ever.
  package private(set) var expiry: UInt64?
  private var failures = 0
  private var rejections = 0
  private var lastRejection: UInt64 = 0

  package init(_ command: SecretCommand) {
    timeToLive = command.timeToLive
  }

  /// Milliseconds between the end of a run and the next one, at least.
  private static let shortestPause: UInt64 = 500
  private static let backOff = BackOff(first: 1_000, longest: 300_000)

  /// A run gave a value. The next one comes early enough to be tried more than once.
  /// - Parameter lifetime: for which it counts from the end of the run, as it says itself; nil: it does not.
  package mutating func succeeded(startedAt start: UInt64, endedAt end: UInt64, lifetime: UInt64? = nil) {
    failures = 0
    let own = lifetime.map { $0 > .max - end ? .max : end + $0 }
    guard let over = [timeToLive.map { start &+ $0 }, own].compactMap(\.self).min() else {
      (nextRun, expiry) = (nil, nil)
      return
    }
    expiry = over
    nextRun = max(start &+ (over &- start) / 5 &* 4, end &+ Self.shortestPause)
  }

  /// A run gave none. Tried again after 1 s, 2 s, 4 s, …, 5 min.
  package mutating func failed(endedAt end: UInt64) {
    failures &+= 1
    nextRun = end &+ Self.backOff.time(after: failures)
  }

  /// An upstream has rejected the value, and another one is asked for: at once, unless one was rejected a short while ago; then
  /// after 1 s, 2 s, 4 s, …, 5 min.
  /// - Returns: whether it is at once.
  package mutating func rejected(at now: UInt64) -> Bool {
    if now &- lastRejection > Self.backOff.longest { rejections = 0 }
    lastRejection = now
    rejections &+= 1
    nextRun = now &+ Self.backOff.time(after: rejections - 1)
    expiry = nil
    return rejections == 1
  }

  /// The value's time is over.
  package mutating func expired() { expiry = nil }

  /// Runs at once what has failed: the administrator may have removed the cause.
  package mutating func hurry() {
    if failures > 0 { nextRun = 0 }
  }
}
