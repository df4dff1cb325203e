extension Renewal {
  /// The step of a renewal in progress, with the number and the time (`since`) of its token request.
  enum Work {
    case none
    case requesting(UInt64, since: UInt64)
    case storing(UInt64, Granted, since: UInt64)
    /// The granted token could not be written to disk, which will be tried again.
    case unstored(UInt64, Granted, since: UInt64)
    /// The granted token had already expired, and the next token request follows at this time.
    case pausing(until: UInt64)
  }

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

  /// State of the token at one moment. Times are on the clock of `Renewal`, in milliseconds.
  package struct Status: Sendable, Equatable {
    /// Time from which a request triggers a renewal. `nil` if there is no usable token or the token does not expire.
    package var renewAt: UInt64?
    /// Time from which no request is sent with the token; 0 if there is none or it was rejected, `.max` if its expiry
    /// is unknown.
    package var usableUntil: UInt64 = 0
    /// Version of the current token, even if it is unusable; 0 before the first token, and after a logout.
    package var tokenVersion: UInt64 = 0
    package var isRenewing = false
    /// Why the token cannot be renewed now; `nil` if it can be, or is being renewed.
    package var reason: Reason?
    package var failures = 0

    package init() {}
  }

  package func status(at now: UInt64) -> Status {
    var outlook = Status()
    outlook.tokenVersion = token?.version ?? 0
    if let token, !isRejected {
      outlook.renewAt = token.renewAt
      outlook.usableUntil = token.usableUntil ?? .max
    }
    outlook.isRenewing = isRenewing
    outlook.failures = failures
    var copy = self
    if !isRenewing, case .refused(let reason) = copy.requestWithoutToken(at: now) { outlook.reason = reason }
    return outlook
  }
}
