internal import Policy

/// Callers who are not admitted shall not write the log full: so many of their requests have a line of their own, and the
/// metrics have all (T58).
package struct LogRateLimiter {
  private var since: UInt64 = 0
  private var lines = 0
  private var omitted: UInt64 = 0

  private static let interval: UInt64 = 10_000
  private static let mostLines = 50

  package init() {}

  /// Whether the next refusal of a stranger gets a line.
  /// - Parameters:
  ///   - now: milliseconds of the loop's clock.
  ///   - tell: gets the number of those that had none, when a new interval begins.
  package mutating func takeLine(at now: UInt64, _ tell: (UInt64) -> Void) -> Bool {
    if now >= since &+ LogRateLimiter.interval {
      reportOmitted(tell)
      self = LogRateLimiter()
      since = now
    }
    lines += 1
    if lines <= LogRateLimiter.mostLines { return true }
    omitted += 1
    return false
  }

  /// Reports the number of requests that had no line since, if there are any.
  package mutating func reportOmitted(_ tell: (UInt64) -> Void) {
    if omitted > 0 { tell(omitted) }
    omitted = 0
  }
}

extension Refusal {
  /// The kernel's word on who asks was enough for it.
  package var isOfStranger: Bool {
    switch self {
    case .policy(.callerUnknown), .policy(.callerNotAllowed): true
    default: false
    }
  }
}
