internal import Policy

/// Limits the log lines about callers that are not admitted, so that they cannot fill the log (T58).
package struct LogRateLimiter {
  private var since: UInt64 = 0
  private var lines = 0
  private var omitted: UInt64 = 0

  private static let interval: UInt64 = 10_000
  private static let maximumLines = 50

  package init() {}

  /// Counts the refusal of a request. Returns `true` if the refusal gets a log line.
  /// - Parameter report: gets the number of refusals that were not logged in the last interval, unless it is 0.
  package mutating func acquireLine(at now: UInt64, _ report: (UInt64) -> Void) -> Bool {
    if now >= since &+ LogRateLimiter.interval {
      reportOmitted(report)
      self = LogRateLimiter()
      since = now
    }
    lines += 1
    if lines <= LogRateLimiter.maximumLines { return true }
    omitted += 1
    return false
  }

  /// Calls `report` with the number of refusals that were not logged since the last call, unless it is 0.
  package mutating func reportOmitted(_ report: (UInt64) -> Void) {
    if omitted > 0 { report(omitted) }
    omitted = 0
  }
}

extension Refusal {
  /// Whether the request was refused only because of the caller's user.
  package var isOfUnadmittedCaller: Bool {
    switch self {
    case .policy(.callerUnknown), .policy(.callerNotAllowed): true
    default: false
    }
  }
}
