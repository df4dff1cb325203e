extension Renewal {
  /// The token in use: its times, and nothing of it.
  struct Token {
    let generation: UInt64
    /// nil: it does not expire.
    let renewAt: UInt64?
    let usableUntil: UInt64?
    /// The token lives long enough for its end to be no reason to ask less often.
    let isLasting: Bool

    /// - Parameters:
    ///   - since: when the server was asked, which counts from some moment after that.
    ///   - chance: any number, so that not everybody renews at the same time.
    init(generation: UInt64, _ granted: Granted, since: UInt64, _ settings: RenewalSettings, _ chance: UInt64) {
      self.generation = generation
      isLasting = granted.lifetime.map { $0 >= settings.lastingLifetime } ?? true
      guard let lifetime = granted.lifetime else {
        (renewAt, usableUntil) = (nil, nil)
        return
      }
      let end = since.saturating(lifetime - min(settings.skew, lifetime / 4))
      let lead = min(settings.lead, lifetime / 5)
      usableUntil = end
      renewAt = end - min(end, lead - (lead / 2).part(chance))
    }

    func isUsable(at now: UInt64) -> Bool { usableUntil.map { now < $0 } ?? true }
    func isDue(at now: UInt64) -> Bool { renewAt.map { now >= $0 } ?? false }
  }
}
