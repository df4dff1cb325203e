/// When to ask whether a person has logged in on another device (RFC 8628 section 3.5). Pure: times in milliseconds of any
/// clock that only goes forward.
package struct DevicePolling: Sendable {
  /// What came of a poll, when it was no token and no refusal for other reasons.
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

  /// - Parameters:
  ///   - lifetime: `expires_in` of the device code.
  ///   - interval: nil: 5 s.
  package init(lifetime: UInt64, interval: UInt64?, at now: UInt64) {
    end = now
    self.interval = interval ?? 5_000
  }

  private let end: UInt64
  private var interval: UInt64

  /// The first one is not before an interval has passed.
  package var first: Step { .ask(at: end) }

  /// A poll was answered.
  package mutating func answered(_ answer: Answer, at now: UInt64) -> Step { .ended(.expired) }

  /// There was no answer, or a transient failure: longer after each one (section 3.5).
  package mutating func failed(at now: UInt64) -> Step { .ended(.expired) }
}
