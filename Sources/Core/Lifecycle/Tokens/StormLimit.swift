/// So many renewals within a time, and no more: a server whose tokens are never accepted would be asked for ever.
struct StormLimit: Sendable {
  private var starts: [UInt64] = []

  /// Counts one that begins now, unless there were too many: then none begins before the time that is returned.
  mutating func begin(at now: UInt64, _ settings: RenewalSettings) -> UInt64? {
    starts.removeAll { $0.saturating(settings.stormWindow) <= now }
    if starts.count >= settings.stormLimit {
      return starts[0].saturating(settings.stormWindow)
    }
    starts.append(now)
    return nil
  }
}
