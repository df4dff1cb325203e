/// The steps that reading the places of one answer's head may still cost (T60). An upstream writes as many as it likes into one
/// field, and each may have to be resolved against the request's path, and read as other servers could.
struct RewriteBudget {
  private var places = RewriteBudget.mostPlaces
  private var bytes = RewriteBudget.mostBytes

  /// A page of an API names four, the preloads of a large site some dozens, and a head has 1,024 fields by default.
  static let mostPlaces = 2_048
  /// As much as a response's head has by default. A long path that is resolved again and again finds an end here, or one of many
  /// readings.
  static let mostBytes = 262_144

  /// - Returns: whether one of that length may be read.
  mutating func spendReference(_ length: Int) -> Bool {
    places -= 1
    return places >= 0 && take(length)
  }

  /// - Returns: whether so many bytes may be walked for it.
  mutating func take(_ length: Int) -> Bool {
    bytes -= length
    return bytes >= 0
  }

  /// Takes the steps for paths that other servers could read.
  mutating func take(readings: [[UInt8]]) -> Bool { take(RewriteBudget.cost(of: readings)) }

  /// A short one costs more than its bytes.
  static func cost(of readings: [[UInt8]]) -> Int { readings.reduce(0) { $0 + $1.count + 64 } }
}
