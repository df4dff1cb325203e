internal import Configuration
internal import Credentials
internal import Gateway
internal import OAuth
internal import Secrets
internal import Setup
internal import System
internal import TLS
internal import Transport

/// One request after the other to the endpoints of an authorization server, from the secrets to an answer.
final class EndpointRequest {
  private let source: TokenSource
  private unowned let providers: CredentialProviders
  private var fetch: TokenFetch?
  private var onEnd: ((Result<AnswerIntake, SecretProblem>) -> Void)?
  /// What is being asked; nil: nothing.
  private(set) var purpose: TokenRequest.Purpose?

  init(_ source: TokenSource, providers: CredentialProviders) {
    self.source = source
    self.providers = providers
  }

  /// - Parameter onEnd: called once, perhaps from within this call, unless `cancel` comes first.
  func ask(
    _ purpose: TokenRequest.Purpose, _ secrets: TokenSecrets,
    onEnd: @escaping (Result<AnswerIntake, SecretProblem>) -> Void
  ) {
    (self.purpose, self.onEnd) = (purpose, onEnd)
    do throws(SecretProblem) {
      let moment = TokenRequest.Moment(now: Clock.now.seconds, nonce: TokenLogin.random())
      let arena = providers.generation.keyring.tokenValues.arena
      try send(try TokenRequest.render(source, purpose, secrets, at: moment, in: arena))
    } catch {
      end(.failure(error))
    }
  }

  private func end(_ result: Result<AnswerIntake, SecretProblem>) {
    let onEnd = onEnd
    (fetch, purpose, self.onEnd) = (nil, nil, nil)
    onEnd?(result)
  }

  /// The answer to what is being asked is somebody else's now.
  func handOver(to onEnd: @escaping (Result<AnswerIntake, SecretProblem>) -> Void) { self.onEnd = onEnd }

  /// The endpoint may have heard of it.
  var isOut: Bool { fetch != nil }

  /// The endpoint may have read it.
  var isSent: Bool { fetch?.isSent == true }

  func cancel() {
    fetch?.cancel()
    (fetch, purpose, onEnd) = (nil, nil, nil)
  }

  private func send(_ request: consuming TokenRequest) throws(SecretProblem) {
    let endpoint = request.endpoint
    let destination: UpstreamPool
    let reader: AnswerIntake
    do {
      destination = try providers.generation.destination(of: source, at: endpoint)
      reader = try AnswerIntake(mustLock: providers.generation.settings.requireLockedMemory)
    } catch {
      throw SecretProblem("\(endpoint) cannot be asked: \(error)")
    }
    let fetch = TokenFetch(consume request, reader: reader, timeout: source.timeout, context: providers.context) {
      [weak self] outcome in
      switch outcome {
      case .answered(let reader): self?.end(.success(reader))
      case .failed(let reason): self?.end(.failure(SecretProblem("\(endpoint) gave no token: \(reason)")))
      }
    }
    self.fetch = fetch
    fetch.start(at: destination)
  }
}
