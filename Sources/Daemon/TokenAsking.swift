internal import Configuration
internal import Credentials
internal import Gateway
internal import OAuth
internal import Renewal
internal import System
internal import TLS

/// Asking for one token, from the secrets to the answer.
final class TokenAsking {
  enum Outcome: ~Copyable {
    case granted(TokenGrant)
    /// It was kept: no server has been asked.
    case stored(TokenGrant)
    /// A person has to log in first: no server has been asked (RFC 6749 section 1.2 begins with its owner).
    case nobodyLoggedIn
    case failed(RenewalFailure, String)
  }

  private let source: TokenSource
  private let login: TokenLogin
  private unowned let worker: Worker
  /// A secret was not there the last time, and perhaps nobody tells when it is.
  private let readsAgain: Bool
  private var onEnd: ((consuming Outcome) -> Void)?
  private let question: EndpointQuestion

  /// - Parameter onEnd: called once.
  init(
    _ source: TokenSource, login: TokenLogin, worker: Worker, readsAgain: Bool,
    onEnd: @escaping (consuming Outcome) -> Void
  ) {
    self.source = source
    self.login = login
    self.worker = worker
    self.readsAgain = readsAgain
    self.onEnd = onEnd
    question = EndpointQuestion(source, worker: worker)
  }

  func start() {
    guard readsAgain, let secrets = worker.secrets else { return readLogin() }
    secrets.read(source.files, unanswered: []) { [weak self] in self?.readLogin() }
  }

  func cancel() {
    onEnd = nil
    question.cancel()
  }

  private func readLogin() {
    guard onEnd != nil else { return }
    login.read(mustLock: mustLock) { [weak self] problem in
      guard let self, onEnd != nil else { return }
      if let problem { return fail(problem) }
      ask()
    }
  }

  private var mustLock: Bool { worker.generation.settings.requireLockedMemory }

  private func ask() {
    do throws(SecretProblem) {
      switch try login.storedToken(from: worker.generation.keyring) {
      case .some(let grant): return end(.stored(grant))
      case .none: break
      }
      let secrets = try login.secrets(from: worker.generation.keyring)
      if source.isByLogin, !secrets.has(.refreshToken) { return end(.nobodyLoggedIn) }
      question.ask(.token, secrets) { [unowned self] result in
        switch result {
        case .success(let reader): take(reader)
        case .failure(let problem): fail(problem.sentence)
        }
      }
    } catch {
      fail(error.sentence)
    }
  }

  private func take(_ reader: AnswerIntake) {
    let arena = worker.generation.keyring.tokenValues.arena
    let answer = reader.withAnswer { head, body in
      TokenAnswer.read(head, body, of: source, to: .token, now: Clock.now.seconds, in: arena)
    }
    switch consume answer {
    case .granted(let grant): end(.granted(grant))
    case .refused(let refusal): end(.failed(RenewalFailure(refusal), refusal.sentence))
    }
  }

  private func fail(_ sentence: String) { end(.failed(.transient(retryAfter: nil), sentence)) }

  private func end(_ outcome: consuming Outcome) {
    let onEnd = onEnd
    self.onEnd = nil
    onEnd?(outcome)
  }
}

extension RenewalFailure {
  fileprivate init(_ refusal: TokenRefusal) {
    switch refusal.kind {
    case .transient(let retryAfter): self = .transient(retryAfter: retryAfter)
    case .final: self = .final
    // Nothing but a change helps, and that is noticed.
    case .misconfigured: self = .transient(retryAfter: RenewalSettings().longestPause)
    case .pending: self = .transient(retryAfter: nil)
    }
  }
}
