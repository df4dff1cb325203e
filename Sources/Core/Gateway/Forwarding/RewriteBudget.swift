/// Limits the cost of the URLs in one response head (T60). An upstream can send any number of URLs in one field. Each
/// may have to be resolved against the request's path and checked in several readings.
struct RewriteBudget {
  private var references = RewriteBudget.maximumReferences
  private var bytes = RewriteBudget.maximumBytes

  /// Maximum number of URLs in a head. Fields with further URLs are dropped. Ordinary heads have at most several dozen.
  static let maximumReferences = 2_048
  /// Maximum cost of checking the URLs in a head: the bytes of the URLs, of the resolved paths and of their readings.
  /// Fields with further URLs are dropped.
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
