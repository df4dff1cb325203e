/// Detects that the wall clock was set (T57).
struct ClockSteps {
  private var offset: Int64?

  /// Minimum change of the wall clock that is reported, in milliseconds.
  private static let minimumStep: Int64 = 1_000

  /// Returns by how many milliseconds the wall clock was set since the last call. `nil` if it was not set.
  mutating func step(calendar: Int64, uptime: Int64) -> Int64? {
    let before = offset
    let now = calendar &- uptime
    offset = now
    guard let before, (now &- before).magnitude >= Self.minimumStep else { return nil }
    return now &- before
  }
}
