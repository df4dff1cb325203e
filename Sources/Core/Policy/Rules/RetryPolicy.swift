/// When and how often bearerd sends a request of a service again after an upstream failure.
package struct RetryPolicy: Sendable, Equatable {
  /// The statuses that `on` may list.
  package static var allowedStatuses: [Int] { [429, 502, 503, 504] }

  /// One bit for each listed status, in the order of `allowedStatuses`.
  private var statuses: UInt8
  /// Maximum number of additional attempts.
  package var attempts: Int
  /// How long after the first failure an additional attempt may begin, in milliseconds.
  package var atMost: UInt64
  /// Maximum length of a request body to keep, in bytes.
  package var replayBuffer: Int

  package init(
    on statuses: [Int] = RetryPolicy.allowedStatuses, attempts: Int = 2, atMost: UInt64 = 10_000,
    replayBuffer: Int = 65_536
  ) {
    (self.attempts, self.atMost, self.replayBuffer) = (attempts, atMost, replayBuffer)
    self.statuses = statuses.reduce(0) { $0 | RetryPolicy.bit($1) }
  }

  /// Whether `on` lists the status of a response.
  package func includes(_ status: Int) -> Bool { statuses & RetryPolicy.bit(status) != 0 }

  /// The listed statuses, in ascending order.
  package var listed: [Int] { RetryPolicy.allowedStatuses.filter(includes) }

  private static func bit(_ status: Int) -> UInt8 {
    switch status {
    case 429: 1
    case 502: 2
    case 503: 4
    case 504: 8
    default: 0
    }
  }
}
