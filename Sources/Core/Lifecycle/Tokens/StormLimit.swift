/// Limits the renewals per time window. Otherwise a token server whose tokens no upstream accepts would be asked without end.
struct StormLimit: Sendable {
  private var starts: [UInt64] = []

  /// Counts a renewal that begins now. If there were too many, returns the time before which none may begin.
  mutating func begin(at now: UInt64, _ settings: RenewalSettings) -> UInt64? {
    starts.removeAll { $0.saturating(settings.stormWindow) <= now }
    if starts.count >= settings.stormLimit {
      return starts[0].saturating(settings.stormWindow)
    }
    starts.append(now)
    return nil
  }
}
