/// The outlook of a credential's token for others, who do not ask the machine for each request.
extension Renewal {
  /// How it stands at one moment. Times are those of the machine's clock.
  package struct Outlook: Sendable, Equatable {
    /// From then on a request is worth telling of, so that the token is renewed; nil: never.
    package var renewAt: UInt64?
    /// From then on no request goes out with the token; 0: there is none, `.max`: no end is known.
    package var usableUntil: UInt64 = 0
    /// The generation of the token in use, or of the one that was rejected last; 0: there is none.
    package var generation: UInt64 = 0
    package var isRenewing = false
    /// Why it is not renewed now; nil: it is, or can be.
    package var reason: Reason?
    /// In a row.
    package var failures = 0

    package init() {}
  }

  package func outlook(at now: UInt64) -> Outlook {
    var outlook = Outlook()
    outlook.generation = token?.generation ?? 0
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
