internal import System

/// The shared destination of the logs of all workers. It also remembers which messages any worker has logged.
///
/// `@unchecked Sendable`, because the lock protects all mutable state.
package final class LogSink: @unchecked Sendable {
  private let lock = SharedLock(isShared: true)
  /// The worker whose last line is only partly written. The other workers cannot write until this line is complete.
  private var unfinished: Int?
  /// The last message about each subject, for `recordIfChanged`.
  private var lastTexts: [String: String] = [:]
  private let descriptor: Int32

  /// - Parameter descriptor: the file descriptor to write to. Only tests use another one than standard error.
  package init(to descriptor: Int32 = StandardError.descriptor) { self.descriptor = descriptor }

  /// Maximum number of entries in `lastTexts`. At this number, all entries are removed. Some messages are then logged
  /// twice.
  private static let maximumSubjects = 4_096

  /// Writes lines of a worker. Returns the number of bytes written, which is 0 while another worker's line is
  /// incomplete.
  /// - Parameter number: the number of the worker.
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

  /// Stores the last message about a subject. Returns `true` if it differs from the previous one, and should be logged.
  package func recordIfChanged(_ subject: String, _ text: String) -> Bool {
    lock {
      if lastTexts[subject] == text { return false }
      if lastTexts.count >= LogSink.maximumSubjects { lastTexts = [:] }
      lastTexts[subject] = text
      return true
    }
  }
}
