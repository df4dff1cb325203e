internal import CLibuv

/// How fast the processor's counter runs.
///
/// A step of a loop is measured by that counter, since each request has several and a clock would cost more than the rest of
/// the measurement. A clock says now and then how many ticks are a millisecond.
struct TickClock {
  private(set) var ticksPerMillisecond: UInt64
  private var calibratedAt: (ticks: UInt64, nanoseconds: UInt64)

  /// Nanoseconds between two looks at the speed of the counter.
  private static let recalibration: UInt64 = 10_000_000_000

  init() {
    calibratedAt = (bearerd_ticks(), uv_hrtime())
    // A thread that loses the processor between two looks counts too much: the least of some is right.
    ticksPerMillisecond = (0..<3).map { _ in TickClock.measure() }.min() ?? 1
  }

  /// Ticks between two looks; 0 where the counter was set back, as on a machine that was moved.
  @inline(__always)
  static func elapsed(from start: UInt64, to end: UInt64) -> UInt64 { end > start ? end &- start : 0 }

  /// Measures again, if it is time. Returns whether the speed may be another one.
  mutating func calibrate(_ now: UInt64) -> Bool {
    let nanoseconds = uv_hrtime()
    let passed = nanoseconds &- calibratedAt.nanoseconds
    guard passed >= TickClock.recalibration else { return false }
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
