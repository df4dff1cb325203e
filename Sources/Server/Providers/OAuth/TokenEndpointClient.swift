internal import Credentials
internal import EventLoop
internal import Gateway
internal import OAuth
internal import Policy
internal import Secrets
internal import Settings
internal import Generations
internal import System
internal import TLS
internal import Transport

/// Sends requests to the endpoints of one authorization server, one at a time and each only once (T38).
final class TokenEndpointClient: DeadlineOwner, UpstreamRunDelegate {
  typealias Outcome = Result<TokenResponseReceiver, SecretProblem>

  private let source: TokenSource
  private unowned let providers: CredentialProviders
  /// The purpose of the request in progress. `nil` if there is none, or for a registry's token server.
  private(set) var purpose: TokenRequest.Purpose?
  private var request: TokenRequest?
  private var endpoint: Endpoint?
  private var receiver: TokenResponseReceiver?
  private var connector: Connector?
  private var connection: UpstreamConnection?
  /// Whether the endpoint may have read the request.
  private(set) var isSent = false
  /// Time limit for the request in progress, in milliseconds.
  private var timeout: UInt64 = 0
  private var onEnd: ((Outcome) -> Void)?

  init(_ source: TokenSource, providers: CredentialProviders) {
    self.source = source
    self.providers = providers
  }

  var isInProgress: Bool { endpoint != nil }

  /// Sends a request with this purpose.
  /// - Parameters:
  ///   - timeout: milliseconds. `nil` for the configured timeout.
  ///   - onEnd: called once, perhaps within this call, unless `cancel` comes first.
  func ask(
    _ purpose: TokenRequest.Purpose, _ secrets: TokenSecrets, timeout: UInt64? = nil,
    onEnd: @escaping (Outcome) -> Void
  ) {
    (self.purpose, self.onEnd) = (purpose, onEnd)
    do throws(SecretProblem) {
      let moment = TokenRequest.Moment(now: Clock.now.seconds, nonce: TokenLogin.random())
      let arena = providers.generation.keyring.tokenValues.arena
      start(
        try TokenRequest.render(source, purpose, secrets, at: moment, in: arena), timeout: timeout ?? source.timeout)
    } catch {
      end(.failure(error))
    }
  }

  /// Sends a rendered request.
  /// - Parameter onEnd: called once, perhaps within this call, unless `cancel` comes first.
  func send(_ request: consuming TokenRequest, onEnd: @escaping (Outcome) -> Void) {
    (purpose, self.onEnd) = (nil, onEnd)
    start(request, timeout: source.timeout)
  }

  /// Replaces the closure that gets the result of the request in progress.
  func handOver(to onEnd: @escaping (Outcome) -> Void) { self.onEnd = onEnd }

  /// Cancels the request. `onEnd` is not called.
  func cancel() {
    (purpose, onEnd) = (nil, nil)
    close()
  }

  override func deadlinePassed() {
    fail("it did not respond within \(timeout % 1000 == 0 ? "\(timeout / 1000) s" : "\(timeout) ms")")
  }

  private func start(_ request: consuming TokenRequest, timeout: UInt64) {
    let endpoint = request.endpoint
    let pool: UpstreamPool
    do {
      pool = try providers.generation.pool(of: source, at: endpoint)
      receiver = try TokenResponseReceiver(mustLock: providers.generation.settings.requireLockedMemory)
    } catch {
      return end(.failure(SecretProblem("bearerd cannot ask \(endpoint): \(error)")))
    }
    (self.endpoint, self.timeout, isSent) = (endpoint, timeout, false)
    self.request = consume request
    connect(to: pool)
  }

  private func connect(to pool: UpstreamPool) {
    let context = providers.context
    context.deadlines.schedule(self, at: context.loop.now &+ timeout)
    let connector = Connector(pool: pool, timeout: timeout, context: context) { [unowned self] result in
      self.connector = nil
      switch result {
      case .success(let connection): send(over: connection)
      case .failure(let failure): fail("\(failure.refusal.code.row.code): \(failure.detail)")
      }
    }
    self.connector = connector
    connector.start()
  }

  private func send(over connection: UpstreamConnection) {
    self.connection = connection
    connection.begin(self)
    isSent = true
    do throws(AuthorizationError) {
      guard let request = request.take() else { return fail("bearerd has already asked it") }
      try connection.withVerified { (session) throws(AuthorizationError) in
        try request.send(over: &session, now: Clock.now.seconds)
      }
    } catch {
      fail(error.detail)
    }
  }

  private func receive(_ step: TokenResponseReceiver.Step) {
    switch step {
    case .needsMore: break
    case .complete: if let receiver { end(.success(receiver)) }
    case .malformed(let problem): fail(problem)
    }
  }

  /// Ends the request with an error message such as "ENDPOINT gave no token: REASON".
  private func fail(_ reason: String) {
    guard let endpoint else { return }
    let what = if case .revocation = purpose { "did not respond" } else { "gave no token" }
    end(.failure(SecretProblem("\(endpoint) \(what): \(reason)")))
  }

  private func end(_ outcome: Outcome) {
    let onEnd = onEnd
    (purpose, self.onEnd) = (nil, nil)
    close()
    onEnd?(outcome)
  }

  private func close() {
    providers.context.deadlines.cancel(self)
    request = nil
    (endpoint, receiver, isSent) = (nil, nil, false)
    connector?.cancel()
    connector = nil
    connection?.close()
    connection = nil
  }

  // MARK: connection events

  func connection(_ connection: UpstreamConnection, didReceive plaintext: Span<UInt8>) {
    if connection === self.connection, onEnd != nil, let receiver { receive(receiver.receive(plaintext)) }
  }

  func connectionEnded(_ connection: UpstreamConnection, isClean: Bool) {
    if connection === self.connection, onEnd != nil, let receiver { receive(receiver.inputEnded(isClean: isClean)) }
  }

  func connection(_ connection: UpstreamConnection, didFail refusal: RefusalCode, detail: String) {
    if connection === self.connection { fail("\(refusal.row.code): \(detail)") }
  }

  func connectionDidDrain(_ connection: UpstreamConnection) {}
}

extension Generation {
  /// Returns a pool for one request to an authorization server.
  /// - Parameter endpoint: `nil` for the token endpoint.
  func pool(of source: TokenSource, at endpoint: Endpoint? = nil) throws(TLSError) -> UpstreamPool {
    let origin = (endpoint ?? source.endpoint).origin
    let store = try trust.store(for: source.trust)
    let certificate = try self.certificate(for: source)
    let identity = SessionIdentity(
      origin: origin, trust: source.trust, trustFingerprint: store.fingerprint, grant: nil,
      generation: snapshot.generation | Self.tokenPoolBit, certificate: certificate?.fingerprint)
    return UpstreamPool(
      upstream: Upstream(origin, allowedAddresses: source.allowedAddresses),
      context: try ClientContext(identity: identity, store: store, certificate: certificate, cleanses: true),
      generation: identity.generation,
      responsesAreSecret: true)
  }

  /// A bit in the generation number of a pool, set only for pools to authorization servers.
  private static let tokenPoolBit: UInt64 = 1 << 63
}
