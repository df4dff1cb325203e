internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
package import OAuth
internal import Secrets
internal import Setup
internal import System
internal import TLS
internal import Transport

/// Gives tokens back to their server (RFC 7009), one after the other, within the time of one request. What cannot be given back
/// is said; it goes all the same.
package final class TokenRevocation {
  /// What became of one token.
  package struct Result: Sendable, Equatable {
    package let kind: TokenRequest.RevokedToken
    /// nil: the server knows it no more.
    package let problem: String?
  }

  private let source: TokenSource
  private unowned let providers: CredentialProviders
  private var tokens: [(kind: TokenRequest.RevokedToken, secrets: TokenSecrets)]
  private var results: [Result] = []
  private let onEnd: ([Result]) -> Void
  private var fetch: TokenFetch?
  /// Milliseconds of the loop's clock.
  private let endsAt: UInt64

  /// - Parameters:
  ///   - tokens: each in `.revokedToken`, beside the secrets of the client.
  ///   - onEnd: called once, never from within `start`; on no account if it is let go.
  init(
    _ source: TokenSource, _ tokens: [(kind: TokenRequest.RevokedToken, secrets: TokenSecrets)],
    providers: CredentialProviders,
    onEnd: @escaping ([Result]) -> Void
  ) {
    self.source = source
    self.tokens = tokens
    self.providers = providers
    self.onEnd = onEnd
    endsAt = providers.loop.now &+ source.timeout
  }

  func start() {
    providers.loop.onNextTurn { [weak self] in self?.next() }
  }

  /// Nobody wants to know.
  func cancel() {
    tokens = []
    fetch?.cancel()
    fetch = nil
  }

  private func next() {
    guard !tokens.isEmpty else { return onEnd(results) }
    let (kind, secrets) = tokens.removeFirst()
    guard providers.loop.now < endsAt else { return ended(kind, "there was no time left to ask for it") }
    do throws(SecretProblem) {
      try send(kind, secrets)
    } catch {
      ended(kind, error.sentence)
    }
  }

  private func send(_ kind: TokenRequest.RevokedToken, _ secrets: TokenSecrets) throws(SecretProblem) {
    let generation = providers.generation
    let moment = TokenRequest.Moment(now: Clock.now.seconds, nonce: TokenLogin.random())
    let request = try TokenRequest.render(
      source, .revocation(kind), secrets, at: moment, in: generation.keyring.tokenValues.arena)
    let endpoint = request.endpoint
    let destination: UpstreamPool
    let reader: AnswerIntake
    do {
      destination = try generation.destination(of: source, at: endpoint)
      reader = try AnswerIntake(mustLock: generation.settings.requireLockedMemory)
    } catch {
      throw SecretProblem("\(endpoint) cannot be asked: \(error)")
    }
    let timeout = max(1, endsAt &- providers.loop.now)
    let fetch = TokenFetch(consume request, reader: reader, timeout: timeout, context: providers.context) {
      [weak self] outcome in
      guard let self else { return }
      self.fetch = nil
      switch outcome {
      case .answered(let reader): ended(kind, refusal(of: reader, kind))
      case .failed(let reason): ended(kind, "\(endpoint) did not answer: \(reason)")
      }
    }
    self.fetch = fetch
    fetch.start(at: destination)
  }

  private func refusal(of reader: AnswerIntake, _ kind: TokenRequest.RevokedToken) -> String? {
    reader.withAnswer { head, body in
      TokenAnswer.refusal(ofRevocation: head, body, of: source, kind, now: Clock.now.seconds)?.sentence
    }
  }

  private func ended(_ kind: TokenRequest.RevokedToken, _ problem: String?) {
    results.append(Result(kind: kind, problem: problem))
    start()
  }
}
