internal import System
internal import TLS

/// Notices that the calendar's clock has been set (T57): it stands elsewhere then beside the clock that nobody sets. Sleep and
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

extension Worker {
  /// For whoever judges what was proved at an earlier time.
  func lookAtClocks() -> Moment {
    let calendar = Clock.now
    let uptime = Int64(clamping: BootTimer.now)
    let milliseconds = calendar.seconds &* 1_000 &+ calendar.microseconds / 1_000
    if let step = clockSteps.step(calendar: milliseconds, uptime: uptime) {
      let seconds = Int64((step.magnitude &+ 500) / 1_000) &* step.signum()
      // Each worker notices it at its next request.
      guard journal.share?.isNews("clock", "\(seconds) \(uptime / 60_000)") ?? true else {
        return Moment(calendar: calendar.seconds, uptime: uptime / 1_000)
      }
      journal.event(
        .notice, "clock-stepped", ("seconds", String(seconds)),
        ("detail", "certificates and pins are judged by the time that it shows now"))
    }
    return Moment(calendar: calendar.seconds, uptime: uptime / 1_000)
  }
}
