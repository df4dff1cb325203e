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
    case failed(RenewalFailure, String)
  }

  private let source: TokenSource
  private let login: TokenLogin
  private unowned let worker: Worker
  /// A secret was not there the last time, and perhaps nobody tells when it is.
  private let readsAgain: Bool
  private var onEnd: ((consuming Outcome) -> Void)?
  private var fetch: TokenFetch?

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
  }

  func start() {
    guard readsAgain, let secrets = worker.secrets else { return readLogin() }
    secrets.read(source.files, unanswered: []) { [weak self] in self?.readLogin() }
  }

  /// The endpoint may have heard of it.
  var isOut: Bool { fetch != nil }

  func cancel() {
    onEnd = nil
    fetch?.cancel()
    fetch = nil
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
    do {
      let moment = TokenRequest.Moment(now: Clock.now.seconds, nonce: TokenLogin.random())
      let secrets = try login.secrets(from: worker.generation.keyring)
      let arena = worker.generation.keyring.tokenValues.arena
      try send(try TokenRequest.render(source, .token, secrets, at: moment, in: arena))
    } catch let problem as SecretProblem {
      fail(problem.sentence)
    } catch {
      end(.failed(.final, "somebody has logged it out (bearerctl logout): log in anew, or place a new refresh token"))
    }
  }

  private func send(_ request: consuming TokenRequest) throws(SecretProblem) {
    let destination: Destination
    let reader: AnswerIntake
    do {
      destination = try worker.generation.destination(of: source)
      reader = try AnswerIntake(mustLock: mustLock)
    } catch {
      throw SecretProblem("\(source.endpoint) cannot be asked: \(error)")
    }
    let fetch = TokenFetch(consume request, reader: reader, timeout: source.timeout, worker: worker) {
      [unowned self] outcome in
      self.fetch = nil
      switch outcome {
      case .answered(let reader): take(reader)
      case .failed(let reason): fail("\(source.endpoint) gave no token: \(reason)")
      }
    }
    self.fetch = fetch
    fetch.start(at: destination)
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
