/// Whether a request's body comes fast enough for the place that it takes. A deadline for silence alone is moved by every
/// single byte (T54).
struct BodyPace {
  /// Milliseconds of the loop's clock; nil: the time does not run.
  private var since: UInt64?
  private var bytes: UInt64 = 0

  /// Stops the watch: the client is not to send just now.
  mutating func rest() { since = nil }

  /// - Parameters:
  ///   - total: body bytes so far.
  ///   - rate: bytes per second, on average over `window` milliseconds.
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
