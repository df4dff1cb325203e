/// Limits the cost of the URLs in one response head (T60).
struct RewriteBudget {
  private var references = RewriteBudget.maximumReferences
  private var bytes = RewriteBudget.maximumBytes

  /// Maximum number of URLs in a head.
  static let maximumReferences = 2_048
  /// Maximum cost of checking the URLs in a head, in bytes (see `cost(of:)`).
  static let maximumBytes = 262_144

  /// Spends one URL of `length` bytes. Returns `false` if the budget is exhausted.
  mutating func spendReference(_ length: Int) -> Bool {
    references -= 1
    return references >= 0 && spend(length)
  }

  mutating func spend(_ length: Int) -> Bool {
    bytes -= length
    return bytes >= 0
  }

  mutating func spend(readings: [[UInt8]]) -> Bool { spend(RewriteBudget.cost(of: readings)) }

  /// Returns the cost of checking readings, in bytes: the length of each, and a fixed cost.
  static func cost(of readings: [[UInt8]]) -> Int { readings.reduce(0) { $0 + $1.count + 64 } }
}
