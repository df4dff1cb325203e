internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import OAuth
internal import Policy
internal import Secrets
internal import Setup
internal import System
internal import TLS
internal import Transport

/// Asks the endpoints of one authorization server: one request after the other, each on a connection of its own. No redirect is
/// followed, nothing is added to a request, and none is sent twice (T38).
final class TokenEndpointClient: Timed, UpstreamSessionOwner {
  typealias Answer = Result<AnswerIntake, SecretProblem>

  private let source: TokenSource
  private unowned let providers: CredentialProviders
  /// The purpose of the request under way; nil: there is none, or it is a registry's.
  private(set) var purpose: TokenRequest.Purpose?
  private var request: TokenRequest?
  private var endpoint: Endpoint?
  private var reader: AnswerIntake?
  private var connector: Connector?
  private var session: UpstreamSession?
  /// Whether the endpoint may have read the request, or part of it: its answer may hold the only refresh token that is still good.
  private(set) var isSent = false
  /// Milliseconds for all of one request.
  private var timeout: UInt64 = 0
  /// Called once with the answer to the request that is under way; nil: none is.
  private var onEnd: ((Answer) -> Void)?

  init(_ source: TokenSource, providers: CredentialProviders) {
    self.source = source
    self.providers = providers
  }

  /// Whether the endpoint may have heard of the request.
  var isOut: Bool { endpoint != nil }

  /// - Parameters:
  ///   - timeout: milliseconds; nil: as long as the configuration says.
  ///   - onEnd: called once, perhaps from within this call, unless `cancel` comes first.
  func ask(
    _ purpose: TokenRequest.Purpose, _ secrets: TokenSecrets, timeout: UInt64? = nil,
    onEnd: @escaping (Answer) -> Void
  ) {
    (self.purpose, self.onEnd) = (purpose, onEnd)
    do throws(SecretProblem) {
      let moment = TokenRequest.Moment(now: Clock.now.seconds, nonce: TokenLogin.random())
      let arena = providers.generation.keyring.tokenValues.arena
      try start(
        try TokenRequest.render(source, purpose, secrets, at: moment, in: arena), timeout: timeout ?? source.timeout)
    } catch {
      end(.failure(error))
    }
  }

  /// Sends a request that has been rendered already.
  /// - Parameter onEnd: called once, perhaps from within this call, unless `cancel` comes first.
  func send(_ request: consuming TokenRequest, onEnd: @escaping (Answer) -> Void) {
    (purpose, self.onEnd) = (nil, onEnd)
    do throws(SecretProblem) {
      try start(request, timeout: source.timeout)
    } catch {
      end(.failure(error))
    }
  }

  /// From now on the answer to what is being asked goes to another receiver.
  func handOver(to onEnd: @escaping (Answer) -> Void) { self.onEnd = onEnd }

  /// The answer is not wanted any more.
  func cancel() {
    (purpose, onEnd) = (nil, nil)
    close()
  }

  override func deadlinePassed() {
    fail("it did not respond within \(timeout % 1000 == 0 ? "\(timeout / 1000) s" : "\(timeout) ms")")
  }

  private func start(_ request: consuming TokenRequest, timeout: UInt64) throws(SecretProblem) {
    let endpoint = request.endpoint
    let pool: UpstreamPool
    do {
      pool = try providers.generation.pool(of: source, at: endpoint)
      reader = try AnswerIntake(mustLock: providers.generation.settings.requireLockedMemory)
    } catch {
      throw SecretProblem("bearerd cannot ask \(endpoint): \(error)")
    }
    (self.endpoint, self.timeout, isSent) = (endpoint, timeout, false)
    self.request = consume request
    connect(to: pool)
  }

  private func connect(to pool: UpstreamPool) {
    let context = providers.context
    context.deadlines.schedule(self, at: context.loop.now &+ timeout)
    var timeouts = Timeouts()
    (timeouts.connect, timeouts.handshake) = (timeout, timeout)
    let connector = Connector(
      pool: pool, timeouts: timeouts, tally: ServiceTally(name: ""), context: context
    ) { [unowned self] result in
      self.connector = nil
      switch result {
      case .success(let session): send(over: session)
      case .failure(let failure): fail("\(failure.refusal.code.row.code): \(failure.detail)")
      }
    }
    self.connector = connector
    connector.start()
  }

  private func send(over session: UpstreamSession) {
    self.session = session
    session.hand(to: self)
    isSent = true
    do throws(AuthorizationError) {
      switch request.take() {
      case .some(let request):
        try session.withVerified { (session) throws(AuthorizationError) in
          try request.send(over: &session, now: Clock.now.seconds)
        }
      case .none: return fail("bearerd has already asked it")
      }
    } catch {
      fail(error.detail)
    }
  }

  private func receive(_ step: AnswerIntake.Step) {
    switch step {
    case .needsMore: break
    case .complete: if let reader { end(.success(reader)) }
    case .malformed(let problem): fail(problem)
    }
  }

  /// - Parameter reason: why there was no answer: the end of a sentence.
  private func fail(_ reason: String) {
    guard let endpoint else { return }
    let what = if case .revocation = purpose { "did not respond" } else { "gave no token" }
    end(.failure(SecretProblem("\(endpoint) \(what): \(reason)")))
  }

  private func end(_ answer: Answer) {
    let onEnd = onEnd
    (purpose, self.onEnd) = (nil, nil)
    close()
    onEnd?(answer)
  }

  private func close() {
    providers.context.deadlines.cancel(self)
    request = nil
    (endpoint, reader, isSent) = (nil, nil, false)
    connector?.cancel()
    connector = nil
    session?.close()
    session = nil
  }

  // MARK: what the session says

  func sessionIsReady(_ session: UpstreamSession) {}

  func session(_ session: UpstreamSession, didReceive plaintext: Span<UInt8>) {
    if session === self.session, onEnd != nil, let reader { receive(reader.take(plaintext)) }
  }

  func sessionEnded(_ session: UpstreamSession, isClean: Bool) {
    if session === self.session, onEnd != nil, let reader { receive(reader.inputEnded(isClean: isClean)) }
  }

  func session(_ session: UpstreamSession, didFail refusal: RefusalCode, detail: String) {
    if session === self.session { fail("\(refusal.row.code): \(detail)") }
  }

  func sessionDidDrain(_ session: UpstreamSession) {}
}

extension Generation {
  /// For one request to an endpoint of an authorization server: a pool, a TLS context and an identity that no service has,
  /// whatever its origin is.
  /// - Parameter endpoint: nil: the one for tokens.
  func pool(of source: TokenSource, at endpoint: Endpoint? = nil) throws(TLSError) -> UpstreamPool {
    let origin = (endpoint ?? source.endpoint).origin
    let store = try trust.store(for: source.trust)
    let certificate = try self.certificate(for: source)
    let identity = SessionIdentity(
      origin: origin, trust: source.trust, trustFingerprint: store.fingerprint, grant: nil,
      generation: snapshot.generation | Self.ofTokens, certificate: certificate?.fingerprint)
    return UpstreamPool(
      upstream: Upstream(origin, allowedAddresses: source.allowedAddresses),
      context: try ClientContext(identity: identity, store: store, certificate: certificate, cleanses: true),
      generation: identity.generation,
      answersSecrets: true)
  }

  /// No configuration has such a number.
  private static let ofTokens: UInt64 = 1 << 63
}
