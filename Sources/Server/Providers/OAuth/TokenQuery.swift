internal import Configuration
internal import Credentials
internal import Gateway
internal import OAuth
internal import Lifecycle
internal import Secrets
internal import Setup
internal import System

/// Asking for one token, from the secrets to the answer.
final class TokenQuery {
  enum Outcome: ~Copyable {
    case granted(TokenGrant)
    /// The token was kept: no server has been asked.
    case stored(TokenGrant)
    /// A person has to log in first: no server has been asked (RFC 6749 section 1.2 begins with its owner).
    case nobodyLoggedIn(String)
    case failed(RenewalFailure, String)
    /// The server refuses the refresh token (`invalid_grant`), for good.
    case refused(String)
  }

  private let source: TokenSource
  private let login: TokenLogin
  private unowned let providers: CredentialProviders
  /// Whether files are read again: a secret was not there the last time, and its coming may not be reported.
  private let readsAgain: Bool
  private let onRead: () -> Void
  private var onEnd: ((consuming Outcome) -> Void)?
  private let question: TokenEndpointClient
  /// A program's first run has not ended.
  private var wait: SecretWait?

  /// - Parameters:
  ///   - onRead: called once the secrets are there, before the endpoint is shown any.
  ///   - onEnd: called once.
  init(
    _ source: TokenSource, login: TokenLogin, providers: CredentialProviders, readsAgain: Bool,
    onRead: @escaping () -> Void,
    onEnd: @escaping (consuming Outcome) -> Void
  ) {
    self.source = source
    self.login = login
    self.providers = providers
    self.readsAgain = readsAgain
    self.onRead = onRead
    self.onEnd = onEnd
    question = TokenEndpointClient(source, providers: providers)
  }

  func start() {
    wait = providers.generation.grant(named: source.credential).flatMap {
      providers.commands?.wait(forGrant: $0) { [weak self] in self?.readFiles() }
    }
    if wait == nil { readFiles() }
  }

  private func readFiles() {
    guard readsAgain, let secrets = providers.secrets else { return onceFilesAreRead { [unowned self] in readLogin() } }
    secrets.read(source.files) { [weak self] in self?.readLogin() }
  }

  /// Goes on once files are read: what the endpoint is shown, and what is made of its answer, is of the secrets that are there
  /// now (T44).
  private func onceFilesAreRead(_ then: @escaping () -> Void) {
    wait = providers.secrets?.wait(forFiles: source.files, onEnd: then)
    if wait == nil { then() }
  }

  /// The endpoint may have heard of it.
  var isOut: Bool { question.isOut }

  /// The endpoint may have read the request: what it answers may hold the only refresh token that is still good.
  var isSent: Bool { question.isSent }

  func cancel() {
    onEnd = nil
    wait?.cancel()
    question.cancel()
  }

  private func readLogin() {
    guard onEnd != nil else { return }
    onRead()
    login.read(mustLock: mustLock) { [weak self] problem in
      guard let self, onEnd != nil else { return }
      if let problem { return fail(problem) }
      ask()
    }
  }

  private var mustLock: Bool { providers.generation.settings.requireLockedMemory }

  private func ask() {
    do {
      switch try login.storedToken(from: providers.generation.keyring) {
      case .some(let grant): return end(.stored(grant))
      case .none: break
      }
      let secrets = try login.secrets(from: providers.generation.keyring)
      if source.isByLogin, !secrets.has(.refreshToken) {
        return end(.nobodyLoggedIn("there is no login yet: run bearerctl login \(source.credential)"))
      }
      question.ask(.token, secrets) { [unowned self] result in
        switch result {
        case .success(let reader): take(reader)
        case .failure(let problem): fail(problem.sentence)
        }
      }
    } catch let problem as SecretProblem {
      fail(problem.sentence)
    } catch {
      let what =
        source.isByLogin ? "run bearerctl login \(source.credential)" : "put a new refresh token into its source"
      let why =
        if case TokenLogin.Over.refused = error { "the server no longer accepts the refresh token" } else {
          "it was logged out"
        }
      end(.nobodyLoggedIn("\(why): \(what)"))
    }
  }

  private func take(_ reader: AnswerIntake) {
    let arena = providers.generation.keyring.tokenValues.arena
    let answer = TokenAnswer.read(reader, of: source, now: Clock.now.seconds, in: arena)
    switch consume answer {
    case .granted(let grant): end(.granted(grant))
    case .refused(let refusal) where refusal.isOfGrant:
      onceFilesAreRead { [weak self] in self?.end(.refused(refusal.sentence)) }
    case .refused(let refusal): fail(refusal.sentence, RenewalFailure(refusal))
    }
  }

  private func fail(_ sentence: String, _ failure: RenewalFailure = .transient(retryAfter: nil)) {
    onceFilesAreRead { [weak self] in self?.end(.failed(failure, sentence)) }
  }

  private func end(_ outcome: consuming Outcome) {
    let onEnd = onEnd
    self.onEnd = nil
    onEnd?(outcome)
  }
}

extension TokenRefusal {
  /// The refresh token is worth nothing any more, whatever a person does at the server.
  fileprivate var isOfGrant: Bool { kind == .final && code == .invalidGrant }
}

extension RenewalFailure {
  fileprivate init(_ refusal: TokenRefusal) {
    switch refusal.kind {
    case .transient(let retryAfter): self = .transient(retryAfter: retryAfter)
    case .final: self = .final
    // Nothing but a change helps, and that is noticed.
    case .misconfigured: self = .transient(retryAfter: RenewalSettings().backOff.longest)
    case .pending: self = .transient(retryAfter: nil)
    }
  }
}
