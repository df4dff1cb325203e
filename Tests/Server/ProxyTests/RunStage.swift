import Configuration
import Credentials
import Foundation
import Gateway
import Generations
import Loading
import Log
import Policy
import ServerSupport
import StatusModel
import System
import TestSupport

@testable import EventLoop
@testable import Providers
@testable import Proxy
@testable import Transport

/// A worker whose loop does not run, so that its clock stands still until a test advances it. It has no listener. Tests
/// give it clients (`FakeClient`) and upstream connections (`FakeUpstream`).
final class RunStage {
  let worker: Worker
  private let log = DaemonLog()
  private let scratch: Scratch
  private let deferredRelease: DeferredRelease
  private var clients: [FakeClient] = []
  private var upstreams: [FakeUpstream] = []
  private var markers = 0

  static let listener = ListenerID(number: 0)
  static var caller: Caller { Caller(uid: getuid()) }

  /// - Parameter files: further files, by name.
  init(_ configuration: String, files: [String: String] = [:]) throws {
    scratch = try Scratch()
    for (name, text) in files { try scratch.write(name, text) }
    let preparation = try Self.prepare(configuration, in: scratch, before: nil)
    let log = EventLog(hasPriorities: false, sink: LogSink(to: log.writing.fileDescriptor))
    let first = InitialLoad(preparation.tables.secretFiles, unresponsive: [], log: log)
    let sharedState = SharedState(workers: 1)
    let loop = try Loop()
    deferredRelease = DeferredRelease(loop: loop)
    let generation = try Generation(
      first: preparation, files: first.files, changing: first.changing,
      snapshot: Self.snapshot(of: preparation, generation: 1, listener: Self.listener),
      limits: SharedLimits(preparation.settings, after: nil, lock: sharedState.lock), deferredRelease: deferredRelease)
    generation.limits.activate()
    worker = Worker(
      loop: loop, log: log, sharedState: sharedState, generation: generation, deferredRelease: deferredRelease)
    worker.providers.begin(after: first)
  }

  /// Closes everything. Nothing may be left on the loop.
  func close() {
    for client in clients { client.discard() }
    for upstream in upstreams { upstream.close() }
    worker.close()
    for _ in 0..<3 { worker.loop.runOnce(waiting: false) }
    try? log.writing.close()
  }

  // MARK: configurations

  /// Returns a configuration with one service at `/api/`, whose upstream needs no TLS.
  /// - Parameters:
  ///   - service: further keys of the service, each with a comma before it.
  ///   - more: further top-level lines.
  static func plain(_ service: String = "", name: String = "api", more: String = "") -> String {
    """
    listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
    services: { \(name): { upstream: "http://127.0.0.1:1/", credential: none\(service) } }
    \(more)
    """
  }

  /// Brings another configuration into use, as the last step of a reload does.
  /// - Parameter listener: the identity of its listener.
  func reload(_ configuration: String, listener: ListenerID = listener) throws {
    let old = worker.generation
    let preparation = try Self.prepare(
      configuration, in: scratch, before: PreparedTables.Former(settings: old.settings, limits: old.limits))
    let builder = try GenerationBuilder(preparation, files: old.keyring.fileContents, after: old)
    _ = try builder.build(pending: []) { true }
    guard let keyring = builder.keyring.keyring else { throw TestFailure("no keyring") }
    let limits =
      preparation.tables.limits
      ?? SharedLimits(preparation.settings, after: old.limits, lock: worker.sharedState.lock)
    limits.activate()
    worker.adopt(
      Generation(
        preparation,
        snapshot: Self.snapshot(of: preparation, generation: old.snapshot.generation + 1, listener: listener),
        keyring: keyring, tally: Tally(builder.tally), limits: limits, deferredRelease: deferredRelease))
  }

  private static func prepare(
    _ configuration: String, in scratch: Scratch, before: PreparedTables.Former?
  ) throws -> Preparation {
    let file = try scratch.write("bearerd.yaml", configuration, mode: 0o644)
    return try Preparation(file: file, before: before, probe: FileProbe(), step: LoadingStep())
  }

  private static func snapshot(of preparation: Preparation, generation: UInt64, listener: ListenerID) -> Snapshot {
    ConfigurationLoader.snapshot(
      of: preparation.settings, generation: generation, ports: [[7070]], listeners: [listener],
      tables: preparation.tables.snapshot)
  }

  // MARK: time

  /// Advances the clock, calls the deadlines that have passed, and ends the turn of the loop.
  func advance(_ milliseconds: UInt64) {
    worker.loop.advance(by: milliseconds)
    // On a slow machine, each call may handle only one deadline.
    for _ in 0..<8 { worker.deadlines.fire() }
    endTurn()
  }

  /// Ends the turn of the loop.
  func endTurn() { worker.loop.onTurnEnd?() }

  // MARK: state

  /// The access records so far.
  func records() -> [LoggedLine] { lines(of: .request) }

  /// The log lines of an event so far.
  func lines(of event: LogEvent) -> [LoggedLine] {
    markers += 1
    worker.log.event(.reloaded, ("generation", String(markers)))
    worker.log.flush()
    guard log.wait(for: .reloaded, count: markers) else { return [] }
    return log.lines(of: event)
  }

  /// The pool of the first service in the current configuration.
  func pool() throws -> UpstreamPool {
    try worker.generation.pool(of: worker.generation.routeContext(of: route))
  }

  private var route: Route {
    let service = worker.generation.snapshot.rules.services[0]
    return Route(service: 0, rule: nil, credential: service.credential, pathStart: 0)
  }

  /// How many further requests the rate of the first service allows.
  var rateLeft: UInt64? {
    let limiter = worker.generation.limits.rates.limiter(of: route)
    return worker.sharedState.lock { limiter?.usage(of: Self.caller, at: worker.loop.now).left }
  }

  // MARK: clients and upstreams

  func client() -> FakeClient {
    let client = FakeClient(of: worker)
    clients.append(client)
    return client
  }

  /// Returns an open connection to the upstream, over a pair of sockets.
  func upstream() throws -> FakeUpstream {
    let upstream = try FakeUpstream(pool: pool(), context: worker.context)
    upstreams.append(upstream)
    return upstream
  }

  /// Returns an idle connection of the pool.
  /// - Parameter isHTTP2: whether the service has `protocol: http2`.
  func idle(isHTTP2: Bool = false) throws -> FakeUpstream {
    let upstream = try upstream()
    if isHTTP2 { upstream.beginHTTP2(in: try pool(), context: worker.context) }
    upstream.connection.keep()
    return upstream
  }

  /// Opens the connection that `run` waits for.
  func open(for run: RequestRun) throws -> FakeUpstream {
    try opening(for: run).cancel()
    let upstream = try upstream()
    run.acquired(.connection(upstream.connection, isReused: false))
    return upstream
  }

  /// Returns the connection attempt that `run` waits for.
  func connector(of run: RequestRun) throws -> Connector {
    guard let connector = try opening(for: run) as? Connector else { throw TestFailure("the opening is shared") }
    return connector
  }

  /// Returns what `run` waits for, which it may share with other requests.
  func opening(for run: RequestRun) throws -> any UpstreamOpening {
    guard case .connection(let opening) = run.wait else { throw TestFailure("no connection is being opened") }
    return opening
  }

  /// Runs the loop, which sets its clock again, until the condition is `true`.
  @discardableResult
  func run(until condition: () -> Bool) -> Bool {
    eventually {
      worker.loop.runOnce(waiting: false)
      return condition()
    }
  }

  /// Returns an open connection with TLS. Runs the loop, which sets its clock again.
  func connect() throws -> UpstreamConnection {
    var result: Result<UpstreamConnection, ConnectFailure>?
    let connector = Connector(pool: try pool(), timeout: 20_000, context: worker.context) { result = $0 }
    connector.start()
    run { result != nil }
    guard let result else { throw TestFailure("no connection") }
    return try result.get()
  }
}
