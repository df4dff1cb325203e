/// When to ask whether a person has logged in on another device (RFC 8628 section 3.5). Pure: times in milliseconds of any
/// clock that only goes forward.
package struct DevicePolling: Sendable {
  /// The outcome of a poll, when it was no token and no refusal for other reasons.
  package enum Answer: Sendable, Equatable {
    /// `authorization_pending`
    case pending
    case slowDown
    /// `access_denied`
    case denied
    /// `expired_token`
    case expired
  }

  package enum Step: Sendable, Equatable {
    /// Not before this time.
    case ask(at: UInt64)
    case ended(End)
  }

  package enum End: Sendable, Equatable { case denied, expired }

  /// The shortest interval: a server that says 0 does not mean it.
  private static let shortest: UInt64 = 1_000
  private static let usual: UInt64 = 5_000
  private static let longest: UInt64 = 300_000

  private let begin: UInt64
  private let end: UInt64
  private var interval: UInt64

  /// - Parameters:
  ///   - lifetime: `expires_in` of the device code.
  ///   - interval: nil: 5 s.
  ///   - now: when the code was asked for.
  package init(lifetime: UInt64, interval: UInt64?, at now: UInt64) {
    let (end, isTooMuch) = now.addingReportingOverflow(lifetime)
    (begin, self.end) = (now, isTooMuch ? .max : end)
    self.interval = min(max(interval ?? Self.usual, Self.shortest), Self.longest)
  }

  /// The first step: to ask after one interval, since no person is faster.
  package var first: Step { next(at: begin) }

  /// A poll was answered.
  package mutating func answered(_ answer: Answer, at now: UInt64) -> Step {
    switch answer {
    case .pending: return next(at: now)
    case .slowDown:
      interval = min(interval + 5_000, Self.longest)
      return next(at: now)
    case .denied: return .ended(.denied)
    case .expired: return .ended(.expired)
    }
  }

  /// There was no answer, or a transient failure: half as often from now on.
  package mutating func failed(at now: UInt64) -> Step {
    interval = min(2 * interval, Self.longest)
    return next(at: now)
  }

  private func next(at now: UInt64) -> Step {
    let (time, isTooMuch) = now.addingReportingOverflow(interval)
    return isTooMuch || time >= end ? .ended(.expired) : .ask(at: time)
  }
}
