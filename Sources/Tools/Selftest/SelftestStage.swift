internal import Console
internal import Configuration
internal import Setup
internal import TestServer
internal import Gateway
internal import Glibc
internal import Policy
internal import System

/// Everything around the daemon under test: embedded upstreams, canaries, the derived configuration, and a log of all bytes.
final class SelftestStage {
  let directory: ThrowawayDirectory
  let servers: SelftestUpstreams
  /// The derived configuration, as the daemon reads it.
  let settings: Settings
  let snapshot: Snapshot
  let canaries: [Canary]
  let daemon: SelftestDaemon
  /// One per service under test that a request can get through to.
  let targets: [Target]
  /// Services under test that no request gets through to.
  let unreachable: [String]
  let standIn: TestConfiguration
  /// Bytes of an answer that are waited for. No attack provokes as many, but a broken daemon may never stop.
  private static let most = 1 << 24
  /// How many daemons there have been.
  var daemons = 1

  /// - Parameter only: the one service to test; nil: all.
  init(_ configuration: Settings, _ tree: ConfigurationTree, only: String?, signals: SignalDescriptor) throws {
    let servers = try SelftestUpstreams(for: configuration.rules.services)
    self.servers = servers
    let authority = servers.authority
    directory = try ThrowawayDirectory()
    standIn = TestConfiguration(
      tree: tree, uid: Users.currentUID, origins: servers.standIns, nowhere: servers.evil.origin,
      directory: directory.path,
      pins: [authority.leaf.pin, authority.backup.pin])

    try directory.write("ca.pem", authority.root.pem)
    try directory.write("stranger.pem", authority.stranger.pem)
    let secrets = Canary.secrets(for: configuration)
    for (file, secret) in secrets { try directory.write(file, secret + "\n") }
    let file = "\(directory.path)/bearerd.yaml"
    try directory.write("bearerd.yaml", standIn.text)
    settings = try SelftestStage.load(file)
    canaries = Canary.all(of: settings, secrets)
    let daemon = try SelftestDaemon(configuration: file, signals: signals)
    guard daemon.isReady else {
      throw Failure(Failure.system, "bearerd did not start with the test configuration. Its output:\n\(daemon.text)")
    }
    self.daemon = daemon
    let ports = settings.listeners.map { listener -> [UInt16] in
      if case .port(let port, _) = daemon.places[listener.name] { [port] } else { [] }
    }
    snapshot = ConfigurationLoader.snapshot(of: settings, generation: 1, ports: ports)
    let finder = TargetFinder(settings: settings, snapshot: snapshot, places: daemon.places, upstreams: servers.all)
    let targets = finder.targets(only: only)
    self.targets = targets
    unreachable = settings.rules.services.map(\.name).filter { name in
      (only == nil || only == name) && !targets.contains { $0.name == name }
    }
  }

  func end() {
    for upstream in servers.all + [servers.evil] { upstream.server.stop() }
    directory.remove()
  }

  /// The targets through which a credential goes out.
  var injecting: [Target] { targets.filter { $0.grant != nil } }

  /// The value of a key in the user's file at a target; nil: none.
  func written(_ key: String, of target: Target) -> String? {
    guard case .scalar(let text, _) = standIn.tree["services"]?[target.name]?[key] else { return nil }
    return text
  }

  /// Whether its rate in the user's file is that of its every rule.
  func limitsRate(of target: Target) -> Bool {
    guard let rate = written("rate", of: target), rate != "none" else { return false }
    guard case .sequence(let rules) = standIn.tree["services"]?[target.name]?["rules"] else { return true }
    return rules.allSatisfy { $0["rate"] == nil }
  }

  /// The services' targets, where this daemon answers.
  func targets(at daemon: SelftestDaemon) -> [Target] {
    targets.compactMap { target in
      let name = settings.listeners[target.service.listener].name
      return daemon.places[name].map { target.at($0) }
    }
  }

  /// The canaries of the credential that goes out through a target.
  func canaries(of target: Target) -> [Canary] { canaries.filter { $0.credential == target.grant } }

  /// One target for each credential.
  var byCredential: [Target] {
    var seen: Set<Int> = []
    return injecting.filter { target in target.grant.map { seen.insert($0).inserted } ?? false }
  }

  func upstream(of target: Target) -> EmbeddedUpstream? { servers.all.first { $0.origin == target.upstream } }

  // MARK: asking

  /// Sends the bytes on a connection of their own, and collects what comes until the end, or for these seconds.
  func send(_ bytes: [UInt8], to target: Target, seconds: UInt64 = 10) throws -> Reply {
    let isHead = bytes.starts(with: Array("HEAD ".utf8))
    var answer: [UInt8] = []
    do throws(SocketError) {
      let socket = try target.connect(seconds: seconds)
      try socket.send(bytes)
      while answer.count < Self.most, !Reply(answer).isWholeAndKept(toHead: isHead),
        case let more = try socket.receive(), !more.isEmpty
      { answer += more }
    } catch {}  // The bytes until then are the answer.
    return try reply(answer, of: target)
  }

  func send(_ text: String, to target: Target) throws -> Reply { try send(Array(text.utf8), to: target) }

  /// The rest follows when the answer has begun.
  func send(_ text: String, thenMore rest: String, to target: Target) throws -> Reply {
    let isHead = text.hasPrefix("HEAD ")
    var answer: [UInt8] = []
    do throws(SocketError) {
      let socket = try target.connect(seconds: 10)
      try socket.send(Array(text.utf8))
      answer = try socket.receive()
      try socket.send(Array(rest.utf8))
      while answer.count < Self.most, !Reply(answer).isWholeAndKept(toHead: isHead),
        case let more = try socket.receive(), !more.isEmpty
      { answer += more }
    } catch {}  // The bytes until then are the answer.
    return try reply(answer, of: target)
  }

  /// To close without a word is to refuse, but only of a daemon that still answers others.
  private func reply(_ answer: [UInt8], of target: Target) throws -> Reply {
    try daemon.drain()
    let reply = Reply(answer)
    if reply.status == 0 { try demandAnswer(of: target) }
    return reply
  }

  /// Throws if nothing is said to a request without a Host, which no listener leaves without an answer.
  func demandAnswer(of target: Target) throws {
    var answer: [UInt8] = []
    do throws(SocketError) {
      let socket = try target.connect(seconds: 10)
      try socket.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
      while Reply(answer).status == 0, case let more = try socket.receive(), !more.isEmpty { answer += more }
    } catch {}  // The bytes until then decide.
    try daemon.drain()
    guard Reply(answer).status == 0 else { return }
    let last = daemon.text.split(separator: "\n").suffix(5).map { String($0).harmless }.joined(separator: "\n")
    throw Failure(
      Failure.system,
      "bearerd does not respond (service \(target.name)), and silence does not count as a refusal. "
        + "Its last output:\n\(last)")
  }

  /// Asks until what the upstream receives is so, and is answered with 200; false: it did not come to that in ten seconds.
  func settle(_ target: Target, until condition: (ReceivedRequest) -> Bool) throws -> Bool {
    let deadline = Clock.monotonicMicroseconds + 10_000_000
    while Clock.monotonicMicroseconds < deadline {
      let before = servers.script.count
      let isAnswered = try send(target.request(), to: target).status == 200
      if isAnswered, let last = servers.script.received.dropFirst(before).last, condition(last) { return true }
      usleep(10_000)
    }
    return false
  }

  /// The requests that the upstreams received while `body` ran.
  func receivedDuring(_ body: () throws -> Void) rethrows -> [ReceivedRequest] {
    let before = servers.script.count
    try body()
    return Array(servers.script.received.dropFirst(before))
  }

  /// The request has to be refused by bearerd, and nothing may be sent.
  /// - Parameter statuses: those of the refusal; nil: any refusal.
  func refuse(
    _ request: String, to target: Target, _ tried: String, _ statuses: Set<Int>? = nil, _ tally: inout AttackTally
  )
    throws
  {
    let before = servers.script.count
    let reply = try send(request, to: target)
    let sent = servers.script.count - before
    let isRefused = statuses.map { $0.contains(reply.status) } ?? reply.isRefusal
    let wanted = statuses.map { $0.sorted().map(String.init).joined(separator: " or ") } ?? "a refusal"
    if isRefused, sent == 0 { tally.refused += 1 }
    tally.check(
      isRefused && sent == 0, "\(target.name): \(tried)",
      seen: "\(reply.short)\(sent > 0 ? ", and the upstream got it" : "")", expected: "\(wanted), and nothing sent")
  }

  /// The request has to get through: it must keep working.
  /// - Returns: what the upstream received.
  @discardableResult
  func pass(_ request: String, to target: Target, _ tried: String, _ tally: inout AttackTally) throws -> (
    request: ReceivedRequest, reply: Reply
  )? {
    let before = servers.script.count
    let reply = try send(request, to: target)
    let requests = Array(servers.script.received.dropFirst(before))
    let isRight = reply.status == 200 && requests.count == 1
    if isRight { tally.passed += 1 }
    tally.check(
      isRight, "\(target.name): \(tried)",
      seen: "\(reply.short), \(counted(requests.count, "request")) at the upstream",
      expected: "200, and 1 request at the upstream")
    return isRight ? requests.first.map { ($0, reply) } : nil
  }

  private static func load(_ file: String) throws -> Settings {
    do throws(LoadError) {
      return try ConfigurationLoader.load(file).settings
    } catch {
      let reasons = error.diagnostics.filter { $0.severity == .error }.map { $0.description }
      throw Failure(
        Failure.usage, "the self-test cannot use a copy of this configuration:\n\(reasons.joined(separator: "\n"))")
    }
  }
}
