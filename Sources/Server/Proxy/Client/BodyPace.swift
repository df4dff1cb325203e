/// Measures whether a request body arrives fast enough (T54).
struct BodyPace {
  /// Start of the current window in milliseconds of the loop's clock. `nil` while the measurement is paused.
  private var since: UInt64?
  private var bytes: UInt64 = 0

  /// Pauses the measurement while the client is not expected to send.
  mutating func pause() { since = nil }

  /// Returns whether the body was slower than `rate` bytes per second in the last `window` milliseconds.
  mutating func isTooSlow(total: UInt64, now: UInt64, window: UInt64, rate: Int) -> Bool {
    guard let since, now >= since, total >= bytes else {
      since = now
      bytes = total
      return false
    }
    guard now - since >= window else { return false }
    let wanted = UInt64(max(0, rate)).multipliedReportingOverflow(by: window)
    if wanted.overflow || total - bytes < wanted.partialValue / 1_000 { return true }
    self.since = now
    bytes = total
    return false
  }
}
