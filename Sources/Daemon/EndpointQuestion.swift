internal import Configuration
internal import Credentials
internal import Gateway
internal import OAuth
internal import System
internal import TLS

/// One request after the other to the endpoints of an authorization server, from the secrets to an answer.
final class EndpointQuestion {
  private let source: TokenSource
  private unowned let worker: Worker
  private var fetch: TokenFetch?

  init(_ source: TokenSource, worker: Worker) {
    self.source = source
    self.worker = worker
  }

  /// - Parameter onEnd: called once, perhaps from within this call, unless `cancel` comes first.
  func ask(
    _ purpose: TokenRequest.Purpose, _ secrets: TokenSecrets,
    onEnd: @escaping (Result<AnswerIntake, SecretProblem>) -> Void
  ) {
    do throws(SecretProblem) {
      let moment = TokenRequest.Moment(now: Clock.now.seconds, nonce: TokenLogin.random())
      let arena = worker.generation.keyring.tokenValues.arena
      try send(try TokenRequest.render(source, purpose, secrets, at: moment, in: arena), onEnd)
    } catch {
      onEnd(.failure(error))
    }
  }

  /// The endpoint may have heard of it.
  var isOut: Bool { fetch != nil }

  func cancel() {
    fetch?.cancel()
    fetch = nil
  }

  private func send(
    _ request: consuming TokenRequest, _ onEnd: @escaping (Result<AnswerIntake, SecretProblem>) -> Void
  ) throws(SecretProblem) {
    let endpoint = request.endpoint
    let destination: Destination
    let reader: AnswerIntake
    do {
      destination = try worker.generation.destination(of: source, at: endpoint)
      reader = try AnswerIntake(mustLock: worker.generation.settings.requireLockedMemory)
    } catch {
      throw SecretProblem("\(endpoint) cannot be asked: \(error)")
    }
    let fetch = TokenFetch(consume request, reader: reader, timeout: source.timeout, worker: worker) {
      [weak self] outcome in
      self?.fetch = nil
      switch outcome {
      case .answered(let reader): onEnd(.success(reader))
      case .failed(let reason): onEnd(.failure(SecretProblem("\(endpoint) gave no token: \(reason)")))
      }
    }
    self.fetch = fetch
    fetch.start(at: destination)
  }
}
