/// The failures that were reported in the last 24 hours.
package struct ReportHistory: Sendable {
  package typealias Key = VerificationFailure.Key

  /// The time of each report, in milliseconds.
  private var times: [Key: UInt64] = [:]
  /// Oldest first.
  private var order: [Key] = []

  /// Maximum number of failures. A further failure replaces the oldest.
  package static let limit = 256
  /// Minimum milliseconds between two reports of the same failure.
  package static let period: UInt64 = 24 * 3_600_000

  package init() {}

  /// Adds a failure. Returns `false` if it was reported less than 24 hours ago.
  /// - Parameter now: milliseconds of a clock that never goes back.
  package mutating func add(_ key: Key, at now: UInt64) -> Bool {
    if let last = times[key] {
      // Another worker can have read the clock a moment later.
      if now < last &+ Self.period { return false }
      order.removeAll { $0 == key }
    } else if order.count >= Self.limit {
      times[order.removeFirst()] = nil
    }
    order.append(key)
    times[key] = now
    return true
  }
}
