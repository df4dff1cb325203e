internal import System

/// The logs of several workers, together: the one place where they end, and what one of them has said for all.
///
/// `@unchecked Sendable`, because everything that changes is touched under the lock.
package final class LogSink: @unchecked Sendable {
  private let lock = SharedLock(isShared: true)
  /// The worker whose line is out in part: no other writes until the rest of it is.
  private var unfinished: Int?
  private var told: [String: String] = [:]
  private let descriptor: Int32

  /// - Parameter descriptor: where lines go; that of standard error, but in tests.
  package init(to descriptor: Int32 = StandardError.descriptor) { self.descriptor = descriptor }

  /// More are forgotten together: something is told twice then.
  private static let mostTold = 4_096

  /// Whole lines, as `StandardError.write` takes them: fewer bytes than all if there is no room, or another worker's line is
  /// not finished.
  /// - Parameter number: the worker's.
  func write(_ lines: Span<UInt8>, of number: Int) -> Int {
    lock.enter()
    defer { lock.leave() }
    if let unfinished, unfinished != number { return 0 }
    let written = StandardError.write(lines, to: descriptor)
    if written > 0 { unfinished = lines[written - 1] == UInt8(ascii: "\n") ? nil : number }
    return written
  }

  /// A worker has ended: its line's rest is not waited for.
  package func leave(_ number: Int) { lock { if unfinished == number { unfinished = nil } } }

  /// Whether this is not what was told of `subject` the last time. It is told now.
  package func isNews(_ subject: String, _ text: String) -> Bool {
    lock {
      if told[subject] == text { return false }
      if told.count >= LogSink.mostTold { told = [:] }
      told[subject] = text
      return true
    }
  }
}
