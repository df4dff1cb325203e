internal import EventLoop
package import OAuth
internal import Secrets
internal import Settings
internal import System

/// Revokes tokens at their server (RFC 7009), one after the other. Reports tokens that could not be revoked.
package final class TokenRevocation {
  package struct Result: Sendable, Equatable {
    package let kind: TokenRequest.RevokedToken
    /// Why the token was not revoked. `nil` if the server no longer accepts it.
    package let problem: String?
  }

  private let source: TokenSource
  private unowned let providers: CredentialProviders
  private var tokens: [(kind: TokenRequest.RevokedToken, secrets: TokenSecrets)]
  private var results: [Result] = []
  private let onEnd: ([Result]) -> Void
  private let client: TokenEndpointClient
  /// When the time for all revocations ends, in milliseconds of the loop's clock.
  private let deadline: UInt64

  /// - Parameters:
  ///   - tokens: each token in the role `.revokedToken`, with the OAuth client's secrets.
  ///   - onEnd: called once, never within `start`, and not after this object is released.
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
    deadline = providers.loop.now &+ source.timeout
  }

  func start() {
    providers.loop.onNextTurn { [weak self] in self?.next() }
  }

  /// Cancels all revocations. `onEnd` may then not be called.
  func cancel() {
    tokens = []
    client.cancel()
  }

  private func next() {
    guard !tokens.isEmpty else { return onEnd(results) }
    let (kind, secrets) = tokens.removeFirst()
    guard providers.loop.now < deadline else { return ended(kind, "there was no time left to ask the server") }
    client.ask(.revocation(kind), secrets, timeout: max(1, deadline &- providers.loop.now)) { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(let receiver):
        let refusal = receiver.withResponse { head, body in
          TokenResponse.refusal(ofRevocation: head, body, of: source, kind, now: Clock.now.seconds)
        }
        ended(kind, refusal?.sentence)
      case .failure(let problem): ended(kind, problem.sentence)
      }
    }
  }

  private func ended(_ kind: TokenRequest.RevokedToken, _ problem: String?) {
    results.append(Result(kind: kind, problem: problem))
    start()
  }
}
