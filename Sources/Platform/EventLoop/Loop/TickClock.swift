internal import CLibuv

// Reading a clock for each step of a request would cost more than the rest of the measurement.
/// Measures the steps of a loop with the processor's tick counter.
struct TickClock {
  private(set) var ticksPerMillisecond: UInt64
  private var calibratedAt: (ticks: UInt64, nanoseconds: UInt64)

  /// Nanoseconds between two calibrations.
  private static let calibrationInterval: UInt64 = 10_000_000_000

  init() {
    calibratedAt = (bearerd_ticks(), uv_hrtime())
    // A thread that is preempted during a measurement counts too many ticks, so the minimum is right.
    ticksPerMillisecond = (0..<3).map { _ in TickClock.measure() }.min() ?? 1
  }

  /// Returns the ticks between two readings; 0 if the counter was set back.
  @inline(__always)
  static func elapsed(from start: UInt64, to end: UInt64) -> UInt64 { end > start ? end &- start : 0 }

  /// Measures the tick rate again if that is due, and returns `true` if the rate may have changed.
  mutating func calibrate(_ now: UInt64) -> Bool {
    let nanoseconds = uv_hrtime()
    let passed = nanoseconds &- calibratedAt.nanoseconds
    guard passed >= TickClock.calibrationInterval else { return false }
    let ticks = Double(TickClock.elapsed(from: calibratedAt.ticks, to: now))
    calibratedAt = (now, nanoseconds)
    guard ticks > 0 else { return false }
    ticksPerMillisecond = max(1, UInt64(ticks * 1_000_000 / Double(passed)))
    return true
  }

  private static func measure() -> UInt64 {
    let (ticks, began) = (bearerd_ticks(), uv_hrtime())
    var now = began
    while now < began + 50_000 { now = uv_hrtime() }
    return max(1, (bearerd_ticks() &- ticks) &* 1_000_000 / (now - began))
  }
}
