import Configuration
import Credentials
import Gateway
import Generations
import Policy
import TLS
import Testing
import Transport

/// The generations of one worker: what a reload keeps and what it replaces, without a server and sockets.
@Suite struct GenerationsTests {
  private let worker: WorkerGenerations

  init() throws { worker = try WorkerGenerations() }

  @Test func `T21 T47: after a reload, no connection pool or TLS session of the old configuration is used`() throws {
    let old = try worker.load()
    let pool = try worker.pool(of: "a", in: old)
    #expect(try worker.pool(of: "a", in: old) === pool)
    // Nothing has changed, and the new generation nevertheless begins without sessions.
    let new = try worker.load()
    #expect(new.upstreamPools.isEmpty && new.snapshot.generation == 2)
    let next = try worker.pool(of: "a", in: new)
    #expect(next !== pool && next.context !== pool.context)
    #expect(next.context?.identity != pool.context?.identity)
    #expect(old.upstreamPools.count == 1 && !pool.isRetired, "requests in progress still use the old generation")
  }

  @Test func `T22 T25: services share a pool only with the same credential, pins and upstream`() throws {
    let generation = try worker.load(
      more: """
          same: { upstream: "https://upstream.test/other/", ca_file: ca.pem, pins: PINS, credential: one }
          pins: { upstream: "https://upstream.test/", ca_file: ca.pem, pins: OTHER, credential: one }
          host: { upstream: "https://second.test/", ca_file: ca.pem, pins: PINS, credential: one }
        """)
    let pool = try worker.pool(of: "a", in: generation)
    #expect(try worker.pool(of: "same", in: generation).context?.identity == pool.context?.identity)
    for name in ["b", "pins", "host"] {
      #expect(try worker.pool(of: name, in: generation).context?.identity != pool.context?.identity, "\(name)")
    }
  }

  @Test func `connections offer the protocols of their service, and only requests and probes offer HTTP/2`() throws {
    let service = "upstream: \"https://upstream.test/\", ca_file: ca.pem, pins: PINS, credential: one"
    let generation = try worker.load(
      more: """
          new: { \(service), protocol: http2 }
          old: { \(service), protocol: http1 }
          plain: { upstream: "http://127.0.0.1:1/", credential: none }
          plainNew: { upstream: "http://127.0.0.1:1/", credential: none, protocol: http2 }
        reports: { to: "https://reports.test/", ca_file: ca.pem }
        """)
    for (name, chosen) in [("a", ServiceProtocol.auto), ("new", .http2), ("old", .http1)] {
      let pool = try worker.pool(of: name, in: generation)
      #expect(pool.context?.identity.protocols == chosen.offered, "\(name)")
      #expect(try pool.http1Only().context?.identity.protocols == [.http1])
      let index = try #require(generation.snapshot.rules.services.firstIndex { $0.name == name })
      #expect(try generation.makeProbePool(ofService: index)?.context?.identity.protocols == chosen.offered)
    }
    #expect(try worker.pool(of: "new", in: generation) !== worker.pool(of: "old", in: generation))
    #expect(try worker.pool(of: "plain", in: generation).plainProtocol == .http1)
    #expect(try worker.pool(of: "plainNew", in: generation).plainProtocol == .http2)
    #expect(try generation.makeReportPool()?.context?.identity.protocols == [.http1])
  }

  @Test func `T46: a credential that was logged out during the reload has no value in the new generation`() throws {
    let old = try worker.load()
    #expect(old.keyring.isAvailable(grant: 0) && old.keyring.isAvailable(grant: 1))
    let new = try worker.load(loggedOut: ["one"])
    #expect(!new.keyring.isAvailable(grant: 0) && new.keyring.isAvailable(grant: 1))
    // The next reload ends the logout.
    let last = try worker.load()
    #expect(last.keyring.isAvailable(grant: 0))
  }

  @Test func `T47: a configuration that cannot be read leaves the generation in use unchanged`() throws {
    let old = try worker.load()
    let pool = try worker.pool(of: "a", in: old)
    for broken in ["  a: {}\n", "nonsense", "  c: { upstream: \"https://c.test/\", credential: nobody }\n"] {
      #expect(throws: StartError.self) { _ = try worker.load(more: broken) }
    }
    #expect(worker.current === old && !pool.isRetired)
    #expect(old.keyring.isAvailable(grant: 0))
    #expect(try worker.load().snapshot.generation == 2)
  }

  @Test func `T8: a reload does not reset a rate limit`() throws {
    let caller = Caller(uid: 1_000)
    let rated = "  r: { upstream: \"https://upstream.test/\", credential: none, rate: 2/d }\n"
    func isAllowed(_ generation: Generation) throws -> Bool {
      let limiter = try #require(try worker.context(of: "r", in: generation).limiter)
      guard limiter.reserve(for: caller, at: 1_000) == nil else { return false }
      limiter.spend(caller, at: 1_000)
      return true
    }
    let old = try worker.load(more: rated)
    #expect(try isAllowed(old))
    let new = try worker.load(more: rated)
    #expect(try isAllowed(new))
    #expect(try !isAllowed(new), "one request before the reload, and one after it")
  }
}
