import Gateway
import HTTP1
import Policy
import Primitives
import Testing

let caller = Caller(uid: 1000)

/// Returns a configuration with a service at `/api/` for `https://up.test/base/`, and a credential in Authorization.
func snapshot(
  at mount: Mount = .path(Array("/api/".utf8)), upstream: String = "https://up.test/base/",
  credential: CredentialChoice = .inject(0), fields: [String] = ["authorization"], generation: UInt64 = 1,
  more: [Service] = [], limits: HeadLimits = HeadLimits(), pages: [String] = [], replayBuffer: Int? = nil,
  signsForms: Bool = false, authRetry: AuthRetryReason = .expiry, expiry: ExpirySigns = ExpirySigns(),
  cookie: String? = nil,
  origins: [Origin]? = nil, edit: (inout Service) -> Void = { _ in }
) throws -> Snapshot {
  var service = Service(
    name: "api", listener: 0, mount: mount, upstream: try Upstream(parsing: upstream), credential: credential)
  edit(&service)
  let grant = Grant(
    name: "token", origins: origins ?? [service.upstream.origin], callers: nil, fieldNames: fields,
    replayBuffer: replayBuffer, signsForms: signsForms, authRetry: authRetry, expiry: expiry, cookie: cookie)
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

/// Runs the requests of one connection as the daemon does: carries out actions, and buffers bytes that the state machine
/// does not consume yet.
struct Conversation {
  /// A reference, because the testing macros copy values, and the state machine cannot be copied.
  final class Box {
    var machine: RequestMachine
    init(_ machine: consuming RequestMachine) { self.machine = machine }
  }
  /// The phase of the current request, or of the connection after its last request.
  enum Phase { case awaitingHead, awaitingUpstream, awaitingRetry, exchanging, upgraded, lingering, closed }
  let box: Box
  var snapshot: Snapshot
  /// Whether upstream connections open immediately. Otherwise the test calls `ready`.
  var opensImmediately = true
  var isReused = false
  /// All bytes sent to the client.
  var received: [UInt8] = []
  /// All bytes sent on each upstream connection, with `<credential>` instead of the credential.
  var sessions: [[UInt8]] = []
  /// All actions in order, except sending bytes.
  var log: [String] = []
  var records: [AccessRecord] = []
  /// For each sent head: whether the upstream had sent a challenge.
  private(set) var challenged: [Bool] = []
  /// What each response means for the credential.
  private(set) var verdicts: [CredentialVerdict?] = []
  /// The verdicts that the end of a gRPC call may change.
  private(set) var preliminaryVerdicts: [CredentialVerdict] = []
  /// The number of deadline restarts.
  private(set) var restarts = 0
  /// The number of requests that were accepted for forwarding.
  private(set) var begun = 0
  /// Bytes of the client that the state machine has not consumed yet.
  private(set) var buffered: [UInt8] = []
  /// Searches responses. `nil` if no search is possible.
  var redaction: RedactionDouble? = RedactionDouble()
  /// The protocol of the connection to the upstream.
  var applicationProtocol = ApplicationProtocol.http1
  /// The trailers of requests over HTTP/2.
  private(set) var requestTrailers = ""
  /// The heads of responses for a client over HTTP/2.
  private(set) var clientHeads = ""
  private(set) var responseTrailers = ""
  /// The event loop's time in milliseconds.
  var now: UInt64 = 0
  private var bufferedResponse: [UInt8] = []
  private var hasSession = false
  private var output = Output()
  private let arrival: Arrival
  private var isLingering = false
  private var isClosed = false

  init(_ snapshot: Snapshot, caller: Caller? = caller) {
    self.init(snapshot, caller, Box(RequestMachine(limits: snapshot.headLimits)))
  }

  private init(_ snapshot: Snapshot, _ caller: Caller?, _ box: Box) {
    self.snapshot = snapshot
    self.box = box
    arrival = Arrival(listener: snapshot.listeners[0], caller: caller)
    box.machine.begin(arrival, isFirst: true)
  }

  /// Sends a request and its response, both with private data.
  mutating func ask() {
    client(get("Cookie: mine", target: "/api/secret?mine"))
    upstream(ok("Set-Cookie: mine"))
  }

  /// Everything that the client got, without the lines `Cache-Control: private`, which `CachePrivacyTests` checks.
  var response: String { wholeResponse.replacing("Cache-Control: private\r\n", with: "") }
  var wholeResponse: String { String(decoding: received, as: UTF8.self) }
  var request: String { sessions.last.map { String(decoding: $0, as: UTF8.self) } ?? "" }
  var isOver: Bool { phase == .closed || phase == .lingering }

  var phase: Phase {
    if isClosed { return .closed }
    if isLingering { return .lingering }
    return switch box.machine.phase {
    case .awaitingHead, .ended: .awaitingHead
    case .awaitingUpstream: .awaitingUpstream
    case .awaitingRetry: .awaitingRetry
    case .exchanging: .exchanging
    case .upgraded: .upgraded
    }
  }
  var deadline: Deadline { box.machine.deadline }
  var pausesReadingWhenBuffered: Bool { box.machine.pausesReadingWhenBuffered }
  var head: RequestHead { box.machine.relay.exchange.head }
  var target: CanonicalTarget { box.machine.relay.exchange.target }
  var responseHead: ResponseHead { box.machine.relay.exchange.response }
  var route: Route? { box.machine.relay.exchange.route }
  /// What could be left of an earlier request.
  var summary: String {
    let machine = (grant: box.machine.relay.exchange.grant, redact: box.machine.relay.exchange.redact)
    return
      "\(phase) \(deadline) \(pausesReadingWhenBuffered) \(box.machine.awaitsRequestBody) \(String(describing: route))"
      + " \(machine) \(String(describing: box.machine.relay.exchange.snapshot?.generation))"
      + " \(box.machine.relay.exchange.isForwarding) \(box.machine.relay.exchange.isAwaitingRenewal)"
      + " \(box.machine.relay.exchange.record.bytesUp)"
  }
  func isStillAllowed(by snapshot: Snapshot) -> Bool { box.machine.isStillAllowed(by: snapshot) }

  // MARK: events

  mutating func client(_ text: String) { client(Array(text.utf8)) }

  mutating func client(_ bytes: [UInt8]) {
    buffered += bytes
    offer()
  }

  /// Begins a request that an HTTP/2 connection has read, on a new stream.
  mutating func clientHead(_ fields: [(String, String)], endsStream: Bool = true) {
    box.machine.renew()
    box.machine.begin(arrival, isFirst: sessions.isEmpty, over: .http2)
    isLingering = false
    clientMessage(.head(headerBlock(fields)), isLast: endsStream)
  }

  /// Receives what an HTTP/2 connection has read on the stream of the client's request.
  mutating func clientMessage(_ message: StreamMessage, isLast: Bool = false) {
    box.machine.receivedMessageFromClient(message)
    if isLast { box.machine.receivedMessageFromClient(.end) }
    let snapshot = snapshot
    var position = 0
    step([]) { machine, output in
      let nothing: [UInt8] = []
      machine.receivedFromClient(nothing.span, position: &position, snapshot: snapshot, output: &output)
    }
    if opensImmediately, phase == .awaitingUpstream { ready() }
  }

  mutating func upstream(_ text: String) { upstream(Array(text.utf8)) }

  mutating func upstream(_ bytes: [UInt8]) {
    guard hasSession else { return }
    bufferedResponse += bytes
    let input = bufferedResponse
    var position = 0
    step(input) { [redaction, now] machine, output in
      machine.receivedFromUpstream(input.span, position: &position, redaction: redaction, now: now, output: &output)
    }
    bufferedResponse = hasSession ? Array(input[position...]) : []
    offer()
  }

  /// Receives what an HTTP/2 connection has read on the request's stream.
  mutating func stream(_ message: StreamMessage) {
    guard hasSession else { return }
    apply { machine, _ in machine.receivedMessage(message) }
    upstream([])
  }

  /// Receives a response over HTTP/2.
  mutating func stream(_ status: Int, _ fields: (String, String)..., data: String..., trailers: [(String, String)] = [])
  {
    stream(.head(headerBlock([(":status", "\(status)")] + fields)))
    for piece in data { upstream(piece) }
    if !trailers.isEmpty { stream(.trailers(headerBlock(trailers))) }
    stream(.end)
  }

  mutating func ready() {
    if isReused { log.append("reused") }
    hasSession = true
    sessions.append([])
    let input = buffered
    var position = 0
    let (isReused, applicationProtocol) = (isReused, applicationProtocol)
    step(input) { machine, output in
      machine.upstreamReady(
        isReused: isReused, over: applicationProtocol, input.span, position: &position, output: &output)
    }
    buffered = Array(input[position...])
    offer()
  }

  mutating func apply(_ event: (inout RequestMachine, inout Output) -> Void) {
    step([], event)
    offer()
  }

  /// Reports a failed renewal, and offers the buffered response again, as the daemon does.
  mutating func renewalRefused() {
    apply { machine, _ in machine.renewalRefused() }
    upstream([])
  }

  mutating func upstreamEnded(isClean: Bool = true) {
    apply { [redaction] in $0.upstreamEnded(isClean: isClean, redaction: redaction, output: &$1) }
  }

  /// Reuses the state machine for another client's connection.
  mutating func recycle(for caller: Caller?) {
    box.machine.renew()
    let box = box
    self = Conversation(snapshot, caller, box)
  }

  // MARK: actions

  private mutating func offer() {
    while !buffered.isEmpty, phase != .closed {
      if isLingering { return buffered = [] }
      if box.machine.phase == .ended {
        box.machine.renew()
        box.machine.begin(arrival, isFirst: false)
      }
      let input = buffered
      let phase = phase
      var position = 0
      let snapshot = snapshot
      step(input) { machine, output in
        machine.receivedFromClient(input.span, position: &position, snapshot: snapshot, output: &output)
      }
      // `ready` may have consumed more bytes.
      if position > 0 { buffered.removeFirst(min(position, buffered.count)) }
      if opensImmediately, phase == .awaitingUpstream { ready() }
      if position == 0, phase == phase { return }
    }
    if opensImmediately, phase == .awaitingUpstream { ready() }
  }

  private mutating func step(_ input: [UInt8], _ event: (inout RequestMachine, inout Output) -> Void) {
    output.begin()
    let wasIdle = phase == .awaitingHead
    event(&box.machine, &output)
    if wasIdle, phase == .awaitingUpstream { begun += 1 }
    let actions = output.results.actions
    if actions.contains(.close) || actions.contains(.reset) {
      isClosed = true
      #expect(box.machine.phase == .ended)
    }
    if actions.contains(.shutdownClient), box.machine.phase == .ended { isLingering = true }
    if actions.contains(.sendHead) {
      challenged.append(output.results.isChallenged)
      let credential = box.machine.relay.exchange.grant == nil ? "" : "<credential>\r\n"
      var head = ByteBuffer()
      RequestWriter.write(output.upstreamRequest, to: &head)
      send(head.contents + Array(credential.utf8) + Array("\r\n".utf8))
    }
    if actions.contains(.inspectResponse) || actions.contains(.judgeCredential) {
      if output.results.isVerdictPreliminary {
        if let verdict = output.results.verdict { preliminaryVerdicts.append(verdict) }
      } else {
        verdicts.append(output.results.verdict)
      }
    }
    if actions.contains(.restartDeadline) { restarts += 1 }
    if actions.contains(.dedicateUpstream) { log.append("dedicate") }
    if actions.contains(.sendBody) { send(Array(output.toUpstream.contents) + input[output.results.upstreamBody]) }
    if actions.contains(.sendToClient) {
      #expect(phase != .closed || actions.contains(.close) || actions.contains(.reset))
      received += Array(output.toClient.contents) + input[output.results.clientBody]
    }
    if actions.contains(.sendHeads) { clientHeads += String(decoding: output.clientHeads.contents, as: UTF8.self) }
    if actions.contains(.endResponse) {
      log.append("end of response")
      responseTrailers += String(decoding: output.trailers.contents, as: UTF8.self)
    }
    if actions.contains(.endRequest) {
      log.append("end of request")
      requestTrailers += String(decoding: output.requestTrailers.contents, as: UTF8.self)
    }
    for (action, name) in named where actions.contains(action) {
      log.append(name)
      if [.releaseUpstream, .dropUpstream, .resetUpstream].contains(action) {
        hasSession = false
        bufferedResponse = []
      }
      if action == .record {
        records.append(box.machine.relay.exchange.record)
        // The log uses this range.
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
      (.replaceCredential, "replace"), (.continueLater, "later"), (.prepareRetry, "wait"),
    ]
  }
}

func headerBlock(_ fields: [(String, String)]) -> HeaderBlock {
  var block = HeaderBlock()
  for (name, value) in fields { block.append(name: name.utf8.span, value: value.utf8.span) }
  return block
}

/// Sends a complete request and response, and returns the conversation.
func exchange(_ request: String, _ response: String? = nil, _ snapshot: Snapshot) -> Conversation {
  var conversation = Conversation(snapshot)
  conversation.client(request)
  if let response { conversation.upstream(response) }
  return conversation
}

/// Returns a request with these field lines.
func get(_ fields: String..., target: String = "/api/x", method: String = "GET", version: String = "1.1") -> String {
  "\(method) \(target) HTTP/\(version)\r\nHost: localhost:7070\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
}

func ok(_ fields: String..., status: String = "200 OK", body: String = "hi") -> String {
  "HTTP/1.1 \(status)\r\n" + fields.map { $0 + "\r\n" }.joined() + "Content-Length: \(body.utf8.count)\r\n\r\n" + body
}

/// Returns the lines of the first head in `text`.
func head(_ text: String) -> [String] {
  var lines: [String] = []
  for line in text.split(separator: "\r\n", omittingEmptySubsequences: false) {
    if line.isEmpty { break }
    lines.append(String(line))
  }
  return lines
}

func status(_ text: String) -> String { head(text).first.map { String($0.dropFirst(9).prefix(3)) } ?? "" }

/// Returns the value of a field. The name is case-sensitive.
func value(_ name: String, _ text: String) -> String? {
  head(text).first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
}

/// Decodes a chunked body. `nil` if it is malformed or incomplete.
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
