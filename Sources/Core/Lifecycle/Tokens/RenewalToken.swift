extension Renewal {
  struct Token {
    let version: UInt64
    /// Time from which a request triggers a renewal; `nil` if the token does not expire.
    let renewAt: UInt64?
    let usableUntil: UInt64?
    /// Whether the token lives so long that its renewals do not count towards `maxRenewals`.
    let isLasting: Bool

    /// - Parameters:
    ///   - since: time of the token request.
    ///   - chance: a random number, so that not all daemons renew at the same time.
    init(version: UInt64, _ granted: Granted, since: UInt64, _ settings: RenewalSettings, _ chance: UInt64) {
      self.version = version
      isLasting = granted.lifetime.map { $0 >= settings.lastingLifetime } ?? true
      guard let lifetime = granted.lifetime else {
        (renewAt, usableUntil) = (nil, nil)
        return
      }
      let end = since.saturating(lifetime - min(settings.skew, lifetime / 4))
      let lead = min(settings.lead, lifetime / 5)
      usableUntil = end
      renewAt = end - min(end, lead - (lead / 2).randomPart(chance))
    }

    func isUsable(at now: UInt64) -> Bool { usableUntil.map { now < $0 } ?? true }
    func isDue(at now: UInt64) -> Bool { renewAt.map { now >= $0 } ?? false }
  }
}
