extension Renewal {
  /// State of the token at one moment, for workers that do not call `Renewal` for each request. Times as in `Renewal`.
  package struct Outlook: Sendable, Equatable {
    /// From this time on, a request triggers a renewal. `nil` if requests never do.
    package var renewAt: UInt64?
    /// Time from which no request is sent with the token: 0 without a token, `.max` if the token has no known expiry.
    package var usableUntil: UInt64 = 0
    /// Version of the token in use or of the last rejected token. 0 if there is none.
    package var generation: UInt64 = 0
    package var isRenewing = false
    /// Why the token cannot be renewed now. `nil` if it can be, or is being renewed.
    package var reason: Reason?
    /// Failed renewals in a row.
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
