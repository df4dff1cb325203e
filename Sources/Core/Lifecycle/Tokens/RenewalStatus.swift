extension Renewal {
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
