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
  enum Level: String {
    case error, warning, notice, info
    /// syslog(3) priority.
    var priority: UInt8 {
      switch self {
      case .error: 3
      case .warning: 4
      case .notice: 5
      case .info: 6
      }
    }
  }

  private var buffer: [UInt8] = []
  private var dropped = 0
  private var second: [UInt8] = []
  private var secondShown: Int64 = -1
  private let hasPriorities: Bool
  private static let limit = 1 << 20

  init(hasPriorities: Bool) {
    self.hasPriorities = hasPriorities
  }

  /// Writes what gathered. Returns false when some is left for later.
  @discardableResult
  func flush() -> Bool {
    if buffer.isEmpty { return true }
    let written = StandardError.write(buffer)
    if written == buffer.count {
      buffer.removeAll(keepingCapacity: true)
    } else {
      buffer.removeFirst(written)
    }
    if dropped > 0, buffer.count < Journal.limit / 2 {
      let count = dropped
      dropped = 0
      event(.warning, "log-lines-dropped", ("count", String(count)))
    }
    return buffer.isEmpty
  }

  /// An event that is no exchange. Values are escaped; callers pass none that could be a secret.
  func event(_ level: Level, _ name: String, _ fields: (String, String)...) {
    guard begin(level) else { return }
    field("event", name)
    for (name, value) in fields { field(name, value) }
    buffer.append(UInt8(ascii: "\n"))
  }

  /// One line per exchange: names, numbers, the canonical path. Never a field value, a query or a body (T48).
  func exchange(_ exchange: Exchange, peer: Peer, generation: Generation, milliseconds: UInt64, detail: String?) {
    let record = exchange.record
    guard begin(record.refusal == nil ? .info : .warning) else { return }
    field("event", "request")
    if let route = record.route {
      buffer.append(contentsOf: generation.logText(of: route))
      if case .inject(let index) = route.credential {
        field("credential_generation", generation.keyring.generation(ofGrant: index))
      }
    }
    if let uid = record.caller?.uid { field("uid", UInt64(uid)) }
    text("method", exchange.head.bytes, exchange.head.methodRange)
    text("path", exchange.target.path, exchange.target.path.indices)
    field("status", record.status)
    if let refusal = record.refusal { field("refused", refusal.row.code.description) }
    field("up", record.bytesUp)
    field("down", record.bytesDown)
    field("ms", milliseconds)
    field("generation", record.generation)
    if record.isRetried { field("retried", "true") }
    if record.isAborted { field("aborted", "true") }
    if record.refusal != nil, let detail { field("detail", detail) }
    if let help = help(for: record, rules: generation.snapshot.rules) { field("help", help) }
    buffer.append(UInt8(ascii: "\n"))
  }

  /// The keyring's door stayed shut: worth a line of its own, because policy should have said so before.
  func denied(_ denied: Denied, exchange: Exchange, generation: Generation) {
    let name = exchange.route.flatMap { generation.snapshot.rules.grant(of: $0)?.name } ?? "-"
    event(.warning, "credential-denied", ("credential", name), ("detail", denied.description))
  }

  /// The line of the configuration that would have let this caller in.
  private func help(for record: AccessRecord, rules: RuleSet) -> String? {
    guard case .policy(let refusal) = record.refusal else { return nil }
    switch refusal {
    case .callerNotAllowed(let uid):
      return "to let this user ask, add to the listener: allow_users: [\(Users.name(ofUID: uid) ?? String(uid))]"
    case .callerNotAllowedHere(let service, let uid):
      return
        "to let this user ask, add to services.\(rules.services[service].name): allow_users: [\(Users.name(ofUID: uid) ?? String(uid))]"
    default: return nil
    }
  }

  /// The fields of a route that never change within a generation: made once.
  static func text(of route: Route, rules: RuleSet) -> [UInt8] {
    let journal = Journal(hasPriorities: false)
    let service = rules.services[route.service]
    journal.field("service", service.name)
    if let rule = route.rule { journal.field("rule", rule + 1) }
    if let grant = rules.grant(of: route) { journal.field("credential", grant.name) }
    journal.field("upstream", service.upstream.origin.description)
    return journal.buffer
  }

  // MARK: writing

  private func begin(_ level: Level) -> Bool {
    guard buffer.count < Journal.limit else {
      dropped += 1
      return false
    }
    if hasPriorities {
      buffer.append(UInt8(ascii: "<"))
      buffer.append(UInt8(ascii: "0") + level.priority)
      buffer.append(contentsOf: ">".utf8)
    } else {
      timestamp()
    }
    buffer.append(contentsOf: "level=".utf8)
    buffer.append(contentsOf: level.rawValue.utf8)
    return true
  }

  /// RFC 3339, UTC. The part down to the second is made once per second.
  private func timestamp() {
    let now = Clock.now
    if now.seconds != secondShown {
      secondShown = now.seconds
      let time = max(0, now.seconds) % 86_400
      second = Array("time=\(CivilTime.day(of: now.seconds))T".utf8)
      for part in [time / 3_600, time / 60 % 60, time % 60] {
        second += [UInt8(ascii: "0") + UInt8(part / 10), UInt8(ascii: "0") + UInt8(part % 10), UInt8(ascii: ":")]
      }
      second.removeLast()
    }
    buffer.append(contentsOf: second)
    let milliseconds = UInt64(max(0, now.microseconds) / 1000)
    buffer.append(UInt8(ascii: "."))
    if milliseconds < 100 { buffer.append(UInt8(ascii: "0")) }
    if milliseconds < 10 { buffer.append(UInt8(ascii: "0")) }
    number(milliseconds)
    buffer.append(contentsOf: "Z ".utf8)
  }

  private func field(_ name: String, _ value: String) {
    key(name)
    if value.utf8.allSatisfy(Journal.isPlain), !value.isEmpty {
      buffer.append(contentsOf: value.utf8)
    } else {
      quoted(Array(value.utf8)[...])
    }
  }

  private func field(_ name: String, _ value: UInt64) {
    key(name)
    number(value)
  }

  private func field(_ name: String, _ value: Int) { field(name, UInt64(max(0, value))) }

  private func text(_ name: String, _ bytes: [UInt8], _ range: Range<Int>) {
    guard !range.isEmpty else { return }
    key(name)
    var isPlain = true
    for index in range where !Journal.isPlain(bytes[index]) { isPlain = false }
    if isPlain { buffer.append(contentsOf: bytes[range]) } else { quoted(bytes[range]) }
  }

  private func key(_ name: String) {
    buffer.append(UInt8(ascii: " "))
    buffer.append(contentsOf: name.utf8)
    buffer.append(UInt8(ascii: "="))
  }

  private func number(_ value: UInt64) {
    let start = buffer.count
    var rest = value
    repeat {
      buffer.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    buffer[start...].reverse()
  }

  /// In quotes, with everything outside printable ASCII escaped (T48: no line or terminal injection).
  private func quoted(_ bytes: ArraySlice<UInt8>) {
    let hex = Array("0123456789abcdef".utf8)
    buffer.append(UInt8(ascii: "\""))
    for byte in bytes.prefix(2_048) {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        buffer.append(UInt8(ascii: "\\"))
        buffer.append(byte)
      case 0x20...0x7E: buffer.append(byte)
      default:
        buffer.append(contentsOf: "\\x".utf8)
        buffer.append(hex[Int(byte >> 4)])
        buffer.append(hex[Int(byte & 15)])
      }
    }
    buffer.append(UInt8(ascii: "\""))
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=") && byte != UInt8(ascii: "\\")
  }
}
