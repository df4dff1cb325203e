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
final class Journal {
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

    /// What follows the time.
    fileprivate var behindTime: String {
      switch self {
      case .error: " level=error"
      case .warning: " level=warning"
      case .notice: " level=notice"
      case .info: " level=info"
      }
    }
  }

  private var buffer = ByteBuffer()
  private var dropped = 0
  /// Lines since the start for which there was no room.
  private(set) var droppedCount: UInt64 = 0
  private var clock = Timestamp()
  /// Where a record of each exchange goes as well; nil: nowhere.
  var audit: AuditWriter?
  /// The same, if nothing may go out without one.
  var requiredAudit: AuditWriter?
  private var hasRecords = false
  /// Of users in lines of help: strangers could make us ask for each request.
  private var userNames: [UInt32: String] = [:]
  private let hasPriorities: Bool
  private static let limit = 1 << 20
  /// `<6>`, and `time=2026-11-21T05:12:08.123Z `: what stands before `level=`.
  private static let priorityCount = 3
  private static let timeCount = 30

  init(hasPriorities: Bool) {
    self.hasPriorities = hasPriorities
  }

  /// Writes what gathered. Returns false when some is left for later.
  @discardableResult
  func flush() -> Bool {
    if hasRecords {
      hasRecords = false
      audit?.wake()
    }
    if buffer.isEmpty { return true }
    let waiting = buffer.contents
    let written = StandardError.write(waiting.span)
    if written == waiting.count { buffer.removeAll() } else { buffer.removeFirst(written) }
    if dropped > 0, buffer.count < Journal.limit / 2 {
      let count = dropped
      dropped = 0
      event(.warning, "log-lines-dropped", ("count", String(count)))
    }
    return buffer.isEmpty
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
    _ exchange: borrowing Exchange, way: Way?, listener: String, generation: Generation, milliseconds: UInt64,
    detail: String?, isPromised: Bool
  ) {
    let record = exchange.record
    let before = buffer.count
    guard var line = begin(record.isOrdinary ? .info : .warning, isRecord: audit != nil) else { return }
    line.raw(" event=request")
    if let route = record.route {
      line.raw((way ?? generation.way(of: route)).logText)
      if let index = exchange.grant {
        line.raw(" credential=", generation.snapshot.rules.grants[index].name)
        line.raw(" credential_generation=", generation.keyring.generation(ofGrant: index))
      }
    } else if let (service, rule) = record.place {
      line.field("service", generation.snapshot.rules.services[service].name)
      if let rule { line.field("rule", rule + 1) }
    }
    if let uid = record.caller?.uid { line.raw(" uid=", UInt64(uid)) }
    if let client = record.caller?.client { line.field("client", client) }
    let head = exchange.head.bytes
    if !exchange.head.methodRange.isEmpty, exchange.head.methodRange.upperBound <= head.count {
      line.raw(" method=", head.span.extracting(exchange.head.methodRange))
    }
    let path = exchange.target.path
    if !path.isEmpty { line.raw(" path=", path.span) }
    line.raw(" status=", record.status)
    if let refusal = record.refusal { line.field("refused", refusal.row.code.description) }
    line.raw(" up=", record.bytesUp)
    line.raw(" down=", record.bytesDown)
    line.raw(" ms=", milliseconds)
    line.raw(" generation=", record.generation == 0 ? generation.snapshot.generation : record.generation)
    if record.isPreflight { line.raw(" preflight=true") }
    if record.isRejected { line.raw(" credential_rejected=true") }
    if record.redactions > 0 { line.raw(" redacted=", record.redactions) }
    if record.isRetried { line.raw(" retried=true") }
    if record.isAborted { line.raw(" aborted=true") }
    if record.refusal != nil {
      if case .malformed(let reason) = record.refusal { line.field("reason", reason.rawValue) }
      if let detail { line.field("detail", detail) }
      let help = help(for: record, head: exchange.head, listener: listener, settings: generation.settings)
      if let help { line.field("help", help) }
    }
    end(line)
    if let audit { self.record(audit, from: before, isPromised: isPromised) }
  }

  /// The keyring's door stayed shut: worth a line of its own, because policy should have said so before.
  func denied(_ denied: Denied, exchange: borrowing Exchange, generation: Generation) {
    let name = exchange.route.flatMap { generation.snapshot.rules.grant(of: $0)?.name } ?? "-"
    event(.warning, "credential-denied", ("credential", name), ("detail", denied.description))
  }

  private func userName(_ uid: UInt32) -> String? {
    if let known = userNames[uid] { return known }
    if userNames.count >= 256 { userNames = [:] }
    let name = Users.localName(ofUID: uid) ?? String(uid)
    userNames[uid] = name
    return name
  }

  /// The line of the configuration that would have let this caller, or this page, in.
  private func help(for record: AccessRecord, head: RequestHead, listener: String, settings: Settings) -> String? {
    guard case .policy(let refusal) = record.refusal else { return nil }
    let rules = settings.rules
    switch refusal {
    case .callerNotAllowed(let uid):
      guard let listener = settings.listeners.first(where: { $0.name == listener }) else { return nil }
      return "to let this user ask, \(listener.admission) needs "
        + AllowUsers.line(adding: uid, to: listener.callers, named: userName)
    case .originNotAllowed:
      guard let listener = settings.listeners.first(where: { $0.name == listener }),
        let origin = PageOrigins.origin(of: head)
      else { return nil }
      return "to let this page ask, \(listener.admission) needs \(listener.pages.line(adding: origin))"
    case .clientTokenMissing: return "no client token came with the request"
    case .clientTokenUnknown: return "the client token that came is not one of those in the listener's clients"
    case .clientNotAllowedHere(let service):
      return "to let this client ask, allow_clients of services.\(rules.services[service].name) has to name it"
    case .clientNotGranted(_, let grant):
      return "to let this client have it, allow_clients of credentials.\(rules.grants[grant].name) has to name it"
    case .callerNotAllowedHere(_, nil), .callerNotGranted(_, _, nil):
      return "who comes by a network is no user, and allow_users wants one: name clients in allow_clients instead"
    case .callerNotAllowedHere(let service, let uid?):
      return "to let this user ask, services.\(rules.services[service].name) needs "
        + AllowUsers.line(adding: uid, to: rules.services[service].callers, named: userName)
    case .callerNotGranted(_, let grant, let uid?):
      return "to let this user have it, credentials.\(rules.grants[grant].name) needs "
        + AllowUsers.line(adding: uid, to: rules.grants[grant].callers, named: userName)
    default: return nil
    }
  }

  /// The fields of a route that never change within a generation: made once.
  static func text(of route: Route, rules: RuleSet) -> [UInt8] {
    var line = LogLine()
    let service = rules.services[route.service]
    line.field("service", service.name)
    if let rule = route.rule { line.field("rule", rule + 1) }
    line.field("upstream", service.upstream.origin.description)
    return Array(line.bytes.contents)
  }

  // MARK: writing

  /// A line behind those that wait, in their place until `end`; nil when there is no room.
  /// - Parameter isRecord: it is wanted all the same.
  private func begin(_ level: Level, isRecord: Bool = false) -> LogLine? {
    if buffer.count >= Journal.limit {
      dropped += 1
      droppedCount &+= 1
      if !isRecord { return nil }
    }
    var line = LogLine(after: take())
    if isRecord || !hasPriorities { clock.update() }
    if hasPriorities {
      line.raw(level.withPriority)
    } else {
      line.raw("time=")
      line.raw(clock.text)
      line.raw(level.behindTime)
    }
    return line
  }

  /// Hands on the line that begins there, without its time or priority, and takes it back if the log has no room for it.
  private func record(_ audit: AuditWriter, from start: Int, isPromised: Bool) {
    let head = hasPriorities ? Journal.priorityCount : Journal.timeCount
    let isPromised = isPromised && requiredAudit != nil
    let all = buffer.contents
    audit.append(clock.text.span, all.span.extracting((start + head)...), isPromised: isPromised)
    hasRecords = true
    if start >= Journal.limit { buffer.truncate(to: start) }
  }

  private func take() -> ByteBuffer {
    let taken = buffer
    buffer = ByteBuffer()
    return taken
  }

  private func end(_ line: consuming LogLine) {
    line.end()
    buffer = line.bytes
  }
}
