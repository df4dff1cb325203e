package import Audit
internal import Primitives
package import StatusModel
internal import System

/// Writes logfmt lines to standard error, with journald priorities if the journal receives them. Lines that do not fit
/// into its buffer are only counted.
package final class EventLog {
  private var buffer = ByteBuffer()
  private var dropped = 0
  package private(set) var droppedCount: UInt64 = 0
  private var clock = LogClock()
  private var auditWriter: AuditWriter?
  private var requiredWriter: AuditWriter?
  /// Whether `audit` has records for which it was not woken.
  private var hasAuditRecords = false
  /// Number of bytes that are not written yet.
  package var bufferedBytes: Int { buffer.count }
  /// Cached user names for help texts, so that untrusted callers cannot cause a lookup for each request.
  package var userNames: [UInt32: String] = [:]
  package let keys = LogLine.Keys()
  private let hasPriorities: Bool
  private let worker: Int
  package var sink: LogSink?
  private static let limit = 1 << 20
  /// Length of `<6>`, the text before `level=` in a line for the journal.
  private static let priorityCount = 3
  /// Length of `time=2026-11-21T05:12:08.123Z `, the text before `level=` in a line that is not for the journal.
  private static let timeCount = 30

  package init(hasPriorities: Bool, worker number: Int = 0, sink: LogSink? = nil) {
    self.hasPriorities = hasPriorities
    worker = number
    self.sink = sink
  }

  /// Writes the buffered lines. Returns `false` if a part remains for later.
  @discardableResult
  package func flush() -> Bool {
    if hasAuditRecords { auditWriter?.wake() }
    hasAuditRecords = false
    if buffer.isEmpty { return true }
    var waiting = detachBuffer()
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
    if let sink = sink { sink.write(lines, of: worker) } else { StandardError.write(lines) }
  }

  /// The writer that gets a record of each exchange.
  package var audit: AuditWriter? { auditWriter }
  /// The same writer, if no request may be sent without an audit record. Otherwise `nil`.
  package var requiredAudit: AuditWriter? { requiredWriter }
  package var hasAudit: Bool { auditWriter != nil }

  /// Sets the writer that gets a record of each exchange.
  /// - Parameter required: the same writer, if no request may be sent while it cannot write. Otherwise `nil`.
  package func use(audit: AuditWriter?, required: AuditWriter?) {
    (auditWriter, requiredWriter) = (audit, required)
  }

  /// Why no request may be sent now. `nil` if requests may be sent.
  package var auditProblem: String? {
    guard let requiredWriter, !requiredWriter.isHealthy else { return nil }
    return requiredWriter.status.problem ?? "too many audit records wait to be written"
  }

  /// Logs an event that is not an exchange. Values must not contain secrets. Fields whose value is `nil` are left out.
  /// - Parameter level: `nil` for the level in the event's row.
  package func event(_ event: LogEvent, at level: LogLevel? = nil, _ fields: (String, String?)...) {
    guard var line = begin(level ?? event.row.level) else { return }
    line.field("event", event.rawValue)
    for case (let name, let value?) in fields { line.field(name, value) }
    end(line)
  }

  // MARK: writing

  /// Begins a line, which owns the buffer until `end(_:)`. Returns `nil` if the buffer is full.
  /// - Parameter isRecord: `true` if the audit file also gets the line. The result is then never `nil`.
  package func begin(_ level: LogLevel, isRecord: Bool = false) -> LogLine? {
    if buffer.count >= EventLog.limit {
      dropped += 1
      droppedCount &+= 1
      if !isRecord { return nil }
    }
    var line = LogLine(after: detachBuffer())
    if hasPriorities {
      if isRecord { clock.stamp.update() }
      line.raw(level.withPriority)
    } else {
      clock.write(to: &line, isRecord: isRecord)
      line.raw(level.timeSuffix)
    }
    return line
  }

  /// Appends the line that begins at `start` in the buffer to the audit file. If the buffer was full before this line,
  /// removes the line from the buffer, so that the line is only in the audit file.
  /// - Parameter isGuaranteed: `true` to keep a required audit record even if the audit file's queue is full.
  package func record(from start: Int, isGuaranteed: Bool) {
    guard let auditWriter else { return }
    let head = hasPriorities ? EventLog.priorityCount : EventLog.timeCount
    let (all, time) = (buffer.contents, clock.stamp.text)
    let record = all.span.extracting((start + head)...)
    auditWriter.append(time.span, record, isGuaranteed: isGuaranteed && requiredWriter != nil)
    hasAuditRecords = true
    if start >= EventLog.limit {
      var kept = detachBuffer()
      kept.truncate(to: start)
      buffer = kept
    }
  }

  private func detachBuffer() -> ByteBuffer {
    let detached = buffer
    buffer = ByteBuffer()
    return detached
  }

  package func end(_ line: consuming LogLine) {
    line.end()
    buffer = line.bytes  // `line` is consumed here, so that only the buffer owns the bytes
  }
}

private struct LogClock {
  var stamp = Timestamp()
  /// The cached text, as in `time=2026-11-21T05:12:08.`.
  private var secondText: [UInt8] = []
  private var cachedSecond: Int64 = -1
  /// The length of `2026-11-21T05:12:08.`.
  private static let timeWithoutMilliseconds = 20

  /// Writes the time without its `Z`.
  /// - Parameter isRecord: whether the line is also an audit record.
  mutating func write(to line: inout LogLine, isRecord: Bool) {
    let now = Clock.now
    let isNewSecond = now.seconds != cachedSecond
    if isNewSecond || isRecord { stamp.update(to: now) }
    if isNewSecond {
      cachedSecond = now.seconds
      secondText = Array("time=".utf8) + stamp.text[..<LogClock.timeWithoutMilliseconds]
    }
    line.raw(secondText)
    line.raw(threeDigits: UInt64(truncatingIfNeeded: now.microseconds / 1_000))
  }
}

extension LogLevel {
  /// The beginning of a line for the journal, as in `<6>level=info`.
  fileprivate var withPriority: String {
    switch self {
    case .error: "<3>level=error"
    case .warning: "<4>level=warning"
    case .notice: "<5>level=notice"
    case .info: "<6>level=info"
    }
  }

  /// The end of the time and the level, as in `Z level=info`, for a line that is not for the journal.
  fileprivate var timeSuffix: String {
    switch self {
    case .error: "Z level=error"
    case .warning: "Z level=warning"
    case .notice: "Z level=notice"
    case .info: "Z level=info"
    }
  }
}
