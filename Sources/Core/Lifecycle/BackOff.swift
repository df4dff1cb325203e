/// Exponential back-off: the wait doubles with each failure in a row. Times are in milliseconds.
package struct BackOff: Sendable, Equatable {
  /// Milliseconds to wait after the first failure in a row.
  package let first: UInt64
  /// Maximum wait in milliseconds.
  package let longest: UInt64

  package init(first: UInt64, longest: UInt64) { (self.first, self.longest) = (first, longest) }

  /// Returns the milliseconds to wait after this number of failures in a row.
  package func time(after failures: Int) -> UInt64 {
    if failures <= 0 { return 0 }
    return min(longest, first.saturating(times: 1 << UInt64(min(failures - 1, 62))))
  }

  /// Returns the milliseconds to wait, minus a random part of up to half of them.
  /// - Parameter chance: a random number from the whole range.
  package func time(after failures: Int, chance: UInt64) -> UInt64 {
    // Clients that failed together should not retry together.
    let time = time(after: failures)
    return time - (time / 2).randomPart(chance)
  }
}
