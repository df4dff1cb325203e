internal import System

/// The shared destination of the logs of all workers.
/// `@unchecked Sendable`, because the lock protects all mutable state.
package final class LogSink: @unchecked Sendable {
  private let lock = SharedLock(isShared: true)
  /// The worker whose last line is only partly written. `nil` if there is none.
  private var unfinished: Int?
  /// The last message about each subject, for `recordIfChanged`.
  private var lastTexts: [String: String] = [:]
  private let descriptor: Int32

  package init(to descriptor: Int32 = StandardError.descriptor) { self.descriptor = descriptor }

  /// Maximum number of entries in `lastTexts`.
  private static let maximumSubjects = 4_096

  /// Writes lines of a worker. Returns the number of bytes written.
  func write(_ lines: Span<UInt8>, of number: Int) -> Int {
    lock.lock()
    defer { lock.unlock() }
    if let unfinished, unfinished != number { return 0 }
    let written = StandardError.write(lines, to: descriptor)
    if written > 0 { unfinished = lines[written - 1] == UInt8(ascii: "\n") ? nil : number }
    return written
  }

  /// Lets the other workers write after this worker has ended, even if its last line is incomplete.
  package func detach(_ number: Int) { lock { if unfinished == number { unfinished = nil } } }

  /// Stores the last message about a subject. Returns `true` if it differs from the previous one.
  package func recordIfChanged(_ subject: String, _ text: String) -> Bool {
    lock {
      if lastTexts[subject] == text { return false }
      if lastTexts.count >= LogSink.maximumSubjects { lastTexts = [:] }
      lastTexts[subject] = text
      return true
    }
  }
}
