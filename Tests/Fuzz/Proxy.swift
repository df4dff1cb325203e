import Gateway
import HTTP1
import Policy
import Primitives

/// The configurations with which messages are fuzzed.
enum World {
  /// A service at `/api/` for `https://up.test/base/`, with a credential.
  static let usual = snapshot(at: .path(bytesOf("/api/")), upstream: "https://up.test/base/") { _ in }
  /// Like `usual`, and web pages of one origin may send requests.
  static let open = snapshot(at: .path(bytesOf("/api/")), upstream: "https://up.test/base/", page: "https://app.test") {
    _ in
  }
  /// Like `usual`, with `cookies: pass` and a second service below the first one.
  static let nested = snapshot(
    at: .path(bytesOf("/api/")), upstream: "https://up.test/base/",
    more: [service("in", "/api/in/", "https://in.test/")]
  ) { $0.options.cookies = .pass }
  /// Like `usual`, and callers need a client token.
  static let proving = snapshot(
    at: .path(bytesOf("/api/")), upstream: "https://up.test/base/", clients: [Client(name: "fuzzer", digests: digests)]
  ) { _ in }
  static let token = "bearerd_fuzzfuzzfuzzfuzzfuzzfuzzfuzzfuzzfuzzfuzzfuz"
  private static let digests = [hash(bytesOf(token).span)].compactMap { $0 }

  /// A simple substitute for a cryptographic hash.
  private static func hash(_ token: Span<UInt8>) -> TokenDigest? {
    var digest = [UInt8](repeating: 0, count: 32)
    for index in token.indices { digest[index % 32] = digest[index % 32] &* 31 &+ token[index] }
    return TokenDigest(digest.span)
  }

  /// A service for the whole listener and the whole upstream, with `credential: pass`.
  static let whole = snapshot(at: .whole, upstream: "https://up.test/") { $0.credential = .pass }

  private static func snapshot(
    at mount: Mount, upstream: String, page: String? = nil, more: [Service] = [], clients: [Client] = [],
    _ edit: (inout Service) -> Void
  ) -> Snapshot {
    var main = service("api", "/", upstream)
    main.mount = mount
    main.credential = .inject(0)
    edit(&main)
    let grant = Grant(name: "token", origins: [main.upstream.origin], callers: nil, fieldNames: ["authorization"])
    let names = ["localhost:7070", "127.0.0.1:7070", "[::1]:7070"]
    var limits = HeadLimits()
    limits.headBytes = 4096
    return Snapshot(
      generation: 1, rules: RuleSet(services: [main] + more, grants: [grant]),
      admissions: [
        Admission(
          callers: Callers(uids: [1000]), authorities: names, clients: clients,
          pages: PageOrigins(page.map { [PageOrigin(origin($0))] } ?? []))
      ], headLimits: limits,
      ownAuthorities: Set(names), tokenHash: { hash($0) })
  }

  private static func origin(_ text: String) -> Origin {
    do throws(PolicySyntaxError) { return try Origin(parsing: text) } catch { preconditionFailure(error.message) }
  }

  private static func service(_ name: String, _ path: String, _ upstream: String) -> Service {
    do throws(PolicySyntaxError) {
      return Service(
        name: name, listener: 0, mount: .path(bytesOf(path)), upstream: try Upstream(parsing: upstream),
        credential: .none)
    } catch {
      preconditionFailure(error.message)
    }
  }
}

/// A search for secrets that finds nothing.
final class NothingFound: Redaction {
  var isWhole: Bool { true }
  func decode(_ coding: ContentCoding) -> Bool { false }
  let count: UInt64 = 0
  let steps = 0
  func redact(_ text: inout [UInt8]) -> Bool { true }
  func redact(_ piece: Span<UInt8>, changed: inout [UInt8]) -> Range<Int>? { 0..<piece.count }
  func release(to changed: inout [UInt8]) {}
}

/// A client connection that carries out its actions in memory. Upstream connections are available immediately.
struct Proxy: ~Copyable {
  /// The field line that replaces the keyring's credential.
  static let credential = "Authorization: Bearer canary"

  /// All bytes that were sent to each session.
  private(set) var sessions: [[UInt8]] = []
  private(set) var toClient: [UInt8] = []
  /// `true` if the connection was reset, so that the client knows that the response is incomplete.
  private(set) var isReset = false
  private var machine: RequestMachine
  private let arrival: Arrival
  private var isOver = false
  private let snapshot: Snapshot
  private var output = Output()
  /// Bytes of the client that the state machine has not consumed yet.
  private var buffered: [UInt8] = []
  private let redaction = NothingFound()
  private var bufferedResponse: [UInt8] = []

  /// The client is connected to a Unix socket, so that every `Host` is admitted.
  init(_ snapshot: Snapshot) {
    self.snapshot = snapshot
    machine = RequestMachine(limits: snapshot.headLimits)
    arrival = Arrival(listener: snapshot.listeners[0], caller: Caller(uid: 1000), isLocalSocket: true)
    machine.begin(arrival, isFirst: true)
  }

  /// Whether the connection serves no further request.
  var isClosed: Bool { isOver && machine.phase == .ended }
  /// `true` if a whole request was sent, and its response is incomplete.
  var awaitsResponse: Bool { mutating get { machine.phase == .exchanging && machine.pausesReadingWhenBuffered } }
  var isExchanging: Bool { machine.phase == .exchanging }

  mutating func client(_ bytes: [UInt8]) {
    buffered += bytes
    offer()
  }

  mutating func upstream(_ bytes: [UInt8]) {
    guard isExchanging else { return }
    let input = bufferedResponse + bytes
    var position = 0
    output.begin()
    machine.receivedFromUpstream(input.span, position: &position, redaction: redaction, output: &output)
    carryOut(input)
    bufferedResponse = isExchanging ? Array(input[position...]) : []
    offer()
  }

  mutating func upstreamEnded() {
    output.begin()
    machine.upstreamEnded(isClean: true, redaction: redaction, output: &output)
    carryOut([])
  }

  private mutating func offer() {
    while !buffered.isEmpty || machine.phase == .awaitingUpstream, !isClosed {
      if machine.phase == .ended {
        machine.renew()
        machine.begin(arrival, isFirst: false)
      }
      let input = buffered
      var position = 0
      output.begin()
      if machine.phase == .awaitingUpstream {
        sessions.append([])
        machine.upstreamReady(isReused: false, input.span, position: &position, output: &output)
        carryOut(input)
      } else {
        machine.receivedFromClient(input.span, position: &position, snapshot: snapshot, output: &output)
        carryOut(input)
        if position == 0, machine.phase != .awaitingUpstream { return }
      }
      buffered.removeFirst(position)
    }
  }

  private mutating func carryOut(_ input: [UInt8]) {
    if output.results.actions.contains(.sendHead) {
      let credential = machine.relay.exchange.grant == nil ? "" : Proxy.credential + "\r\n"
      var head = ByteBuffer()
      RequestWriter.write(output.upstreamRequest, to: &head)
      send(head.contents + bytesOf(credential + "\r\n"))
    }
    if output.results.actions.contains(.sendBody) {
      send(Array(output.toUpstream.contents) + input[output.results.upstreamBody])
    }
    if output.results.actions.contains(.reset) { isReset = true }
    if !output.results.actions.isDisjoint(with: [.reset, .close, .shutdownClient]) { isOver = true }
    if output.results.actions.contains(.sendToClient) {
      toClient += Array(output.toClient.contents) + input[output.results.clientBody]
    }
  }

  private mutating func send(_ bytes: [UInt8]) {
    guard let last = sessions.indices.last else { return promise(false, "bytes without a session: \(shown(bytes))") }
    sessions[last] += bytes
  }
}
