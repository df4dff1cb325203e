/// Counts durations in buckets. The bounds never change.
package struct Histogram: Sendable, Equatable {
  /// Upper bounds of the buckets in microseconds.
  package static let bounds: [UInt64] = [
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000,
    5_000_000, 10_000_000, 20_000_000, 50_000_000, 100_000_000,
  ]

  /// Number of durations in each bucket. The last bucket counts durations above all bounds.
  package private(set) var counts = [UInt64](repeating: 0, count: Histogram.bounds.count + 1)
  /// Sum of all durations, in microseconds.
  package private(set) var sum: UInt64 = 0

  package init() {}

  package mutating func observe(microseconds: UInt64) {
    var bucket = 0
    let bounds = Histogram.bounds.span
    while bucket < bounds.count, bounds[bucket] < microseconds { bucket &+= 1 }
    counts[bucket] &+= 1
    sum &+= microseconds
  }

  package mutating func add(_ other: Histogram) {
    for index in counts.indices { counts[index] &+= other.counts[index] }
    sum &+= other.sum
  }
}
