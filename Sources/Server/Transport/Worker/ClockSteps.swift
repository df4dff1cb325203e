/// Detects that the wall clock was set (T57), by comparing it with the uptime clock, which is never set. Sleep and
/// gradual corrections change both clocks, and are not reported.
struct ClockSteps {
  private var offset: Int64?

  /// Minimum change of the wall clock that is reported, in milliseconds.
  private static let minimumStep: Int64 = 1_000

  /// Returns by how many milliseconds the wall clock was set since the last call. Negative if it was set back. `nil` if
  /// it was not set, and for the first call. Both parameters are in milliseconds.
  mutating func step(calendar: Int64, uptime: Int64) -> Int64? {
    let before = offset
    let now = calendar &- uptime
    offset = now
    guard let before, (now &- before).magnitude >= Self.minimumStep else { return nil }
    return now &- before
  }
}
