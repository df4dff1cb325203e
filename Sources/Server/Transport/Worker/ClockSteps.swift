/// Notices that the calendar's clock has been set (T57): it stands elsewhere then beside the clock that is never set. Sleep and
/// gentle corrections move both.
struct ClockSteps {
  private var distance: Int64?

  private static let least: Int64 = 1_000

  /// By how many milliseconds, forwards, since this was asked last; nil: not at all, or never asked.
  mutating func step(calendar: Int64, uptime: Int64) -> Int64? {
    let before = distance
    let now = calendar &- uptime
    distance = now
    guard let before, (now &- before).magnitude >= Self.least else { return nil }
    return now &- before
  }
}
