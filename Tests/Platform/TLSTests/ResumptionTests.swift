import TestServer
import Policy
import TLS
import Testing

/// bearerd repeats the checks that OpenSSL skips for a resumed session (T21).
@Suite struct ResumptionTests {
  let authority: Authority
  let leaf: Certificate
  let backup: Certificate
  let store: TrustStore

  init() throws {
    authority = try Authority()
    leaf = try authority.leaf()
    backup = try selfSigned()
    store = try authority.store()
  }

  private func server(_ version: Int32, allowResumption: Bool = true) throws -> UpstreamServer {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    options.allowResumption = allowResumption
    return try UpstreamServer(chain: [leaf, authority.intermediate], options: options, handler: echo)
  }

  /// Makes a connection with one exchange, so that its sessions are stored.
  private func warm(
    _ context: ClientContext, _ server: UpstreamServer, now: Int64 = unixTime(), startingAt start: Int64 = unixTime(),
    uptime: Int64? = nil
  ) throws -> SessionProof {
    var client = try Client.connect(context, port: server.port, now: now, startingAt: start, uptime: uptime)
    #expect(try client.exchange("hello") == "hello")
    let proof = client.session.proof
    #expect(client.session.verifiedChain.isEmpty == proof.isResumed)
    client.closeNotify()
    return proof
  }

  static let versions: [Int32] = [0x0303, 0x0304]

  @Test(arguments: versions) func `a second connection resumes with the verdict of the first connection`(version: Int32)
    throws
  {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(store, pinning: pinning(authority.root, backup))
    for round in 0..<6 {
      let proof = try warm(context, server)
      #expect(proof.isResumed == (round > 0))
      #expect(proof.pins == .matched)
      #expect(proof.identity == context.identity)
    }
    #expect(context.statistics.full == 1)
    #expect(context.statistics.resumed == 5)
    #expect(server.finish().map(\.isResumed) == [false, true, true, true, true, true])
  }

  @Test(arguments: versions) func `a connection that ends without close_notify leaves its sessions usable`(
    version: Int32
  ) throws {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(store)
    for round in 0..<3 {
      var client = try Client.connect(context, port: server.port)
      #expect(try client.exchange("hello") == "hello")
      #expect(client.session.proof.isResumed == (round > 0))
    }
  }

  @Test(arguments: versions) func `a resumed session keeps its reported pin mismatch`(version: Int32) throws {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(store, pinning: pinning(backup, try selfSigned(), mode: .report))
    let first = try warm(context, server)
    let second = try warm(context, server)
    #expect(second.isResumed)
    #expect(second.pins == .reported)
    #expect(second.remark == first.remark)
  }

  @Test(arguments: versions) func `a session is not resumed with other pins, trust, generation, grant or host`(
    version: Int32
  ) throws {
    let server = try server(version)
    defer { server.stop() }
    let good = try pinning(leaf, backup)
    _ = try warm(try context(store, pinning: good, grant: "a"), server)

    let other = try Authority("Other")
    let others: [(ClientContext, TLSError.Kind?)] = [
      (try context(store, pinning: pinning(backup, other.root), grant: "a"), .pinMismatch),
      (try context(other.store(), pinning: good, grant: "a"), .certificateInvalid),
      (try context(store, host: "other.test", pinning: good, grant: "a"), .hostnameMismatch),
      (try context(store, pinning: good, grant: "a", generation: 2), nil),
      (try context(store, pinning: good, grant: "b"), nil),
      (try context(store, pinning: good), nil),
    ]
    for (context, kind) in others {
      if let kind {
        let error = try #require(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
        #expect(error.kind == kind)
      } else {
        #expect(try !warm(context, server).isResumed)
      }
    }
    let records = server.finish()
    #expect(records.allSatisfy { !$0.isResumed })
    #expect(records.map(\.bytes.isEmpty) == [false, true, true, true, false, false, false])
  }

  @Test(arguments: versions) func `a refused handshake stores no session`(version: Int32) throws {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(store, pinning: pinning(backup, try selfSigned()))
    for _ in 0..<3 {
      #expect(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
      #expect(context.statistics.kept == 0)
    }
    #expect(server.finish().allSatisfy { !$0.isResumed && $0.bytes.isEmpty })
  }

  @Test(arguments: versions) func `the validity of the leaf certificate and of the pins is checked on resumption`(
    version: Int32
  ) throws {
    let server = try server(version)
    defer { server.stop() }
    let now = unixTime()
    let policy = try pinning(leaf, backup, expires: now + 100)
    let context = try context(store, pinning: policy)
    _ = try warm(context, server)
    // The session is offered now and checked later: the handshake resumes, and the check fails.
    let rows: [(Int64, TLSError.Kind)] = [
      (now + 100, .pinsExpired),
      (now + 200_000, .certificateExpired),
      (now - 7200, .certificateExpired),
    ]
    for (later, kind) in rows {
      let error = try #require(throws: TLSError.self) {
        _ = try Client.connect(context, port: server.port, now: later)
      }
      #expect(error.kind == kind)
      _ = try warm(context, server)
    }
    let records = server.finish()
    #expect(records[1].isResumed)
    #expect(records[1].bytes.isEmpty)
  }

  @Test(arguments: versions) func `the chain is verified again after an hour, however often the session was resumed`(
    version: Int32
  ) throws {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(store)
    let now = unixTime()
    #expect(try !warm(context, server).isResumed)
    // Tickets of resumed connections keep the age of the original verdict.
    #expect(try warm(context, server, now: now + 3000).isResumed)
    #expect(try warm(context, server, now: now + 3000).isResumed)
    #expect(try !warm(context, server, now: now + 3700, startingAt: now + 3700).isResumed)
    // A clock that was set back
    #expect(try !warm(context, server, now: now - 600, startingAt: now - 600).isResumed)
    #expect(server.finish().map(\.isResumed) == [false, true, true, false, false])
  }

  @Test(arguments: versions) func `T57: a session ages with elapsed time, not with the calendar`(
    version: Int32
  ) throws {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(store)
    let now = unixTime()
    _ = try warm(context, server)
    #expect(try warm(context, server, now: now + 3700, startingAt: now + 3700, uptime: now).isResumed)
    #expect(try !warm(context, server, now: now, startingAt: now, uptime: now + 3700).isResumed)
    #expect(server.finish().map(\.isResumed) == [false, true, false])
  }

  @Test(arguments: versions) func `a resumption with an outdated verdict is refused`(version: Int32) throws {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(store)
    _ = try warm(context, server)
    let error = try #require(throws: TLSError.self) {
      _ = try Client.connect(context, port: server.port, now: unixTime() + 3700)
    }
    #expect(error.kind == .certificateInvalid)
    let records = server.finish()
    #expect(records[1].isResumed)
    #expect(records[1].bytes.isEmpty)
  }

  @Test(arguments: versions) func `discarded sessions are not resumed, and open connections store no new sessions`(
    version: Int32
  ) throws {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(store)
    _ = try warm(context, server)
    #expect(context.statistics.kept > 0)
    var open = try Client.connect(context, port: server.port)
    context.discardSessions()
    #expect(context.statistics.kept == 0)
    #expect(try open.exchange("x") == "x")
    #expect(context.statistics.kept == 0)
    open.closeNotify()
    #expect(try !warm(context, server).isResumed)
  }

  @Test(arguments: versions) func `a server without session tickets is usable`(version: Int32) throws {
    let server = try server(version, allowResumption: false)
    defer { server.stop() }
    let context = try context(store)
    for _ in 0..<3 { #expect(try !warm(context, server).isResumed) }
    #expect(context.statistics.full == 3)
  }

  @Test(arguments: versions) func `at most 8 sessions are kept`(version: Int32) throws {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(store)
    for _ in 0..<3 {
      // Open at the same time, so that each connection has its own handshake.
      var first = try Client.connect(context, port: server.port)
      var second = try Client.connect(context, port: server.port)
      var third = try Client.connect(context, port: server.port)
      for text in ["a", "b"] {
        #expect(try first.exchange(text) == text)
        #expect(try second.exchange(text) == text)
        #expect(try third.exchange(text) == text)
      }
      first.closeNotify()
      second.closeNotify()
      third.closeNotify()
    }
    #expect(context.statistics.kept <= 8)
    #expect(context.statistics.kept > 0)
  }

  @Test(arguments: versions) func `a renewed certificate is noticed at the next full handshake, and not on resumption`(
    version: Int32
  ) throws {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(store, pinning: pinning(leaf, backup))
    _ = try warm(context, server)
    try server.replaceCertificates([authority.leaf(), authority.intermediate])
    #expect(try warm(context, server).isResumed)
    context.discardSessions()
    let error = try #require(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
    #expect(error.kind == .pinMismatch)
  }
}
