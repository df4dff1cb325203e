/// Decides when to poll for a person's login on another device (RFC 8628 section 3.5). Times are in milliseconds.
package struct DevicePolling: Sendable {
  /// The error code in the response to a poll, if it is one of RFC 8628 section 3.5.
  package enum Outcome: Sendable, Equatable {
    case pending
    case slowDown
    case denied
    case expired
  }

  package enum Step: Sendable, Equatable {
    case poll(at: UInt64)
    case ended(End)
  }

  package enum End: Sendable, Equatable { case denied, expired }

  /// Minimum milliseconds between polls, even if the server allows less.
  private static let minInterval: UInt64 = 1_000
  private static let defaultInterval: UInt64 = 5_000
  private static let maxInterval: UInt64 = 300_000

  private let begin: UInt64
  private let end: UInt64
  private var interval: UInt64

  /// - Parameters:
  ///   - lifetime: milliseconds from the request until the device code expires (`expires_in`).
  ///   - interval: the server's interval between polls. `nil` means 5 s.
  ///   - now: when the code was requested.
  package init(lifetime: UInt64, interval: UInt64?, at now: UInt64) {
    let (end, overflows) = now.addingReportingOverflow(lifetime)
    (begin, self.end) = (now, overflows ? .max : end)
    self.interval = min(max(interval ?? Self.defaultInterval, Self.minInterval), Self.maxInterval)
  }

  /// The first poll, after one interval.
  package var first: Step { next(at: begin) }

  package mutating func received(_ outcome: Outcome, at now: UInt64) -> Step {
    switch outcome {
    case .pending: return next(at: now)
    case .slowDown:
      interval = min(interval + 5_000, Self.maxInterval)
      return next(at: now)
    case .denied: return .ended(.denied)
    case .expired: return .ended(.expired)
    }
  }

  /// Returns the step after a poll without a usable response.
  package mutating func failed(at now: UInt64) -> Step {
    interval = min(2 * interval, Self.maxInterval)
    return next(at: now)
  }

  private func next(at now: UInt64) -> Step {
    let (time, overflows) = now.addingReportingOverflow(interval)
    return overflows || time >= end ? .ended(.expired) : .poll(at: time)
  }
}
