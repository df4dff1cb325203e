import Foundation

/// A function that walks bytes, fields or lists from outside, and what it may cost (T60): one row of a table. Add a row for each new
/// one.
package struct Walker: Sendable, CustomStringConvertible {
  /// The source file that it stands in, without its suffix, and what of it is walked.
  let file: String
  let name: String
  /// Bytes of the largest input that the limits let through.
  let most: Int
  /// Thread CPU per byte of input, of a release build.
  let nanoseconds: Double
  /// Makes an input of that many bytes, and says what is to be measured.
  private let prepare: @Sendable (_ bytes: Int) throws -> () -> Void

  /// - Parameters:
  ///   - file: as in `Sources`, without its suffix.
  ///   - nanoseconds: as many as stay below the goal, unless said otherwise.
  package init(
    _ file: String, _ name: String, upTo most: Int, nanoseconds: Double? = nil,
    _ prepare: @escaping @Sendable (_ bytes: Int) throws -> () -> Void
  ) {
    self.file = file
    self.name = name
    self.most = most
    self.nanoseconds = nanoseconds ?? Self.goal / Double(most)
    self.prepare = prepare
  }

  package var description: String { "\(file): \(name)" }

  /// Nanoseconds of thread CPU for which one input may keep the loop.
  static let goal = 2_000_000.0
  /// A build for debugging checks every step, and inlines nothing. Sanitizers are slower still.
  private static let slowness: Double = {
    #if DEBUG
      isSanitized ? 400 : 100
    #else
      isSanitized ? 30 : 3
    #endif
  }()
  /// Four times the input may cost so many times as much: what is quadratic costs sixteen times as much.
  private static let mostGrowth = 7.0

  /// What the largest input costs, and a quarter of it: linear, and within the constant.
  /// - Returns: what is wrong; nil: nothing.
  package func complaint() throws -> String? {
    // A machine that does something else in between is measured again.
    for _ in 0..<2 where try judge() == nil { return nil }
    return try judge()
  }

  private func judge() throws -> String? {
    let small = try cost(of: largest / 4)
    let large = try cost(of: largest)
    if ProcessInfo.processInfo.environment["BEARERD_COSTS"] != nil {
      print(
        "cost \(description): \(Int(large / 1000)) µs of \(largest) bytes, \(Int(small / 1000)) of a quarter")
    }
    // Of the largest input that there can be: some costs have their bound before that.
    let allowed = nanoseconds * Double(most) * Self.slowness
    if large > allowed { return "\(Int(large)) ns for \(largest) bytes, more than \(Int(allowed))" }
    if large > Self.mostGrowth * max(small, Self.measurable) {
      return
        "not linear: \(Int(small)), \(Int(large)) ns for \(largest / 4), \(largest) bytes"
    }
    return nil
  }

  /// Of what is slow, a quarter says as much.
  private var largest: Int {
    #if DEBUG
      most / 4
    #else
      most
    #endif
  }

  /// Nanoseconds; shorter times say nothing of growth.
  private static let measurable = 20_000.0

  /// Nanoseconds of thread CPU, best of three.
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

/// Nanoseconds that this thread has had of a processor.
package func threadTime() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// So many bytes of a text that repeats itself.
package func repeated(_ text: String, bytes: Int) -> [UInt8] {
  let text = Array(text.utf8)
  return (0..<bytes).map { text[$0 % text.count] }
}
