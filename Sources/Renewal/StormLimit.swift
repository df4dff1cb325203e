/// So many renewals within a time, and no more: a server whose tokens are never accepted would be asked for ever.
struct StormLimit: Sendable {
  private var starts: [UInt64] = []
  private var isTold = false

  /// Counts one that begins now, unless there were too many: then none begins before the time that is returned.
  /// - Parameter tells: set the first time that it is so.
  mutating func begin(at now: UInt64, _ settings: RenewalSettings, tells: inout Bool) -> UInt64? {
    starts.removeAll { $0.saturating(settings.stormWindow) <= now }
    if starts.count >= settings.stormLimit {
      tells = !isTold
      isTold = true
      return starts[0].saturating(settings.stormWindow)
    }
    starts.append(now)
    isTold = false
    return nil
  }
}
