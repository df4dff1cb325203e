internal import Console
internal import Configuration
internal import Settings
internal import Loading
internal import TestServer
internal import Gateway
internal import Glibc
internal import Policy
internal import System

/// The environment of the attacks: the daemon under test, its services and upstreams.
final class SelftestStage {
  let directory: TemporaryDirectory
  let servers: SelftestUpstreams
  let settings: DaemonSettings
  let snapshot: Snapshot
  let canaries: [Canary]
  let daemon: StartedDaemon
  let targets: [Target]
  /// Names of the services that cannot be attacked, because no allowed request was found.
  let unreachable: [String]
  let testConfiguration: TestConfiguration
  /// Maximum number of bytes to read of a response.
  private static let maximumResponse = 1 << 24
  var daemonCount = 1

  /// - Parameter only: Name of the service to attack; `nil` for all services.
  init(_ configuration: DaemonSettings, _ tree: ConfigurationTree, only: String?, signals: SignalDescriptor) throws {
    servers = try SelftestUpstreams(for: configuration.rules.services)
    let authority = servers.authority
    directory = try TemporaryDirectory()
    testConfiguration = TestConfiguration(
      tree: tree, uid: Users.currentUID, origins: servers.standIns, unusedOrigin: servers.evil.origin,
      directory: directory.path, pins: [authority.leaf.pin, authority.backup.pin])
    try directory.write("ca.pem", authority.root.pem)
    try directory.write("stranger.pem", authority.untrustedRoot.pem)
    let secrets = Canary.secrets(for: configuration)
    for (file, secret) in secrets { try directory.write(file, secret + "\n") }
    let file = "\(directory.path)/bearerd.yaml"
    try directory.write("bearerd.yaml", testConfiguration.text)
    settings = try SelftestStage.load(file)
    canaries = Canary.all(of: settings, secrets)
    let daemon = try StartedDaemon(configuration: file, signals: signals)
    guard daemon.isReady else {
      throw Failure(Failure.system, "bearerd did not start with the test configuration. Its output:\n\(daemon.output)")
    }
    self.daemon = daemon
    let ports = settings.listeners.map { daemon.endpoints[$0.name]?.port.map { [$0] } ?? [] }
    snapshot = ConfigurationLoader.snapshot(of: settings, generation: 1, ports: ports)
    let finder = TargetFinder(
      settings: settings, snapshot: snapshot, endpoints: daemon.endpoints, upstreams: servers.all)
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

  /// The targets with a credential that bearerd adds.
  var injecting: [Target] { targets.filter { $0.grant != nil } }

  /// The targets whose upstream uses TLS.
  var verified: [Target] { targets.filter { $0.upstream.scheme == .https } }

  /// Returns the value of a key of the service in the user's file; `nil` if the service does not have the key.
  func setting(_ key: String, of target: Target) -> String? {
    guard case .scalar(let text, _) = testConfiguration.tree["services"]?[target.name]?[key] else { return nil }
    return text
  }

  /// Whether the user's file limits the service by a single rate.
  func limitsRate(of target: Target) -> Bool {
    guard let rate = setting("rate", of: target), rate != "none" else { return false }
    guard case .sequence(let rules) = testConfiguration.tree["services"]?[target.name]?["rules"] else { return true }
    return rules.allSatisfy { $0["rate"] == nil }
  }

  /// Returns the same targets with the addresses of an additional daemon.
  func targets(at daemon: StartedDaemon) -> [Target] {
    targets.compactMap { target in
      let name = settings.listeners[target.service.listener].name
      return daemon.endpoints[name].map { target.at($0) }
    }
  }

  func canaries(of target: Target) -> [Canary] { canaries.filter { $0.credential == target.grant } }

  var onePerCredential: [Target] {
    var seen: Set<Int> = []
    return injecting.filter { target in target.grant.map { seen.insert($0).inserted } ?? false }
  }

  func upstream(of target: Target) -> EmbeddedUpstream? { servers.all.first { $0.origin == target.upstream } }

  // MARK: sending

  /// Sends the text on a new connection, and returns the response.
  /// - Parameter rest: Sent after the beginning of the response.
  func send(_ text: String, thenMore rest: String? = nil, to target: Target, seconds: UInt64 = 10) throws -> Reply {
    try send(Array(text.utf8), thenMore: rest, to: target, seconds: seconds)
  }

  func send(_ bytes: [UInt8], thenMore rest: String? = nil, to target: Target, seconds: UInt64 = 10) throws -> Reply {
    let isHead = bytes.starts(with: "HEAD ".utf8)
    var response: [UInt8] = []
    do throws(SocketError) {
      let socket = try target.connect(seconds: seconds)
      try socket.send(bytes)
      if let rest {
        response = try socket.receive()
        try socket.send(Array(rest.utf8))
      }
      while response.count < Self.maximumResponse, !Reply(response).isCompleteAndKeptAlive(toHead: isHead),
        case let more = try socket.receive(), !more.isEmpty
      { response += more }
    } catch {}  // The response is the bytes received until then.
    try daemon.drain()
    let reply = Reply(response)
    if reply.status == 0 { try ensureResponding(target) }
    return reply
  }

  func ensureResponding(_ target: Target) throws {
    // Every listener answers a request without `Host` with an error.
    var response: [UInt8] = []
    do throws(SocketError) {
      let socket = try target.connect(seconds: 10)
      try socket.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
      while Reply(response).status == 0, case let more = try socket.receive(), !more.isEmpty { response += more }
    } catch {}  // The bytes received until then decide.
    try daemon.drain()
    guard Reply(response).status == 0 else { return }
    let last = daemon.output.split(separator: "\n").suffix(5).map { String($0).harmless }.joined(separator: "\n")
    throw Failure(
      Failure.system,
      "bearerd does not respond (service \(target.name)), and silence does not count as a refusal. "
        + "Its last output:\n\(last)")
  }

  /// Repeats the request until it succeeds and the upstream receives it as expected; `false` after 10 s.
  func retry(_ target: Target, until condition: (ReceivedRequest) -> Bool) throws -> Bool {
    let deadline = Clock.monotonicMicroseconds + 10_000_000
    while Clock.monotonicMicroseconds < deadline {
      let before = servers.script.count
      let isSuccess = try send(target.request(), to: target).status == 200
      if isSuccess, let last = servers.script.received.dropFirst(before).last, condition(last) { return true }
      usleep(10_000)
    }
    return false
  }

  func receivedDuring(_ body: () throws -> Void) rethrows -> [ReceivedRequest] {
    let before = servers.script.count
    try body()
    return Array(servers.script.received.dropFirst(before))
  }

  /// Checks that bearerd refuses the request with one of the statuses, or any status for `nil`.
  func expectRefusal(
    _ request: String, to target: Target, _ tried: String, _ statuses: Set<Int>? = nil, _ tally: inout AttackTally
  ) throws {
    var reply = Reply([])
    let sent = try receivedDuring { reply = try send(request, to: target) }.count
    let isRefused = statuses.map { $0.contains(reply.status) } ?? reply.isRefusal
    let wanted = statuses.map { $0.sorted().map(String.init).joined(separator: " or ") } ?? "a refusal"
    if isRefused, sent == 0 { tally.refused += 1 }
    tally.check(
      isRefused && sent == 0, "\(target.name): \(tried)",
      seen: "\(reply.summary)\(sent > 0 ? ", and the upstream got it" : "")", expected: "\(wanted), and nothing sent")
  }

  /// Checks that the request reaches the upstream once and gets a 200 response; `nil` if the check failed.
  @discardableResult
  func expectSuccess(_ request: String, to target: Target, _ tried: String, _ tally: inout AttackTally) throws -> (
    request: ReceivedRequest, reply: Reply
  )? {
    var reply = Reply([])
    let requests = try receivedDuring { reply = try send(request, to: target) }
    let isRight = reply.status == 200 && requests.count == 1
    if isRight { tally.passed += 1 }
    tally.check(
      isRight, "\(target.name): \(tried)",
      seen: "\(reply.summary), \(counted(requests.count, "request")) at the upstream",
      expected: "200, and 1 request at the upstream")
    return isRight ? requests.first.map { ($0, reply) } : nil
  }

  /// Checks that bearerd refuses the target's request with this code, and that the upstream receives no byte.
  func expectRefusal(
    of target: Target, by upstream: EmbeddedUpstream, _ tried: String, code: String, _ tally: inout AttackTally
  ) throws {
    let before = upstream.bytes
    let reply = try send(target.request(), to: target)
    let bytes = upstream.bytes - before
    let isRight = reply.status == 502 && reply.code == code && bytes == 0
    if isRight { tally.refused += 1 }
    tally.check(
      isRight, "\(target.name): \(tried)", seen: "\(reply.summary), and \(bytes) bytes sent",
      expected: "502 \(code), and 0 bytes sent")
  }

  private static func load(_ file: String) throws -> DaemonSettings {
    do throws(LoadError) {
      return try ConfigurationLoader.load(file).settings
    } catch {
      let reasons = error.diagnostics.filter { $0.severity == .error }.map { $0.description }
      throw Failure(
        Failure.usage, "the self-test cannot use a copy of this configuration:\n\(reasons.joined(separator: "\n"))")
    }
  }
}
