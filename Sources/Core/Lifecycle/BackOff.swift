/// Exponential back-off: the wait doubles with each failure in a row. Times are in milliseconds.
package struct BackOff: Sendable, Equatable {
  /// The wait after the first failure.
  package let first: UInt64
  /// Upper bound of the wait.
  package let longest: UInt64

  package init(first: UInt64, longest: UInt64) { (self.first, self.longest) = (first, longest) }

  /// Returns the wait after this number of failures in a row, or 0 if there were none.
  package func time(after failures: Int) -> UInt64 {
    if failures <= 0 { return 0 }
    return min(longest, first.saturating(times: 1 << UInt64(min(failures - 1, 62))))
  }

  /// Returns the wait minus up to half of it, so that clients that failed together do not retry together.
  /// - Parameter chance: a random number from the whole range; larger numbers give shorter waits.
  package func time(after failures: Int, chance: UInt64) -> UInt64 {
    let time = time(after: failures)
    return time - (time / 2).part(chance)
  }
}
