/// Limits the size and rate of the interim responses (1xx) in one exchange (T26).
struct InterimBudget: Sendable {
  /// Remaining number of interim responses, in thousandths.
  private var count = InterimBudget.maximumBurst * 1_000
  private var bytes = InterimBudget.maximumBurstBytes
  /// The loop's time of the last interim response, in milliseconds. `nil` before the first one.
  private var lastTime: UInt64?

  /// Maximum number of interim responses in a burst.
  static let maximumBurst: UInt64 = 256
  private static let countPerSecond: UInt64 = 10
  /// Maximum length of the heads in a burst, in bytes.
  static let maximumBurstBytes: UInt64 = 1 << 20
  private static let bytesPerSecond: UInt64 = 16_384

  /// Spends the budget for one interim response. Returns `false` if the upstream sends too much.
  /// - Parameter now: the loop's time, in milliseconds.
  mutating func spend(_ length: Int, at now: UInt64) -> Bool {
    if let lastTime, now > lastTime {
      // One day fills both budgets.
      let elapsed = min(now &- lastTime, 86_400_000)
      count = min(InterimBudget.maximumBurst &* 1_000, count &+ elapsed &* InterimBudget.countPerSecond)
      bytes = min(InterimBudget.maximumBurstBytes, bytes &+ elapsed &* InterimBudget.bytesPerSecond / 1_000)
    }
    lastTime = now
    guard count >= 1_000, bytes >= UInt64(length) else { return false }
    count &-= 1_000
    bytes &-= UInt64(length)
    return true
  }
}
