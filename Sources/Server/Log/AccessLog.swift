internal import Audit
internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import System

/// The log: logfmt lines on stderr, with journald priorities when the journal listens. A bounded buffer, written once per turn
/// of the loop; what does not fit is counted, not waited for.
final class AccessLog {
  enum Level {
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
  private(set) var droppedCount: UInt64 = 0
  private var clock = Timestamp()
  /// `time=2026-11-21T05:12:08.`, and the second that it is of.
  private var secondText: [UInt8] = []
  private var secondShown: Int64 = -1
  /// Where a record of each exchange goes as well; nil: nowhere.
  var audit: AuditWriter?
  /// The same, if nothing may go out without one.
  var requiredAudit: AuditWriter?
  private var hasRecords = false
  /// Of users in lines of help: strangers could make us ask for each request.
  var userNames: [UInt32: String] = [:]
  private let keys = LogLine.Keys()
  private let hasPriorities: Bool
  /// Which worker's it is, and what those have in common; nil: there is one.
  private let number: Int
  var share: LogSink?
  private static let limit = 1 << 20
  /// `<6>`, and `time=2026-11-21T05:12:08.123Z `: what stands before `level=`.
  private static let priorityCount = 3
  private static let timeCount = 30
  /// `2026-11-21T05:12:08.`
  private static let timeWithoutMilliseconds = 20

  init(hasPriorities: Bool, of number: Int = 0, share: LogSink? = nil) {
    self.hasPriorities = hasPriorities
    self.number = number
    self.share = share
  }

  /// Writes what gathered. Returns false when some is left for later.
  @discardableResult
  func flush() -> Bool {
    if hasRecords {
      hasRecords = false
      audit?.wake()
    }
    if buffer.isEmpty { return true }
    var waiting = take()
    let written = write(waiting.storage.span.extracting(first: waiting.count))
    if written == waiting.count { waiting.removeAll() } else { waiting.removeFirst(written) }
    buffer = waiting
    if dropped > 0, buffer.count < AccessLog.limit / 2 {
      let count = dropped
      dropped = 0
      event(.warning, "log-lines-dropped", ("count", String(count)))
    }
    return buffer.isEmpty
  }

  private func write(_ lines: Span<UInt8>) -> Int {
    if let share { share.write(lines, of: number) } else { StandardError.write(lines) }
  }

  /// Why no request may go out now; nil: it may.
  var auditProblem: String? {
    guard let requiredAudit, !requiredAudit.isDependable else { return nil }
    return requiredAudit.status.problem ?? "too many records wait to be written"
  }

  /// An event that is no exchange. Values are escaped; callers pass none that could be a secret, and nil for what is not there.
  func event(_ level: Level, _ name: String, _ fields: (String, String?)...) {
    guard var line = begin(level) else { return }
    line.field("event", name)
    for case (let name, let value?) in fields { line.field(name, value) }
    end(line)
  }

  /// One line per exchange: names, numbers, the canonical path. Never a field value, a query or a body (T48). The same goes
  /// into the audit file, if there is one.
  /// - Parameter isPromised: it went out, so that its record must not get lost.
  func exchange(
    _ exchange: inout Exchange, of session: ClientSession, isPromised: Bool
  ) {
    let (before, generation) = (buffer.count, session.generation)
    let level = exchange.record.isOrdinary ? Level.info : .warning
    guard var line = begin(level, isRecord: audit != nil) else { return }
    if let route = exchange.record.route {
      let routeContext = session.routeContext ?? generation.routeContext(of: route)
      line.raw(routeContext.logText)
      if let index = session.standing.grant {
        line.raw(routeContext.credentialText)
        line.raw(generation.keyring.generation(ofGrant: index))
      }
    } else {
      line.raw(" event=request")
      if let (service, rule) = exchange.record.place {
        line.field("service", generation.snapshot.rules.services[service].name)
        if let rule { line.field("rule", rule + 1) }
      } else if let sought = exchange.record.sought {
        line.field("service", generation.snapshot.rules.services[sought].name)
      }
    }
    if let uid = exchange.record.caller?.uid { line.field(keys.uid, UInt64(uid)) }
    if let unit = session.unit { line.field("unit", unit) }
    if let client = exchange.record.caller?.client { line.field("client", client) }
    let method = exchange.head.methodRange
    if !method.isEmpty, method.upperBound <= exchange.head.bytes.count {
      line.field(keys.method, exchange.head.bytes.span.extracting(method))
    }
    if !exchange.target.path.isEmpty { line.field(keys.path, exchange.target.path.span) }
    line.field(keys.status, UInt64(max(0, exchange.record.status)))
    if let refusal = exchange.record.refusal { line.field("refused", refusal.row.code.description) }
    line.field(keys.up, exchange.record.bytesUp)
    line.field(keys.down, exchange.record.bytesDown)
    line.field(keys.milliseconds, session.worker.loop.now - session.startedAt)
    let decidedBy = exchange.record.generation
    line.field(keys.generation, decidedBy == 0 ? generation.snapshot.generation : decidedBy)
    if exchange.record.isPreflight { line.raw(" preflight=true") }
    if exchange.record.isRejected { line.raw(" credential_rejected=true") }
    if exchange.record.redactions > 0 { line.field("redacted", exchange.record.redactions) }
    if exchange.record.isWithheld { line.raw(" withheld=true") }
    if exchange.record.isRetried { line.raw(" retried=true") }
    if exchange.record.isRenewed { line.raw(" renewed=true") }
    if exchange.record.isAborted { line.raw(" aborted=true") }
    if let refusal = exchange.record.refusal {
      let problem = if case .malformed(let reason) = refusal { reason } else { exchange.record.answerProblem }
      if let problem { line.field("reason", problem.rawValue) }
      if let detail = session.failureDetail { line.field("detail", detail) }
      let help =
        help(with: problem)
        ?? help(for: refusal, head: exchange.head, listener: session.listenerID.name, settings: generation.settings)
      if let help { line.field("help", help) }
    }
    end(line)
    if let audit { self.record(audit, from: before, isPromised: isPromised) }
  }

  /// The keyring's door stayed shut: worth a line of its own, because policy should have said so before.
  func denied(_ denied: Denied, route: Route?, generation: Generation) {
    let name = route.flatMap { generation.snapshot.rules.grant(of: $0)?.name } ?? "-"
    event(.warning, "credential-denied", ("credential", name), ("detail", denied.description))
  }

  /// What a route's lines begin with, as it never changes within a generation: made once.
  static func text(of route: Route, rules: RuleSet) -> [UInt8] {
    var line = LogLine()
    line.raw(" event=request")
    let service = rules.services[route.service]
    line.field("service", service.name)
    if let rule = route.rule { line.field("rule", rule + 1) }
    line.field("upstream", service.upstream.origin.description)
    return Array(line.bytes.contents)
  }

  /// What follows if a credential was added: the number of its value comes behind it.
  static func credentialText(of route: Route, rules: RuleSet) -> [UInt8] {
    guard let grant = rules.grant(of: route) else { return [] }
    var line = LogLine()
    line.field("credential", grant.name)
    line.raw(" credential_generation=")
    return Array(line.bytes.contents)
  }

  // MARK: writing

  /// A line behind those that wait, in their place until `end`; nil when there is no room.
  /// - Parameter isRecord: it is wanted all the same.
  private func begin(_ level: Level, isRecord: Bool = false) -> LogLine? {
    if buffer.count >= AccessLog.limit {
      dropped += 1
      droppedCount &+= 1
      if !isRecord { return nil }
    }
    var line = LogLine(after: take())
    if hasPriorities {
      if isRecord { clock.update() }
      line.raw(level.withPriority)
    } else {
      writeTime(to: &line, isRecord: isRecord)
      line.raw(level.behindTime)
    }
    return line
  }

  /// All but its `Z`.
  private func writeTime(to line: inout LogLine, isRecord: Bool) {
    let now = Clock.now
    let isNewSecond = now.seconds != secondShown
    if isNewSecond || isRecord { clock.update(to: now) }
    if isNewSecond {
      secondShown = now.seconds
      secondText = Array("time=".utf8) + clock.text[..<AccessLog.timeWithoutMilliseconds]
    }
    line.raw(secondText)
    line.raw(threeDigits: UInt64(truncatingIfNeeded: now.microseconds / 1_000))
  }

  /// Hands on the line that begins there, without its time or priority, and takes it back if the log has no room for it.
  private func record(_ audit: AuditWriter, from start: Int, isPromised: Bool) {
    let head = hasPriorities ? AccessLog.priorityCount : AccessLog.timeCount
    let isPromised = isPromised && requiredAudit != nil
    let all = buffer.contents
    audit.append(clock.text.span, all.span.extracting((start + head)...), isPromised: isPromised)
    hasRecords = true
    if start >= AccessLog.limit {
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

  private func end(_ line: consuming LogLine) {
    line.end()
    buffer = line.bytes  // the line ends here, so that its bytes are the buffer's alone
  }
}
