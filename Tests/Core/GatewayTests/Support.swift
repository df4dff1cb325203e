import Gateway
import HTTP1
import Policy
import Primitives
import Testing

let caller = Caller(uid: 1000)

/// One service at `/api/` in front of `https://up.test/base/`, with a credential that sets Authorization. Tests change one thing.
func snapshot(
  at mount: Mount = .path(Array("/api/".utf8)), upstream: String = "https://up.test/base/",
  credential: CredentialChoice = .inject(0), fields: [String] = ["authorization"], generation: UInt64 = 1,
  more: [Service] = [], limits: HeadLimits = HeadLimits(), pages: [String] = [], replayBuffer: Int? = nil,
  authRetry: AuthRetryReason = .expiry, expiry: ExpirySigns = ExpirySigns(), cookie: String? = nil,
  origins: [Origin]? = nil, edit: (inout Service) -> Void = { _ in }
) throws -> Snapshot {
  var service = Service(
    name: "api", listener: 0, mount: mount, upstream: try Upstream(parsing: upstream), credential: credential)
  edit(&service)
  let grant = Grant(
    name: "token", origins: origins ?? [service.upstream.origin], callers: nil, fieldNames: fields,
    replayBuffer: replayBuffer, authRetry: authRetry, expiry: expiry, cookie: cookie)
  let names = ["localhost:7070", "127.0.0.1:7070", "[::1]:7070", "api.localhost:7070"]
  return Snapshot(
    generation: generation, rules: RuleSet(services: [service] + more, grants: [grant]),
    admissions: [
      Admission(
        callers: Callers(uids: [1000]), authorities: names,
        pages: PageOrigins(try pages.map { try PageOrigin(parsing: $0) }))
    ], headLimits: limits,
    ownAuthorities: Set(names))
}

func service(_ name: String, at path: String, upstream: String) throws -> Service {
  Service(
    name: name, listener: 0, mount: .path(Array(path.utf8)), upstream: try Upstream(parsing: upstream),
    credential: .none)
}

/// Plays one connection as the shell would: carries out actions, holds back what the machine does not take, offers it again.
struct Conversation {
  /// In a box: the machine cannot be copied, and the testing macros copy what they look at.
  final class Box {
    var machine: ClientConnection
    init(_ machine: consuming ClientConnection) { self.machine = machine }
  }
  let box: Box
  var snapshot: Snapshot
  /// Whether a session is there as soon as it is asked for; else the test says so with `ready`.
  var opensAtOnce = true
  var isReused = false
  /// All bytes that went to the client.
  var received: [UInt8] = []
  /// All bytes of each session: the credential's place is `<credential>`.
  var sessions: [[UInt8]] = []
  /// Everything that was asked of the shell but bytes, in order.
  var log: [String] = []
  var records: [AccessRecord] = []
  /// Of each head: whether the upstream has asked for the credential.
  private(set) var asked: [Bool] = []
  /// What each response said of the credential.
  private(set) var verdicts: [CredentialVerdict?] = []
  /// How often the time that runs was to begin again.
  private(set) var restarts = 0
  /// Requests that were to go out.
  private(set) var begun = 0
  /// Bytes of the client that wait.
  private(set) var held: [UInt8] = []
  /// What searches the answers; nil: there is nothing to search them with.
  var redaction: RedactionDouble? = RedactionDouble()
  /// The loop's time, in milliseconds.
  var now: UInt64 = 0
  private var heldResponse: [UInt8] = []
  private var hasSession = false
  private var output = Output()

  init(_ snapshot: Snapshot, caller: Caller? = caller) {
    self.init(
      snapshot, Box(ClientConnection(listener: snapshot.listeners[0], caller: caller, limits: snapshot.headLimits)))
  }

  private init(_ snapshot: Snapshot, _ box: Box) {
    self.snapshot = snapshot
    self.box = box
  }

  /// A request and its answer, with something to keep in each.
  mutating func ask() {
    client(get("Cookie: mine", target: "/api/secret?mine"))
    upstream(ok("Set-Cookie: mine"))
  }

  var answer: String { String(decoding: received, as: UTF8.self) }
  var request: String { sessions.last.map { String(decoding: $0, as: UTF8.self) } ?? "" }
  var isOver: Bool { phase == .closed || phase == .lingering }

  var phase: ClientConnection.Phase { box.machine.phase }
  var deadline: Deadline { box.machine.deadline }
  var wantsClientBytes: Bool { box.machine.wantsClientBytes }
  var holdsClientBytes: Bool { box.machine.holdsClientBytes }
  var head: RequestHead { box.machine.exchange.head }
  var target: CanonicalTarget { box.machine.exchange.target }
  var response: ResponseHead { box.machine.exchange.response }
  var route: Route? { box.machine.exchange.route }
  /// All that the shell looks at.
  var facts: String { "\(box.machine.summary)" }
  func isStillAllowed(by snapshot: Snapshot) -> Bool { box.machine.isStillAllowed(by: snapshot) }

  // MARK: facts

  mutating func client(_ text: String) { client(Array(text.utf8)) }

  mutating func client(_ bytes: [UInt8]) {
    held += bytes
    offer()
  }

  mutating func upstream(_ text: String) { upstream(Array(text.utf8)) }

  mutating func upstream(_ bytes: [UInt8]) {
    guard hasSession else { return }
    heldResponse += bytes
    let input = heldResponse
    var position = 0
    step(input) { [redaction, now] machine, output in
      machine.receivedFromUpstream(input.span, position: &position, redaction: redaction, now: now, output: &output)
    }
    heldResponse = hasSession ? Array(input[position...]) : []
    offer()
  }

  mutating func ready() {
    if isReused { log.append("reused") }
    hasSession = true
    sessions.append([])
    let input = held
    var position = 0
    let isReused = isReused
    step(input) { machine, output in
      machine.upstreamReady(isReused: isReused, input.span, position: &position, output: &output)
    }
    held = Array(input[position...])
    offer()
  }

  mutating func fact(_ fact: (inout ClientConnection, inout Output) -> Void) {
    step([], fact)
    offer()
  }

  /// The answer that is held back is offered again, as the shell does.
  mutating func renewalRefused() {
    fact { machine, _ in machine.renewalRefused() }
    upstream([])
  }

  mutating func upstreamEnded(isClean: Bool = true) {
    fact { [redaction] in $0.upstreamEnded(isClean: isClean, redaction: redaction, output: &$1) }
  }

  /// The machine goes on with another client.
  mutating func leave(to caller: Caller?) {
    box.machine.forget()
    box.machine.serve(listener: snapshot.listeners[0], caller: caller, isLocalSocket: false, isFresh: true)
    let box = box
    self = Conversation(snapshot, box)
  }

  // MARK: actions

  private mutating func offer() {
    while !held.isEmpty, phase != .closed {
      let input = held
      let phase = phase
      var position = 0
      let snapshot = snapshot
      step(input) { machine, output in
        machine.receivedFromClient(input.span, position: &position, snapshot: snapshot, output: &output)
      }
      // `ready` may have taken some more.
      if position > 0 { held.removeFirst(min(position, held.count)) }
      if opensAtOnce, phase == .awaitingUpstream { ready() }
      if position == 0, phase == phase { return }
    }
    if opensAtOnce, phase == .awaitingUpstream { ready() }
  }

  private mutating func step(_ input: [UInt8], _ fact: (inout ClientConnection, inout Output) -> Void) {
    output.reset()
    let wasIdle = phase == .awaitingHead
    fact(&box.machine, &output)
    if wasIdle, phase == .awaitingUpstream { begun += 1 }
    let actions = output.actions
    if actions.contains(.sendHead) {
      asked.append(output.isAsked)
      let credential = box.machine.exchange.grant == nil ? "" : "<credential>\r\n"
      send(output.upstreamHead.contents + Array(credential.utf8) + Array("\r\n".utf8))
    }
    if actions.contains(.inspectResponse) { verdicts.append(output.verdict) }
    if actions.contains(.restartDeadline) { restarts += 1 }
    if actions.contains(.dedicateUpstream) { log.append("dedicate") }
    if actions.contains(.sendBody) { send(Array(output.toUpstream.contents) + input[output.upstreamBody]) }
    if actions.contains(.sendToClient) {
      #expect(phase != .closed || actions.contains(.close) || actions.contains(.reset))
      received += Array(output.toClient.contents) + input[output.clientBody]
    }
    for (action, name) in named where actions.contains(action) {
      log.append(name)
      if [.releaseUpstream, .dropUpstream, .resetUpstream].contains(action) {
        hasSession = false
        heldResponse = []
      }
      if action == .record {
        records.append(box.machine.exchange.record)
        // The log reads this.
        #expect(head.methodRange.upperBound <= head.bytes.count)
      }
    }
  }

  private mutating func send(_ bytes: [UInt8]) {
    #expect(hasSession, "bytes without a session")
    if !sessions.isEmpty { sessions[sessions.count - 1] += bytes }
  }

  private var named: [(Actions, String)] {
    [
      (.releaseUpstream, "release"), (.dropUpstream, "drop"), (.record, "record"), (.openUpstream, "open"),
      (.openFreshUpstream, "open fresh"), (.shutdownUpstream, "shutdown upstream"), (.resetUpstream, "reset upstream"),
      (.shutdownClient, "shutdown client"), (.close, "close"), (.reset, "reset"), (.renewCredential, "renew"),
      (.replaceCredential, "replace"), (.continueLater, "later"),
    ]
  }
}

/// A whole request and a whole answer; what came of them.
func exchange(_ request: String, _ response: String? = nil, _ snapshot: Snapshot) -> Conversation {
  var conversation = Conversation(snapshot)
  conversation.client(request)
  if let response { conversation.upstream(response) }
  return conversation
}

/// A GET on `/api/x` with these field lines.
func get(_ fields: String..., target: String = "/api/x", method: String = "GET", version: String = "1.1") -> String {
  "\(method) \(target) HTTP/\(version)\r\nHost: localhost:7070\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
}

func ok(_ fields: String..., status: String = "200 OK", body: String = "hi") -> String {
  "HTTP/1.1 \(status)\r\n" + fields.map { $0 + "\r\n" }.joined() + "Content-Length: \(body.utf8.count)\r\n\r\n" + body
}

/// The first line and the fields of the first head in `text`.
func head(_ text: String) -> [String] {
  var lines: [String] = []
  for line in text.split(separator: "\r\n", omittingEmptySubsequences: false) {
    if line.isEmpty { break }
    lines.append(String(line))
  }
  return lines
}

func status(_ text: String) -> String { head(text).first.map { String($0.dropFirst(9).prefix(3)) } ?? "" }

/// The value of a field, by its name as written here.
func value(_ name: String, _ text: String) -> String? {
  head(text).first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
}

/// nil: no chunked body, or not a whole one.
func unchunked(_ text: String) -> String? {
  var rest = text[...]
  var body = ""
  while let line = rest.firstRange(of: "\r\n") {
    guard let size = Int(rest[..<line.lowerBound], radix: 16) else { return nil }
    rest = rest[line.upperBound...]
    if size == 0 { return rest == "\r\n" || rest.isEmpty ? body : nil }
    guard rest.utf8.count >= size + 2 else { return nil }
    body += rest.prefix(size)
    rest = rest.dropFirst(size)
    guard rest.hasPrefix("\r\n") else { return nil }
    rest = rest.dropFirst(1)
  }
  return nil
}
