/// The interim responses (1xx) that one exchange may still have (T26): bounded by bytes and by rate. Their number is not bounded,
/// because an upstream may send one every few seconds for as long as the request takes.
struct InterimBudget: Sendable {
  /// In thousandths, so that short times bring a part of one.
  private var count = InterimBudget.mostAtOnce * 1_000
  private var bytes = InterimBudget.mostBytesAtOnce
  /// The loop's time of the last response, in milliseconds; `nil` before the first one.
  private var lastTime: UInt64?

  /// Interim responses that may come at once, and how many more each second brings.
  static let mostAtOnce: UInt64 = 256
  private static let countPerSecond: UInt64 = 10
  /// Bytes of their heads that may come at once, and how many more each second brings.
  static let mostBytesAtOnce: UInt64 = 1 << 20
  private static let bytesPerSecond: UInt64 = 16_384

  /// Returns `false` if the upstream sends too much.
  /// - Parameters:
  ///   - length: bytes of the head.
  ///   - now: the loop's time, in milliseconds.
  mutating func take(_ length: Int, at now: UInt64) -> Bool {
    if let lastTime, now > lastTime {
      // A day fills both.
      let elapsed = min(now &- lastTime, 86_400_000)
      count = min(InterimBudget.mostAtOnce &* 1_000, count &+ elapsed &* InterimBudget.countPerSecond)
      bytes = min(InterimBudget.mostBytesAtOnce, bytes &+ elapsed &* InterimBudget.bytesPerSecond / 1_000)
    }
    lastTime = now
    guard count >= 1_000, bytes >= UInt64(length) else { return false }
    count &-= 1_000
    bytes &-= UInt64(length)
    return true
  }
}
