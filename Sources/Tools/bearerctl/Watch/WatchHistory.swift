internal import StatusModel
/// The last status responses of the daemon, for `bearerctl status --watch`.
struct WatchHistory {
  private(set) var samples: [DaemonStatus] = []
  private static let limit = 400
  /// Period over which percentiles are computed, in milliseconds.
  private static let window: UInt64 = 10_000

  var last: DaemonStatus? { samples.last }

  mutating func add(_ sample: DaemonStatus) {
    // The daemon was restarted, and its counters began at 0.
    if let last = samples.last, last.started != sample.started || last.milliseconds > sample.milliseconds {
      samples = []
    }
    samples.append(sample)
    if samples.count > WatchHistory.limit { samples.removeFirst() }
  }

  /// Returns the requests per second between consecutive status responses, the newest last.
  func rates(of service: String) -> [Double] {
    zip(samples, samples.dropFirst()).map { earlier, later in
      guard let before = earlier.service(service), let after = later.service(service),
        after.requests >= before.requests, later.milliseconds > earlier.milliseconds
      else { return 0 }
      return Double(after.requests - before.requests) * 1_000 / Double(later.milliseconds - earlier.milliseconds)
    }
  }

  /// Returns a percentile (0 to 1) of the latest response times, in microseconds; `nil` without requests.
  func quantile(_ share: Double, of service: String) -> Double? {
    guard let last, let after = last.service(service) else { return nil }
    let base = samples.last { last.milliseconds - $0.milliseconds >= WatchHistory.window } ?? samples.first
    guard let before = base?.service(service), before.responseHead.count == after.responseHead.count else { return nil }
    let counts = zip(after.responseHead, before.responseHead).map { $0 > $1 ? Double($0 - $1) : 0 }
    return WatchHistory.quantile(share, counts: counts, bounds: last.bounds.map { Double($0) })
  }

  /// Computes a percentile (0 to 1) from the counts and upper bounds of histogram buckets.
  static func quantile(_ share: Double, counts: [Double], bounds: [Double]) -> Double? {
    let wanted = counts.reduce(0, +) * share
    guard wanted > 0, counts.count == bounds.count + 1 else { return nil }
    var seen = 0.0
    for (index, count) in counts.enumerated() {
      if seen + count >= wanted, count > 0 {
        guard index < bounds.count else { break }
        let lower = index == 0 ? 0 : bounds[index - 1]
        return lower + (bounds[index] - lower) * (wanted - seen) / count
      }
      seen += count
    }
    return bounds.last
  }
}

extension DaemonStatus {
  fileprivate func service(_ name: String) -> Service? { services.first { $0.name == name } }
}

/// Draws numbers as bars: ▁▂▃▄▅▆▇█.
struct Sparkline {
  private static let bars = Array("▁▂▃▄▅▆▇█")

  /// Returns the last `width` numbers as bars, aligned right.
  static func text(_ numbers: [Double], width: Int) -> String {
    let shown = numbers.suffix(max(0, width))
    let most = max(shown.max() ?? 0, 1)
    let line = shown.map { number in
      number <= 0 ? bars[0] : bars[min(bars.count - 1, 1 + Int(number / most * Double(bars.count - 2) + 0.5))]
    }
    return String(repeating: " ", count: max(0, width - shown.count)) + String(line)
  }
}
