/// Limits the renewals per time window, for the case that an upstream rejects every new token.
struct RenewalRateLimit: Sendable {
  private var starts: [UInt64] = []

  /// Counts a renewal that begins now; if the limit is reached, returns the time at which it may begin, otherwise
  /// `nil`.
  mutating func begin(at now: UInt64, _ settings: RenewalSettings) -> UInt64? {
    starts.removeAll { $0.saturating(settings.renewalWindow) <= now }
    if starts.count >= settings.maxRenewals {
      return starts[0].saturating(settings.renewalWindow)
    }
    starts.append(now)
    return nil
  }
}
