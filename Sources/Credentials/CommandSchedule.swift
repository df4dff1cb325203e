/// When a command runs, and until when its value counts. Times are milliseconds of one clock, which only goes forward.
package struct CommandSchedule: Sendable, Equatable {
  private let timeToLive: UInt64?
  /// nil: not again.
  package private(set) var nextRun: UInt64? = 0
  /// nil: there is no value, or it counts for ever.
  package private(set) var expiry: UInt64?
  private var failures: UInt64 = 0

  package init(_ command: SecretCommand) {
    timeToLive = command.timeToLive
  }

  /// Milliseconds between the end of a run and the next one, at least.
  private static let shortestPause: UInt64 = 500
  private static let firstPause: UInt64 = 1_000
  private static let longestPause: UInt64 = 300_000

  /// A run gave a value. The next one comes early enough to be tried more than once.
  package mutating func succeeded(startedAt start: UInt64, endedAt end: UInt64) {
    failures = 0
    guard let timeToLive else {
      (nextRun, expiry) = (nil, nil)
      return
    }
    expiry = start &+ timeToLive
    nextRun = max(start &+ timeToLive / 5 &* 4, end &+ Self.shortestPause)
  }

  /// A run gave none. Tried again after 1 s, 2 s, 4 s, …, 5 min.
  package mutating func failed(endedAt end: UInt64) {
    nextRun = end &+ min(Self.firstPause << min(failures, 20), Self.longestPause)
    failures &+= 1
  }

  /// The value's time is over.
  package mutating func expired() { expiry = nil }

  /// Somebody has looked after what was wrong, perhaps.
  package mutating func hurry() {
    if failures > 0 { nextRun = 0 }
  }
}
