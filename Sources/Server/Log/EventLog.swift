package import Audit
internal import EventLoop
internal import Primitives
internal import System

/// The log: logfmt lines on stderr, with journald priorities when the journal listens. A bounded buffer, written once per turn
/// of the loop; what does not fit is counted, not waited for.
package final class EventLog {
  package enum Level: String, Sendable {
    case error, warning, notice, info

    /// The beginning of a line for the journal, which learns of it by syslog(3)'s priority.
    fileprivate var withPriority: String {
      switch self {
      case .error: "<3>level=error"
      case .warning: "<4>level=warning"
      case .notice: "<5>level=notice"
      case .info: "<6>level=info"
      }
    }

    /// The end of the time, and what follows it.
    fileprivate var behindTime: String {
      switch self {
      case .error: "Z level=error"
      case .warning: "Z level=warning"
      case .notice: "Z level=notice"
      case .info: "Z level=info"
      }
    }
  }

  private var buffer = ByteBuffer()
  private var dropped = 0
  /// Lines since the start for which there was no room.
  package private(set) var droppedCount: UInt64 = 0
  private var clock = LogClock()
  private var auditTarget = AuditTarget()
  /// How many bytes wait to be written: where the next line begins.
  package var bufferedBytes: Int { buffer.count }
  /// Names of users in lines of help: untrusted peers could make us look one up for each request.
  package var userNames: [UInt32: String] = [:]
  package let keys = LogLine.Keys()
  private let hasPriorities: Bool
  /// Which worker's it is, and what those have in common; nil: there is one.
  private let number: Int
  package var share: LogSink?
  private static let limit = 1 << 20
  /// `<6>`, and `time=2026-11-21T05:12:08.123Z `: what stands before `level=`.
  private static let priorityCount = 3
  private static let timeCount = 30

  package init(hasPriorities: Bool, of number: Int = 0, share: LogSink? = nil) {
    self.hasPriorities = hasPriorities
    self.number = number
    self.share = share
  }

  /// Writes what gathered. Returns false when some is left for later.
  @discardableResult
  package func flush() -> Bool {
    auditTarget.wakeForRecords()
    if buffer.isEmpty { return true }
    var waiting = take()
    let written = write(waiting.storage.span.extracting(first: waiting.count))
    if written == waiting.count { waiting.removeAll() } else { waiting.removeFirst(written) }
    buffer = waiting
    if dropped > 0, buffer.count < EventLog.limit / 2 {
      let count = dropped
      dropped = 0
      event(.logLinesDropped, ("count", String(count)))
    }
    return buffer.isEmpty
  }

  private func write(_ lines: Span<UInt8>) -> Int {
    if let share { share.write(lines, of: number) } else { StandardError.write(lines) }
  }

  /// The file that gets a record of each exchange as well; nil: none.
  package var audit: AuditWriter? { auditTarget.writer }
  package var hasAudit: Bool { auditTarget.writer != nil }
  /// The audit file, if nothing may go out without a record.
  package var requiredAudit: AuditWriter? { auditTarget.required }

  /// From now on a record of each exchange goes to `audit` as well; nothing may go out unless `required` can take one.
  package func use(audit: AuditWriter?, required: AuditWriter?) {
    (auditTarget.writer, auditTarget.required) = (audit, required)
  }

  /// Why no request may go out now; nil: it may.
  package var auditProblem: String? { auditTarget.problem }

  /// An event that is no exchange. Values are escaped; callers pass none that could be a secret, and nil for what is not there.
  /// - Parameter level: nil: the one of the event's row.
  package func event(_ event: LogEvent, at level: Level? = nil, _ fields: (String, String?)...) {
    guard var line = begin(level ?? event.row.level) else { return }
    line.field("event", event.rawValue)
    for case (let name, let value?) in fields { line.field(name, value) }
    end(line)
  }

  // MARK: writing

  /// A line behind those that wait, in their place until `end`; nil when there is no room.
  /// - Parameter isRecord: it is wanted all the same.
  package func begin(_ level: Level, isRecord: Bool = false) -> LogLine? {
    if buffer.count >= EventLog.limit {
      dropped += 1
      droppedCount &+= 1
      if !isRecord { return nil }
    }
    var line = LogLine(after: take())
    if hasPriorities {
      if isRecord { clock.update() }
      line.raw(level.withPriority)
    } else {
      clock.write(to: &line, isRecord: isRecord)
      line.raw(level.behindTime)
    }
    return line
  }

  /// Hands on the line that begins there, without its time or priority, and takes it back if the log has no room for it.
  package func record(from start: Int, isPromised: Bool) {
    guard auditTarget.writer != nil else { return }
    let head = hasPriorities ? EventLog.priorityCount : EventLog.timeCount
    let all = buffer.contents
    auditTarget.append(clock.text.span, all.span.extracting((start + head)...), isPromised: isPromised)
    if start >= EventLog.limit {
      var kept = take()
      kept.truncate(to: start)
      buffer = kept
    }
  }

  private func take() -> ByteBuffer {
    let taken = buffer
    buffer = ByteBuffer()
    return taken
  }

  package func end(_ line: consuming LogLine) {
    line.end()
    buffer = line.bytes  // the line ends here, so that its bytes are the buffer's alone
  }
}

/// The time of the log's lines. The text of a second is kept: most lines are of the same one.
private struct LogClock {
  private var stamp = Timestamp()
  /// `time=2026-11-21T05:12:08.`, and the second that it is of.
  private var secondText: [UInt8] = []
  private var secondShown: Int64 = -1
  /// `2026-11-21T05:12:08.`
  private static let timeWithoutMilliseconds = 20

  var text: [UInt8] { stamp.text }

  mutating func update() { stamp.update() }

  /// All but its `Z`.
  /// - Parameter isRecord: the audit file gets the whole time as well.
  mutating func write(to line: inout LogLine, isRecord: Bool) {
    let now = Clock.now
    let isNewSecond = now.seconds != secondShown
    if isNewSecond || isRecord { stamp.update(to: now) }
    if isNewSecond {
      secondShown = now.seconds
      secondText = Array("time=".utf8) + stamp.text[..<LogClock.timeWithoutMilliseconds]
    }
    line.raw(secondText)
    line.raw(threeDigits: UInt64(truncatingIfNeeded: now.microseconds / 1_000))
  }
}

/// The audit file as the log knows it.
private struct AuditTarget {
  var writer: AuditWriter?
  /// The writer of the same file, if nothing may go out without a record.
  var required: AuditWriter?
  private var hasRecords = false

  var problem: String? {
    guard let required, !required.isDependable else { return nil }
    return required.status.problem ?? "too many audit records wait to be written"
  }

  mutating func append(_ time: Span<UInt8>, _ line: Span<UInt8>, isPromised: Bool) {
    writer?.append(time, line, isPromised: isPromised && required != nil)
    hasRecords = true
  }

  mutating func wakeForRecords() {
    guard hasRecords else { return }
    hasRecords = false
    writer?.wake()
  }
}
