import Foundation
import ServerSupport
import TestServer
import TestSupport
import Testing

/// Logouts and reloads that add, remove, reorder and re-address listeners, services and credentials, mixed at random with idle, held,
/// retried and upgraded connections (T46, T47, T58). After each step no request has reached the upstream of another listener's service
/// or gone out with another service's credential, no exchange has two records, and the daemon lives. At the end each exchange has one.
///
/// A run has 400 steps. `BEARERD_RANDOM_SECONDS` makes a run as long as that, and `BEARERD_RANDOM_SEED` repeats one.
@Suite(.waits) struct RandomReloads {
  @Test(arguments: [1, 3])
  func `T46 T47 T58: whatever a reload does, each request keeps to its own listener and has one record`(workers: Int)
    throws
  {
    let environment = ProcessInfo.processInfo.environment
    let seconds = environment["BEARERD_RANDOM_SECONDS"].flatMap(Double.init)
    let seed = environment["BEARERD_RANDOM_SEED"].flatMap(UInt64.init) ?? (seconds == nil ? 7 : .random(in: 0 ... .max))
    let began = Date()
    var met: Set<String> = []
    // A daemon that has run for a while has long logs to search, so each round begins with another one.
    for round in 0... {
      let run = try RandomRun(workers: workers, seed: seed &+ UInt64(round))
      for step in 0..<400 {
        try run.step()
        let fault = run.fault()
        try #require(fault == nil, "seed \(seed &+ UInt64(round)), step \(step): \(fault ?? "")\n\(run.trail)")
      }
      let fault = try run.end()
      try #require(fault == nil, "seed \(seed &+ UInt64(round)), at the end: \(fault ?? "")\n\(run.trail)")
      met.formUnion(run.met)
      let isOver = Date().timeIntervalSince(began) >= seconds ?? 0
      if isOver, met == RandomRun.situations || round >= 5 { break }
    }
    // A run in which one of these does not happen shows little.
    #expect(met == RandomRun.situations)
  }
}

/// One daemon, its upstream and its clients.
private final class RandomRun {
  private let stage: Stage
  private let upstream: HoldingUpstream
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
    let upstream = HoldingUpstream()
    self.upstream = upstream
    stage = try Stage { upstream.serve($0) }
    for index in 0..<Layout.credentials {
      try stage.scratch.write("c\(index).token", HoldingUpstream.secret(index) + "\n")
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
    default: try askAgain()
    }
    if clients.count > 40 { close() }
  }

  /// What is wrong, or `nil`.
  func fault() -> String? {
    if !stage.daemon!.isRunning { return "the daemon has ended" }
    if let stray = upstream.stray { return stray }
    let twice = records().first { $1 > 1 }
    return twice.map { "request \($0) has \($1) records" }
  }

  /// Ends everything, and counts the records.
  func end() throws -> String? {
    upstream.release(all: true)
    for client in clients { client.finish() }
    let heard = Set(clients.flatMap(\.answered))
    clients = []
    let wanted = heard.union(upstream.received)
    _ = eventually { wanted.subtracting(records().keys).isEmpty }
    guard stage.daemon!.stop() == 0 else { return "the daemon did not end well" }
    let counts = records()
    if let lost = wanted.first(where: { counts[$0] == nil }) { return "request \(lost) has no record" }
    return upstream.stray ?? counts.first { $1 > 1 }.map { "request \($0) has \($1) records" }
  }

  static let situations: Set = ["listener-removed", "login-required", "logged-out", "retried", "upgraded", "aborted"]

  /// The situations that came about.
  var met: Set<String> {
    var met: Set<String> = []
    for line in stage.log.lines(named: "request") {
      if let refused = line["refused"] { met.insert(refused) }
      if line["retried"] == "true" { met.insert("retried") }
      if line["aborted"] == "true" { met.insert("aborted") }
      if line["status"] == "101" { met.insert("upgraded") }
    }
    return met.intersection(Self.situations)
  }

  /// How many records there are, by the number of the request in its path.
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
    socket.setPatience(seconds: 5)
    let client = Client(socket: socket, listener: listener.index)
    clients.append(client)
    // An idle connection to the upstream is what a retry needs.
    ask(client, kind: "ok")
  }

  private func askAgain() throws {
    guard let client = clients.filter({ $0.pending == nil && !$0.isOver }).randomElement(using: &random) else {
      return try connect()
    }
    let kind = ["ok", "hold", "retry", "retry", "ws"].randomElement(using: &random) ?? "ok"
    note("ask \(client.listener) \(kind) \(requests)")
    ask(client, kind: kind)
  }

  private func ask(_ client: Client, kind: String) {
    let service = Int.random(in: 0..<2, using: &random)
    let number = requests
    requests += 1
    client.ask(
      "GET /s\(service)/\(kind)/\(number) HTTP/1.1\r\nHost: localhost\r\nX-Listener: \(client.listener)\r\n"
        + (kind == "ws" ? Stage.asking : "") + "\r\n", number)
    if kind == "ok" { client.answer() }
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
  /// The connection has ended, or is upgraded.
  private(set) var isOver = false
  /// Numbers of the requests that got a response.
  private(set) var answered: [Int] = []

  init(socket: RawClient, listener: Int) { (self.socket, self.listener) = (socket, listener) }

  func ask(_ text: String, _ number: Int) {
    do {
      try socket.send(text)
      pending = number
    } catch {
      isOver = true
    }
  }

  func answer() {
    guard let number = pending else { return }
    pending = nil
    do {
      let answer = try socket.answer()
      answered.append(number)
      isOver = answer.head.hasPrefix("HTTP/1.1 101 ") || answer.head.contains("onnection: close")
    } catch {
      isOver = true
    }
  }

  func finish() {
    answer()
    socket.close()
  }
}

/// The upstream of all services. The base path of a service names its listener and the service; the client says at which listener it
/// asked; the credential says whose it is.
private final class HoldingUpstream: Sendable {
  private struct State {
    var received: Set<Int> = []
    var stray: String?
    var isReleased = false
    var gates: [Gate] = []
  }

  private let state = Guarded(State())

  static func secret(_ credential: Int) -> String { "value-of-credential-\(credential)" }
  /// Each service has a credential of its own.
  static func credential(listener: Int, service: Int) -> Int { listener * 2 + service }

  var received: Set<Int> { state.withLock(\.received) }
  var stray: String? { state.withLock(\.stray) }

  /// Lets the requests go on that wait: about half of them, or all from now on.
  func release(all: Bool) {
    let gates = state.withLock { state in
      if all { state.isReleased = true }
      let gates = all ? state.gates : Array(state.gates.prefix((state.gates.count + 1) / 2))
      state.gates.removeFirst(gates.count)
      return gates
    }
    for gate in gates { gate.open() }
  }

  func serve(_ connection: UpstreamConnection) {
    while let request = try? connection.readRequest() {
      // `/L3/s1/retry/17`
      let parts = request.text.split(separator: " ")[1].split(separator: "/")
      guard parts.count == 4, let number = Int(parts[3]), let listener = Int(parts[0].dropFirst()),
        let service = Int(parts[1].dropFirst())
      else { return say("a request for \(request.text.prefix(80))") }
      if !request.text.contains("\r\nX-Listener: \(listener)\r\n") { say("request \(number) came to another listener") }
      let secret = Self.secret(Self.credential(listener: listener, service: service))
      if !request.text.contains("\r\nAuthorization: Bearer \(secret)\r\n") {
        say("request \(number) has another service's credential")
      }
      let isFirst = state.withLock { $0.received.insert(number).inserted }
      switch parts[2] {
      case "hold":
        wait()
        connection.answer("held")
      case "retry" where isFirst:
        wait()
        return connection.close()
      case "ws":
        connection.switchProtocols()
        connection.echo()
        return
      default: connection.answer("ok")
      }
    }
  }

  private func say(_ stray: String) { state.withLock { $0.stray = $0.stray ?? stray } }

  private func wait() {
    let gate = Gate()
    let mustWait = state.withLock { state in
      if !state.isReleased { state.gates.append(gate) }
      return !state.isReleased
    }
    if mustWait { gate.pass(seconds: 60) }
  }
}

/// What one configuration has, in the order of the file.
private struct Layout: CustomStringConvertible {
  struct Listener: CustomStringConvertible {
    let index: Int
    /// Which of its two addresses it has.
    var address: Int
    /// Which of its two services it has, in their order.
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
      let place = layout.listeners.firstIndex { $0.index == index }
      switch (Int.random(in: 0..<5, using: &random), place) {
      case (0, let place?): if layout.listeners.count > 1 { layout.listeners.remove(at: place) }
      case (1, let place?): layout.listeners[place].address ^= 1
      case (2, let place?):
        layout.listeners[place].services = [[0], [1], [0, 1], [1, 0]].randomElement(using: &random)!
      case (_, nil):
        layout.listeners.append(
          Listener(index: index, address: Int.random(in: 0...1, using: &random), services: [0, 1]))
      default: layout.listeners.shuffle(using: &random)
      }
    }
    return layout.completed(&random)
  }

  /// The credentials of its services, in any order.
  private func completed(_ random: inout SeededGenerator) -> Layout {
    var layout = self
    layout.credentialOrder = listeners.flatMap { listener in
      listener.services.map { HoldingUpstream.credential(listener: listener.index, service: $0) }
    }.shuffled(using: &random)
    return layout
  }

  var description: String { "\(listeners) \(credentialOrder)" }

  func text(_ stage: Stage, workers: Int) -> String {
    let places = listeners.map {
      "  l\($0.index): { address: \"unix:\($0.path(stage))\", allow_users: [\(getuid())] }"
    }
    let credentials = credentialOrder.map {
      "  c\($0): { origins: [\"\(stage.origin)\"], bearer: { file: c\($0).token }, suspend: off }"
    }
    let services = listeners.flatMap { listener in
      listener.services.map { service in
        let credential = HoldingUpstream.credential(listener: listener.index, service: service)
        return
          "  l\(listener.index)s\(service): { at: /s\(service)/, listener: l\(listener.index), upstream: \"\(stage.origin)/L\(listener.index)/s\(service)/\", ca_file: ca.pem, credential: c\(credential), pins: [\(stage.leaf.pin), \(stage.backup.pin)] }"
      }
    }
    return """
      listeners:
      \(places.joined(separator: "\n"))
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
