import Credentials
import EventLoop
import Gateway
import Generations
import Lifecycle
import Secrets
import ServerSupport
import Settings
import TestServer
import TestSupport
import Testing

@testable import Providers
@testable import Proxy
@testable import Transport

/// `RequestRun` with a credential. Only a connection with TLS can carry a credential, so the upstream is a real server. It never
/// responds: the tests pass responses to the run.
@Suite struct RequestRunCredentialTests {
  private let stage: RunStage
  private let upstream: Upstream

  private final class Upstream {
    let server: UpstreamServer
    init(_ leaf: Certificate) throws { server = try UpstreamServer(chain: [leaf]) { $0.readToEnd() } }
    deinit { server.stop() }
  }

  private static let token = "TOKEN-0123456789-abcdef"

  init() throws {
    var options = Certificate.Options()
    options.isCA = true
    let authority = try Certificate(options)
    let leaf = try Stage.leaf(issuer: authority)
    upstream = try Upstream(leaf)
    let origin = "https://localhost:\(upstream.server.port)"
    let pins = try [leaf, Stage.leaf(issuer: authority)].map(\.pin).joined(separator: ", ")
    let service = RunStage.plain(", ca_file: ca.pem, pins: [\(pins)], redact: all")
      .replacing("http://127.0.0.1:1", with: origin).replacing("credential: none", with: "credential: one")
    let credential = """
      credentials:
        one:
          origins: ["\(origin)"]
          oauth2:
            { token_url: "\(origin)/token", grant: client_credentials, client_id: bearerd,
              client_secret: { file: client.secret }, ca_file: ca.pem, pins: [\(pins)] }
          suspend: { after: 1, for: 30s }
      """
    stage = try RunStage(service + credential, files: ["ca.pem": authority.pem, "client.secret": "CLIENT-0123456789"])
    try grant(Self.token)
  }

  /// Brings a token into use that does not expire, as the first worker does.
  private func grant(_ token: String) throws {
    let bytes = Array(token.utf8)
    var secret: Secret? = try TokenOffer(bytes.span, lifetime: nil, mustLock: false).secret(in: SecretArena())
    try change { status in
      status.renewal.tokenVersion += 1
      status.renewal.usableUntil = .max
    } value: { values, source in
      if let secret = secret.take() { values.store(source, secret) }
    }
  }

  /// Lets the token expire while the next one is being requested.
  private func expire() throws {
    try change { status in
      status.renewal.usableUntil = 1
      status.renewal.isRenewing = true
    }
  }

  private func change(
    _ change: (inout TokenStatus) -> Void, value: (TokenValues, TokenSource) -> Void = { _, _ in }
  ) throws {
    let source = try #require(stage.worker.generation.keyring.token(ofGrant: 0))
    let tokens = try #require(stage.worker.providers.tokens)
    var status = TokenStatus()
    status.renewal.tokenVersion = tokens.tokenVersion(ofGrant: 0)
    change(&status)
    tokens.change(source, status) { value($0, source) }
  }

  /// Sends a request over an idle connection, which must be in the pool.
  private func send(_ client: FakeClient) throws -> RequestRun {
    client.get()
    let run = try #require(client.run)
    #expect(run.upstream != nil)
    return run
  }

  /// Opens the connection that `run` waits for.
  /// - Parameters:
  ///   - isReused: whether another request gets the connection first.
  ///   - prepare: called before the run gets the connection.
  @discardableResult
  private func open(
    for run: RequestRun, isReused: Bool = false, prepare: () throws -> Void = {}
  ) throws -> UpstreamConnection {
    try stage.opening(for: run).cancel()
    let opened = try stage.connect()
    try prepare()
    run.acquired(.connection(opened, isReused: isReused))
    return opened
  }

  // MARK: redaction

  /// Whether the rest of the secret follows in time.
  @Test(arguments: [false, true])
  func `T33: bytes that could begin the secret are held back for 20 milliseconds`(isSecret: Bool) throws {
    defer { stage.close() }
    try stage.connect().keep()
    let client = stage.client()
    let run = try send(client)
    let (first, rest) = (Self.token.prefix(4), Self.token.dropFirst(4))
    try run.receive("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 99\r\n\r\nshown\(first)")
    #expect(client.sent.hasSuffix("\r\n\r\nshown"))
    stage.advance(19)
    #expect(client.sent.hasSuffix("\r\n\r\nshown"))
    if isSecret {
      try run.receive("\(rest) ")
      #expect(!client.sent.contains(first) && client.sent.hasSuffix("* "))
    } else {
      let settled = client.settleCount
      stage.advance(1)
      #expect(client.sent.hasSuffix("shown\(first)") && client.settleCount == settled + 1)
    }
  }

  // MARK: the breaker

  @Test func `T41: a request that is sent again does not hold the breaker's permit while it waits`() throws {
    defer { stage.close() }
    try stage.connect().keep()
    let rejected = try send(stage.client())
    let breaker = try #require(rejected.routeContext?.breaker?.shared)
    try rejected.receive("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    for _ in 1..<10 {
      try send(stage.client()).receive("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    }
    #expect(breaker.wait(at: stage.worker.loop.now) == 30_000)
    stage.advance(30_000)
    let run = try send(stage.client())
    #expect(breaker.state.isTesting && run.attempt.hasBreaker)
    try run.endOfUpstream()
    #expect(run.phase == .awaitingUpstream && !breaker.state.isTesting && !run.attempt.hasBreaker)
  }

  // MARK: tokens

  @Test func `T40: a request waits for the next token, and a client that disconnects ends the wait`() throws {
    defer { stage.close() }
    try stage.connect().keep()
    try expire()
    let (stays, leaves) = (stage.client(), stage.client())
    for client in [stays, leaves] { client.get() }
    let (first, second) = (try #require(stays.run), try #require(leaves.run))
    let waits = try [first, second].map { run in
      guard case .value(let wait) = run.wait else { throw TestFailure("the request does not wait for the token") }
      return wait
    }
    #expect(stays.quota.requestsInProgress == 2)
    leaves.disconnect()
    #expect(waits.map(\.isDone) == [false, true] && leaves.run == nil && stays.quota.requestsInProgress == 1)
    try grant("TOKEN-2-0123456789")
    #expect(first.phase == .exchanging && first.upstream != nil && first.attempt.tokenVersion == 2)
  }

  private static let expired = """
    HTTP/1.1 401 Unauthorized\r
    WWW-Authenticate: Bearer error="invalid_token"\r

    """

  @Test func `T41: a response that rejects the token is held back until the request is sent with the next token`()
    throws
  {
    defer { stage.close() }
    try stage.connect().keep()
    let client = stage.client()
    let run = try send(client)
    try run.receive(Self.expired + "Content-Length: 2\r\n\r\nno")
    #expect(run.isAwaitingRenewal && client.sent.isEmpty && client.quota.requestsInProgress == 1)
    try grant("TOKEN-2-0123456789")
    #expect(run.mustOpenFresh && client.sent.isEmpty)
    try open(for: run)
    #expect(run.phase == .exchanging && run.attempt.tokenVersion == 2)
    try run.receive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    #expect(client.status == 200 && client.events == ["ended"])
    #expect(stage.records().map { $0["renewed"] } == ["true"])
  }

  @Test func `T41: without a next token, the response is passed on with the end of its connection`() throws {
    defer { stage.close() }
    try stage.connect().keep()
    let client = stage.client()
    let run = try send(client)
    try run.receive(Self.expired + "\r\nno")
    try run.endOfUpstream()
    #expect(run.isAwaitingRenewal && client.sent.isEmpty && client.events.isEmpty)
    try change { status in
      status.rejectedVersion = 1
      status.renewal.reason = .loginRequired
    }
    #expect(client.status == 401 && client.sent.hasSuffix("2\r\nno\r\n0\r\n\r\n") && client.run == nil)
    #expect(client.quota.requestsInProgress == 0 && stage.records().map { $0["status"] } == ["401"])
  }

  /// Whether the request shares the connection with another one that waited for it.
  @Test(arguments: [false, true])
  func `T40: if the token expires while a connection is opened, the request waits for the next token`(
    isShared: Bool
  ) throws {
    defer { stage.close() }
    let client = stage.client()
    client.get()
    let run = try #require(client.run)
    let opened = try open(for: run, isReused: isShared, prepare: expire)
    #expect(try run.upstream == nil && !run.hasOutcome && stage.pool().idle.count == 1)
    try grant("TOKEN-2-0123456789")
    #expect(run.upstream === opened && run.attempt.tokenVersion == 2)
  }

  @Test func `T40: a request that must not use an idle connection does not use one after its token has expired`() throws
  {
    defer { stage.close() }
    for _ in 0..<2 { try stage.connect().keep() }
    let run = try send(stage.client())
    try run.endOfUpstream()
    #expect(run.mustOpenFresh)
    try open(for: run, prepare: expire)
    #expect(try run.upstream == nil && !run.hasOutcome && stage.pool().idle.count == 2)
    try grant("TOKEN-2-0123456789")
    #expect(try run.upstream == nil && stage.pool().idle.count == 2)
    #expect(try !stage.opening(for: run).isFinished)
  }
}
