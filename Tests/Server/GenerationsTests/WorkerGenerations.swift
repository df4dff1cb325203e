import Configuration
import Credentials
import EventLoop
import Foundation
import Gateway
import Generations
import Loading
import Policy
import Secrets
import Settings
import System
import TestServer
import TestSupport
import Testing
import Transport

/// The generations of one worker. Loads configurations as a reload does, without a server and sockets.
final class WorkerGenerations {
  let scratch: Scratch
  private(set) var current: Generation?
  private let loop: Loop
  private let deferredRelease: DeferredRelease
  private let files = FileValues()
  private let probe = FileProbe()
  private let pins: String
  private let otherPins: String

  init() throws {
    scratch = try Scratch()
    loop = try Loop()
    deferredRelease = DeferredRelease(loop: loop)
    var options = Certificate.Options()
    options.isCA = true
    let (authority, other) = (try Certificate(options), try Certificate(options))
    pins = "[\(authority.pin), \(other.pin)]"
    otherPins = "[\(other.pin), \(try Certificate(options).pin)]"
    try scratch.write("ca.pem", authority.pem)
    for name in ["one", "two"] { try scratch.write("\(name).token", "SECRET-of-\(name)") }
  }

  deinit {
    current = nil
    deferredRelease.close()
    for _ in 0..<3 { loop.runOnce(waiting: false) }
  }

  /// Loads a configuration with the services `a` and `b` of the credentials `one` and `two`.
  /// - Parameters:
  ///   - more: further services. `PINS` and `OTHER` stand for two sets of pins.
  ///   - loggedOut: credentials that are logged out while workers prepare the configuration.
  func load(more: String = "", loggedOut: Set<String> = []) throws -> Generation {
    let text = """
      listeners: { main: { address: localhost:7070, allow_users: [\(getuid())] } }
      credentials:
        one: { origins: ["https://upstream.test", "https://second.test"], bearer: { file: one.token } }
        two: { origins: ["https://upstream.test"], bearer: { file: two.token } }
      services:
        a: { upstream: "https://upstream.test/", ca_file: ca.pem, pins: PINS, credential: one }
        b: { upstream: "https://upstream.test/", ca_file: ca.pem, pins: PINS, credential: two }
      \(more)
      """.replacing("PINS", with: pins).replacing("OTHER", with: otherPins)
    let file = try scratch.write("bearerd.yaml", text, mode: 0o644)
    let before = current.map { PreparedTables.Former(settings: $0.settings, limits: $0.limits) }
    let preparation = try Preparation(file: file, before: before, probe: probe, step: LoadingStep())
    for source in preparation.tables.secretFiles { files.store(SecretFileSnapshot(of: source, mustLock: false)) }
    let number = (current?.snapshot.generation ?? 0) + 1
    let snapshot = ConfigurationLoader.snapshot(
      of: preparation.settings, generation: number, ports: [[7070]], tables: preparation.tables.snapshot)
    let builder = try GenerationBuilder(preparation, files: files, loggedOut: loggedOut, after: current)
    _ = try builder.build(pending: []) { true }
    let limits =
      preparation.tables.limits
      ?? SharedLimits(preparation.settings, after: nil, lock: SharedLock(isShared: false))
    limits.activate()
    let generation = Generation(
      preparation, snapshot: snapshot, keyring: try #require(builder.keyring.keyring), tally: Tally(builder.tally),
      limits: limits, deferredRelease: deferredRelease)
    current = generation
    return generation
  }

  func context(of service: String, in generation: Generation) throws -> RouteContext {
    let rules = generation.snapshot.rules
    let index = try #require(rules.services.firstIndex { $0.name == service })
    return generation.routeContext(
      of: Route(service: index, rule: nil, credential: rules.services[index].credential, pathStart: 0))
  }

  func pool(of service: String, in generation: Generation) throws -> UpstreamPool {
    try generation.pool(of: context(of: service, in: generation))
  }
}
