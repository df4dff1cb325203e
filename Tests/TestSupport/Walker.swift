import Foundation

/// A function that walks untrusted bytes, fields or lists, and its permitted cost (T60). Add a row for each new
/// function of this kind.
package struct Walker: Sendable, CustomStringConvertible {
  /// The source file of the function, without its suffix.
  let file: String
  let name: String
  /// Size in bytes of the largest input that the limits allow.
  let maximumBytes: Int
  /// Permitted CPU time per byte in a release build, in nanoseconds.
  let nanoseconds: Double
  /// Creates an input of this size, and returns the function to measure.
  private let prepare: @Sendable (_ bytes: Int) throws -> () -> Void

  /// - Parameters:
  ///   - file: a source file without its suffix.
  ///   - nanoseconds: permitted time per byte. By default, the largest input takes `goal`.
  package init(
    _ file: String, _ name: String, upTo maximumBytes: Int, nanoseconds: Double? = nil,
    _ prepare: @escaping @Sendable (_ bytes: Int) throws -> () -> Void
  ) {
    self.file = file
    self.name = name
    self.maximumBytes = maximumBytes
    self.nanoseconds = nanoseconds ?? Self.goal / Double(maximumBytes)
    self.prepare = prepare
  }

  package var description: String { "\(file): \(name)" }

  /// CPU time that one input may take on the event loop, in nanoseconds.
  static let goal = 2_000_000.0
  /// Factor for debug builds, which check every step and inline nothing, and for sanitizers.
  private static let buildFactor: Double = {
    #if DEBUG
      isSanitized ? 400 : 100
    #else
      isSanitized ? 30 : 3
    #endif
  }()
  /// The largest permitted growth of the cost for four times the input. Quadratic cost would grow by 16.
  private static let maximumGrowth = 7.0

  /// Measures the largest input and a quarter of it. Returns `nil` if the cost is linear and permitted, otherwise the
  /// problem.
  package func complaint() throws -> String? {
    // Other processes can disturb a measurement: it is repeated up to twice.
    for _ in 0..<2 where try measure() == nil { return nil }
    return try measure()
  }

  private func measure() throws -> String? {
    let small = try cost(of: largest / 4)
    let large = try cost(of: largest)
    if ProcessInfo.processInfo.environment["BEARERD_COSTS"] != nil {
      print(
        "cost \(description): \(Int(large / 1000)) µs of \(largest) bytes, \(Int(small / 1000)) of a quarter")
    }
    // For the largest possible input: some costs are bounded before.
    let allowed = nanoseconds * Double(maximumBytes) * Self.buildFactor
    if large > allowed { return "\(Int(large)) ns for \(largest) bytes, more than \(Int(allowed))" }
    if large > Self.maximumGrowth * max(small, Self.measurable) {
      return
        "not linear: \(Int(small)), \(Int(large)) ns for \(largest / 4), \(largest) bytes"
    }
    return nil
  }

  /// The size of the larger measurement. A slow debug build measures a quarter.
  private var largest: Int {
    #if DEBUG
      maximumBytes / 4
    #else
      maximumBytes
    #endif
  }

  /// Shortest time from which growth can be measured, in nanoseconds.
  private static let measurable = 20_000.0

  /// Returns the best CPU time of three runs, in nanoseconds.
  private func cost(of bytes: Int) throws -> Double {
    let walk = try prepare(bytes)
    var best = Double.infinity
    for _ in 0..<3 {
      let start = threadTime()
      walk()
      best = min(best, Double(threadTime() - start))
    }
    return best
  }
}

/// Returns the CPU time of this thread, in nanoseconds.
package func threadTime() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Returns a text repeated and cut to this number of bytes.
package func repeated(_ text: String, bytes: Int) -> [UInt8] {
  let text = Array(text.utf8)
  return (0..<bytes).map { text[$0 % text.count] }
}
