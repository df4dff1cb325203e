internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
package import OAuth
internal import Secrets
internal import Setup
internal import System
internal import Transport

/// Gives tokens back to their server (RFC 7009), one after the other, within the time of one request. What cannot be given back
/// is said; it goes all the same.
package final class TokenRevocation {
  /// The outcome of one token's revocation.
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
  private let client: TokenEndpointClient
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
    client = TokenEndpointClient(source, providers: providers)
    endsAt = providers.loop.now &+ source.timeout
  }

  func start() {
    providers.loop.onNextTurn { [weak self] in self?.next() }
  }

  /// Ends all that is under way: the outcome is not wanted any more.
  func cancel() {
    tokens = []
    client.cancel()
  }

  private func next() {
    guard !tokens.isEmpty else { return onEnd(results) }
    let (kind, secrets) = tokens.removeFirst()
    guard providers.loop.now < endsAt else { return ended(kind, "there was no time left to ask the server") }
    send(kind, secrets)
  }

  private func send(_ kind: TokenRequest.RevokedToken, _ secrets: TokenSecrets) {
    client.ask(.revocation(kind), secrets, timeout: max(1, endsAt &- providers.loop.now)) { [weak self] answer in
      guard let self else { return }
      switch answer {
      case .success(let reader): ended(kind, refusal(of: reader, kind))
      case .failure(let problem): ended(kind, problem.sentence)
      }
    }
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
