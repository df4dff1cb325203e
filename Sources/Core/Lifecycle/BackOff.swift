/// How long to wait after failures in a row: after each twice as long as after the one before. Times are milliseconds.
package struct BackOff: Sendable, Equatable {
  /// After the first failure.
  package let first: UInt64
  /// Never longer, however many there were.
  package let longest: UInt64

  package init(first: UInt64, longest: UInt64) { (self.first, self.longest) = (first, longest) }

  /// The wait after so many failures in a row; none: 0.
  package func time(after failures: Int) -> UInt64 {
    if failures <= 0 { return 0 }
    return min(longest, first.saturating(times: 1 << UInt64(min(failures - 1, 62))))
  }

  /// A time shorter by up to half, so that those who failed together do not come again together.
  /// - Parameter chance: drawn from all numbers; the larger, the shorter.
  package func time(after failures: Int, chance: UInt64) -> UInt64 {
    let time = time(after: failures)
    return time - (time / 2).part(chance)
  }
}
