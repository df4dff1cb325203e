import Foundation
import ServerSupport
import TestServer
import TestSupport
import Testing

/// Random logouts and reloads that add, remove, reorder and re-address listeners, services and credentials, mixed with
/// idle, pending, retried and upgraded connections (T46, T47, T58). After each step, no request has reached another
/// listener's service or was sent with another service's credential, no exchange has two records, and the daemon runs.
/// At the end, each exchange has one record.
///
/// A run has 400 steps. `BEARERD_RANDOM_SECONDS` sets the duration of a run. `BEARERD_RANDOM_SEED` repeats a run.
@Suite(.waits) struct RandomReloadTests {
  @Test(arguments: [1, 3])
  func `T46 T47 T58: with random reloads and logouts, each request keeps to its listener and has one record`(
    workers: Int
  )
    throws
  {
    let environment = ProcessInfo.processInfo.environment
    let seconds = environment["BEARERD_RANDOM_SECONDS"].flatMap(Double.init)
    let seed = environment["BEARERD_RANDOM_SEED"].flatMap(UInt64.init) ?? (seconds == nil ? 7 : .random(in: 0 ... .max))
    let began = Date()
    var covered: Set<String> = []
    // Each round starts a new daemon, because searching a long log is slow.
    for round in 0... {
      let run = try RandomRun(workers: workers, seed: seed &+ UInt64(round))
      for step in 0..<400 {
        try run.step()
        let fault = run.fault()
        try #require(fault == nil, "seed \(seed &+ UInt64(round)), step \(step): \(fault ?? "")\n\(run.trail)")
      }
      let fault = try run.end()
      try #require(fault == nil, "seed \(seed &+ UInt64(round)), at the end: \(fault ?? "")\n\(run.trail)")
      covered.formUnion(run.covered)
      let hasEnded = Date().timeIntervalSince(began) >= seconds ?? 0
      if hasEnded, covered == RandomRun.situations || round >= 5 { break }
    }
    // A run without one of these situations does not test enough.
    #expect(covered == RandomRun.situations)
  }
}

/// One daemon, its upstream and its clients.
private final class RandomRun {
  private let stage: Stage
  private let upstream: DelayingUpstream
  private let workers: Int
  private var random: SeededGenerator
  private var layout: Layout
  private var clients: [Client] = []
  private var requests = 0
  /// The last steps, for the message of a failure.
  private(set) var trail: [String] = []

  init(workers: Int, seed: UInt64) throws {
    self.workers = workers
    random = SeededGenerator(state: seed)
    let upstream = DelayingUpstream()
    self.upstream = upstream
    stage = try Stage { upstream.serve($0) }
    for index in 0..<Layout.credentials {
      try stage.scratch.write("c\(index).token", DelayingUpstream.secret(index) + "\n")
    }
    layout = Layout.random(&random)
    try stage.start(layout.text(stage, workers: workers))
  }

  deinit { upstream.release(all: true) }

  func step() throws {
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<3: try reload()
    case 3: try logOut()
    case 4..<7: upstream.release(all: false)
    case 7: close()
    case 8..<12: try connect()
    default: try sendRequest()
    }
    if clients.count > 40 { close() }
  }

  /// Returns what is wrong. `nil` if nothing is.
  func fault() -> String? {
    if !stage.daemon!.isRunning { return "the daemon has ended" }
    if let stray = upstream.stray { return stray }
    let twice = records().first { $1 > 1 }
    return twice.map { "request \($0) has \($1) records" }
  }

  /// Ends all connections and the daemon. Returns what is wrong, or `nil`.
  func end() throws -> String? {
    upstream.release(all: true)
    for client in clients { client.finish() }
    let responded = Set(clients.flatMap(\.completed))
    clients = []
    let expected = responded.union(upstream.received)
    _ = eventually { expected.subtracting(records().keys).isEmpty }
    guard stage.daemon!.stop() == 0 else { return "the daemon did not end well" }
    let counts = records()
    if let lost = expected.first(where: { counts[$0] == nil }) { return "request \(lost) has no record" }
    return upstream.stray ?? counts.first { $1 > 1 }.map { "request \($0) has \($1) records" }
  }

  static let situations: Set = ["listener-removed", "login-required", "logged-out", "retried", "upgraded", "aborted"]

  /// The situations that have occurred.
  var covered: Set<String> {
    var covered: Set<String> = []
    for line in stage.log.lines(named: "request") {
      if let refused = line["refused"] { covered.insert(refused) }
      if line["retried"] == "true" { covered.insert("retried") }
      if line["aborted"] == "true" { covered.insert("aborted") }
      if line["status"] == "101" { covered.insert("upgraded") }
    }
    return covered.intersection(Self.situations)
  }

  /// The number of records of each request. The key is the request's number, which is in the path.
  private func records() -> [Int: Int] {
    var counts: [Int: Int] = [:]
    for line in stage.log.lines(named: "request") {
      guard let number = line["path"]?.split(separator: "/").last.flatMap({ Int($0) }) else { continue }
      counts[number, default: 0] += 1
    }
    return counts
  }

  private func note(_ text: String) {
    trail.append(text)
    if trail.count > 40 { trail.removeFirst() }
  }

  // MARK: steps

  private func reload() throws {
    layout = layout.changed(&random)
    note("reload: \(layout)")
    try stage.reload(layout.text(stage, workers: workers))
  }

  private func logOut() throws {
    let name = "c\(layout.credentialOrder.randomElement(using: &random) ?? 0)"
    note("logout \(name)")
    _ = try stage.control("logout \(name)")
  }

  private func connect() throws {
    guard let listener = layout.listeners.randomElement(using: &random) else { return }
    note("connect to \(listener)")
    guard let socket = try? RawClient(unix: listener.path(stage)) else { return }
    socket.setTimeout(seconds: 5)
    let client = Client(socket: socket, listener: listener.index)
    clients.append(client)
    // A retry is possible only on an idle upstream connection.
    send(to: client, kind: "ok")
  }

  private func sendRequest() throws {
    guard let client = clients.filter({ $0.pending == nil && !$0.hasEnded }).randomElement(using: &random) else {
      return try connect()
    }
    let kind = ["ok", "hold", "retry", "retry", "ws"].randomElement(using: &random) ?? "ok"
    note("ask \(client.listener) \(kind) \(requests)")
    send(to: client, kind: kind)
  }

  private func send(to client: Client, kind: String) {
    let service = Int.random(in: 0..<2, using: &random)
    let number = requests
    requests += 1
    client.send(
      "GET /s\(service)/\(kind)/\(number) HTTP/1.1\r\nHost: localhost\r\nX-Listener: \(client.listener)\r\n"
        + (kind == "ws" ? Stage.upgradeFields : "") + "\r\n", number)
    if kind == "ok" { client.receiveResponse() }
  }

  private func close() {
    guard !clients.isEmpty else { return }
    let client = clients.remove(at: Int.random(in: 0..<clients.count, using: &random))
    note("close a client of \(client.listener), pending \(client.pending.map { "\($0)" } ?? "-")")
    client.socket.close()
  }
}

/// One client connection to one listener.
private final class Client {
  let socket: RawClient
  let listener: Int
  /// The number of the request without a response.
  private(set) var pending: Int?
  /// `true` if the connection has ended or is upgraded.
  private(set) var hasEnded = false
  /// Numbers of the requests that got a response.
  private(set) var completed: [Int] = []

  init(socket: RawClient, listener: Int) { (self.socket, self.listener) = (socket, listener) }

  func send(_ text: String, _ number: Int) {
    do {
      try socket.send(text)
      pending = number
    } catch {
      hasEnded = true
    }
  }

  func receiveResponse() {
    guard let number = pending else { return }
    pending = nil
    do {
      let response = try socket.response()
      completed.append(number)
      hasEnded = response.head.hasPrefix("HTTP/1.1 101 ") || response.head.contains("onnection: close")
    } catch {
      hasEnded = true
    }
  }

  func finish() {
    receiveResponse()
    socket.close()
  }
}

/// The upstream of all services. A request's path names its listener and service, the field `X-Listener` names the
/// listener to which the client connected, and each service has its own credential.
private final class DelayingUpstream: Sendable {
  private struct State {
    var received: Set<Int> = []
    var stray: String?
    var isReleased = false
    var gates: [Gate] = []
  }

  private let state = Guarded(State())

  static func secret(_ credential: Int) -> String { "value-of-credential-\(credential)" }
  /// The index of a service's credential.
  static func credential(listener: Int, service: Int) -> Int { listener * 2 + service }

  var received: Set<Int> { state.withLock(\.received) }
  var stray: String? { state.withLock(\.stray) }

  /// Responds to about half of the pending requests, or to all pending and later requests.
  func release(all: Bool) {
    let gates = state.withLock { state in
      if all { state.isReleased = true }
      let gates = all ? state.gates : Array(state.gates.prefix((state.gates.count + 1) / 2))
      state.gates.removeFirst(gates.count)
      return gates
    }
    for gate in gates { gate.open() }
  }

  func serve(_ connection: AcceptedConnection) {
    while let request = try? connection.readRequest() {
      // `/L3/s1/retry/17`
      let parts = request.text.split(separator: " ")[1].split(separator: "/")
      guard parts.count == 4, let number = Int(parts[3]), let listener = Int(parts[0].dropFirst()),
        let service = Int(parts[1].dropFirst())
      else { return report("a request for \(request.text.prefix(80))") }
      if !request.text.contains("\r\nX-Listener: \(listener)\r\n") {
        report("request \(number) came to another listener")
      }
      let secret = Self.secret(Self.credential(listener: listener, service: service))
      if !request.text.contains("\r\nAuthorization: Bearer \(secret)\r\n") {
        report("request \(number) has another service's credential")
      }
      let isFirst = state.withLock { $0.received.insert(number).inserted }
      switch parts[2] {
      case "hold":
        wait()
        connection.respond("held")
      case "retry" where isFirst:
        wait()
        return connection.close()
      case "ws":
        connection.switchProtocols()
        connection.echo()
        return
      default: connection.respond("ok")
      }
    }
  }

  private func report(_ stray: String) { state.withLock { $0.stray = $0.stray ?? stray } }

  private func wait() {
    let gate = Gate()
    let mustWait = state.withLock { state in
      if !state.isReleased { state.gates.append(gate) }
      return !state.isReleased
    }
    if mustWait { gate.pass(seconds: 60) }
  }
}

/// The listeners, services and credentials of a configuration, in the order of the file.
private struct Layout: CustomStringConvertible {
  struct Listener: CustomStringConvertible {
    let index: Int
    /// The index of one of the listener's two addresses.
    var address: Int
    /// The listener's services, 0 and 1, in the order of the file.
    var services: [Int]

    func path(_ stage: Stage) -> String { "\(stage.scratch.path)/l\(index)-\(address).sock" }
    var description: String { "l\(index)-\(address)\(services)" }
  }

  static let listeners = 4
  static let credentials = listeners * 2

  private(set) var listeners: [Listener] = []
  private(set) var credentialOrder: [Int] = []

  static func random(_ random: inout SeededGenerator) -> Layout {
    var layout = Layout()
    for index in 0..<listeners { layout.listeners.append(Listener(index: index, address: 0, services: [0, 1])) }
    return layout.completed(&random)
  }

  func changed(_ random: inout SeededGenerator) -> Layout {
    var layout = self
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let index = Int.random(in: 0..<Self.listeners, using: &random)
      let position = layout.listeners.firstIndex { $0.index == index }
      switch (Int.random(in: 0..<5, using: &random), position) {
      case (0, let position?): if layout.listeners.count > 1 { layout.listeners.remove(at: position) }
      case (1, let position?): layout.listeners[position].address ^= 1
      case (2, let position?):
        layout.listeners[position].services = [[0], [1], [0, 1], [1, 0]].randomElement(using: &random)!
      case (_, nil):
        layout.listeners.append(
          Listener(index: index, address: Int.random(in: 0...1, using: &random), services: [0, 1]))
      default: layout.listeners.shuffle(using: &random)
      }
    }
    return layout.completed(&random)
  }

  /// Returns the layout with the credentials of its services, in random order.
  private func completed(_ random: inout SeededGenerator) -> Layout {
    var layout = self
    layout.credentialOrder = listeners.flatMap { listener in
      listener.services.map { DelayingUpstream.credential(listener: listener.index, service: $0) }
    }.shuffled(using: &random)
    return layout
  }

  var description: String { "\(listeners) \(credentialOrder)" }

  func text(_ stage: Stage, workers: Int) -> String {
    let lines = listeners.map {
      "  l\($0.index): { address: \"unix:\($0.path(stage))\", allow_users: [\(getuid())] }"
    }
    let credentials = credentialOrder.map {
      "  c\($0): { origins: [\"\(stage.origin)\"], bearer: { file: c\($0).token }, suspend: off }"
    }
    let services = listeners.flatMap { listener in
      listener.services.map { service in
        let credential = DelayingUpstream.credential(listener: listener.index, service: service)
        return
          "  l\(listener.index)s\(service): { at: /s\(service)/, listener: l\(listener.index), upstream: \"\(stage.origin)/L\(listener.index)/s\(service)/\", ca_file: ca.pem, credential: c\(credential), pins: [\(stage.leaf.pin), \(stage.backup.pin)] }"
      }
    }
    return """
      listeners:
      \(lines.joined(separator: "\n"))
      workers: \(workers)
      control: control.sock
      limits: { revoked_grace: 1s }
      credentials:
      \(credentials.joined(separator: "\n"))
      services:
      \(services.joined(separator: "\n"))

      """
  }
}
