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

/// One request to a token endpoint, on a connection of its own, and its one answer. No redirect is followed, nothing is added
/// to it, and it is not sent twice (T38).
final class TokenFetch: Timed, UpstreamSessionOwner {
  enum Outcome {
    case answered(AnswerIntake)
    /// Why there was no answer: the end of a sentence.
    case failed(String)
  }

  private let context: WorkerContext
  private let timeout: UInt64
  private let reader: AnswerIntake
  private var request: TokenRequest?
  private var connector: Connector?
  private var session: UpstreamSession?
  private var onEnd: ((Outcome) -> Void)?

  /// - Parameters:
  ///   - timeout: milliseconds for all of it.
  ///   - onEnd: called once, perhaps from within `start`.
  init(
    _ request: consuming TokenRequest, reader: AnswerIntake, timeout: UInt64, context: WorkerContext,
    onEnd: @escaping (Outcome) -> Void
  ) {
    self.request = consume request
    self.reader = reader
    self.timeout = timeout
    self.context = context
    self.onEnd = onEnd
  }

  func start(at destination: UpstreamPool) {
    context.deadlines.schedule(self, at: context.loop.now &+ timeout)
    var timeouts = Timeouts()
    (timeouts.connect, timeouts.handshake) = (timeout, timeout)
    let connector = Connector(
      destination: destination, timeouts: timeouts, tally: ServiceTally(name: ""), context: context
    ) { [unowned self] result in
      self.connector = nil
      switch result {
      case .success(let session): send(over: session)
      case .failure(let failure): end(.failed("\(failure.refusal.code.row.code): \(failure.detail)"))
      }
    }
    self.connector = connector
    connector.start()
    if onEnd == nil { self.connector = nil }
  }

  /// The endpoint may have received the request, or part of it.
  private(set) var isSent = false

  /// Its result is not wanted any more.
  func cancel() {
    onEnd = nil
    leave()
  }

  override func deadlinePassed() {
    end(.failed("it has not answered in \(timeout % 1000 == 0 ? "\(timeout / 1000) s" : "\(timeout) ms")"))
  }

  private func send(over session: UpstreamSession) {
    self.session = session
    session.hand(to: self)
    isSent = true
    do throws(Denied) {
      switch request.take() {
      case .some(let request):
        try session.withVerified { (session) throws(Denied) in
          try request.send(over: &session, now: Clock.now.seconds)
        }
      case .none: return end(.failed("it has been asked already"))
      }
    } catch {
      end(.failed(error.detail))
    }
  }

  private func take(_ step: AnswerIntake.Step) {
    switch step {
    case .needsMore: break
    case .complete: end(.answered(reader))
    case .malformed(let problem): end(.failed(problem))
    }
  }

  private func end(_ outcome: Outcome) {
    let onEnd = onEnd
    self.onEnd = nil
    leave()
    onEnd?(outcome)
  }

  private func leave() {
    context.deadlines.cancel(self)
    request = nil
    connector?.cancel()
    connector = nil
    session?.close()
    session = nil
  }

  // MARK: what the session says

  func sessionIsReady(_ session: UpstreamSession) {}

  func session(_ session: UpstreamSession, didReceive plaintext: Span<UInt8>) {
    if onEnd != nil { take(reader.take(plaintext)) }
  }

  func sessionEnded(_ session: UpstreamSession, isClean: Bool) {
    if onEnd != nil { take(reader.inputEnded(isClean: isClean)) }
  }

  func session(_ session: UpstreamSession, didFail refusal: RefusalCode, detail: String) {
    end(.failed("\(refusal.row.code): \(detail)"))
  }

  func sessionDidDrain(_ session: UpstreamSession) {}
}

extension Generation {
  /// For one request to an endpoint of an authorization server: a pool, a TLS context and an identity that no service has,
  /// whatever its origin is.
  /// - Parameter endpoint: nil: the one for tokens.
  func destination(of source: TokenSource, at endpoint: Endpoint? = nil) throws(TLSError) -> UpstreamPool {
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
