internal import Credentials
internal import Gateway
internal import OAuth
internal import Lifecycle
internal import Secrets
internal import Settings
internal import Generations
internal import System
internal import Transport

/// One request for a token, which is repeated once after a success without a body: reads the secrets, sends the request, and parses the response.
final class TokenQuery {
  enum Outcome: ~Copyable {
    case granted(TokenGrant)
    /// The token was in the login's file.
    case stored(TokenGrant)
    /// A person has to log in first (RFC 6749 section 1.2).
    case loginRequired(String)
    case failed(RenewalFailure, String)
    /// The server permanently refuses the refresh token (`invalid_grant`).
    case refused(String)
  }

  private let source: TokenSource
  private let login: TokenLogin
  private unowned let providers: CredentialProviders
  /// Whether to read the secret files again before the request.
  private let readsAgain: Bool
  private let onRead: () -> Void
  private var onEnd: ((consuming Outcome) -> Void)?
  private var client: TokenEndpointClient
  /// Whether the token of `TokenSource.basis` was renewed because the login rejected it.
  private var hasRenewedBasis = false
  private var wait: SecretWait?
  /// Whether the request has been repeated after a success without a body.
  private var isRepeated = false

  /// - Parameters:
  ///   - onRead: called when the secrets have been read, before any of them is sent.
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
    client = TokenEndpointClient(source, providers: providers)
  }

  func start() {
    wait = providers.generation.grant(named: source.credential).flatMap {
      providers.commands?.wait(forGrant: $0) { [weak self] in self?.readFiles() }
    }
    if wait == nil { readFiles() }
  }

  private func readFiles() {
    guard readsAgain, let secrets = providers.secrets else {
      return onceFilesAreRead { [unowned self] in awaitBasis() }
    }
    secrets.read(source.files) { [weak self] in self?.awaitBasis() }
  }

  /// Waits until the token that is a field of the login is available, at most as long as its own request may take.
  private func awaitBasis(hasCheckedFiles: Bool = false, isAsked: Bool = false) {
    guard onEnd != nil else { return }
    guard let basis = source.basis, let index = providers.generation.grant(named: basis.credential),
      let tokens = providers.tokens
    else { return readLogin() }
    if !isAsked {
      wait = tokens.wait(forGrant: index, hasCheckedFiles: hasCheckedFiles) { [weak self] isAsked in
        self?.awaitBasis(hasCheckedFiles: true, isAsked: isAsked)
      }
      if wait != nil { return }
    }
    guard let failure = tokens.failure(ofGrant: index) else { return readLogin() }
    let sentence = "the token of credential \(basis.credential) is not available: \(failure.detail)"
    fail(sentence, failure.refusal == .plain(.loginRequired) ? .final : .transient(retryAfter: nil))
  }

  /// Sends the login once more, with another token. Calls `fail` if there is none.
  private func renewBasis(_ refusal: TokenRefusal) {
    hasRenewedBasis = true
    guard let basis = source.basis, let index = providers.generation.grant(named: basis.credential),
      let tokens = providers.tokens
    else { return fail(refusal.sentence, RenewalFailure(refusal)) }
    wait = tokens.replace(tokens.tokenVersion(ofGrant: index), ofGrant: index) { [weak self] isReplaced in
      guard let self, onEnd != nil else { return }
      guard isReplaced else { return fail(refusal.sentence, RenewalFailure(refusal)) }
      client = TokenEndpointClient(source, providers: providers)
      readLogin()
    }
    if wait == nil { fail(refusal.sentence, RenewalFailure(refusal)) }
  }

  /// Calls `then` once the files are read, so that the request and the result are based on the current secrets (T44).
  private func onceFilesAreRead(_ then: @escaping () -> Void) {
    wait = providers.secrets?.wait(forFiles: source.files, onEnd: then)
    if wait == nil { then() }
  }

  var isInProgress: Bool { client.isInProgress }

  var isSent: Bool { client.isSent }

  func cancel() {
    onEnd = nil
    wait?.cancel()
    client.cancel()
  }

  private func readLogin() {
    guard onEnd != nil else { return }
    onRead()
    login.read(mustLock: providers.generation.settings.requireLockedMemory) { [weak self] problem in
      guard let self, onEnd != nil else { return }
      if let problem { return fail(problem) }
      ask()
    }
  }

  private func ask() {
    do {
      if let grant = try login.storedToken(from: providers.generation.keyring) { return end(.stored(grant)) }
      let secrets = try login.secrets(from: providers.generation.keyring)
      if source.isByLogin, !secrets.has(.refreshToken) {
        return end(.loginRequired("there is no login yet: run bearerctl login \(source.credential)"))
      }
      client.ask(.token, secrets) { [unowned self] result in
        switch result {
        case .success(let receiver): receive(receiver)
        case .failure(let problem): fail(problem.sentence)
        }
      }
    } catch let problem as SecretProblem {
      fail(problem.sentence)
    } catch {
      let what =
        source.isByLogin ? "run bearerctl login \(source.credential)" : "put a new refresh token into its source"
      let why =
        if case TokenLogin.Ended.refused = error { "the server no longer accepts the refresh token" } else {
          "it was logged out"
        }
      end(.loginRequired("\(why): \(what)"))
    }
  }

  private func receive(_ receiver: TokenResponseReceiver) {
    // A load balancer can respond so while its server restarts. Logins by form respond so with a cookie.
    if source.form == nil, receiver.isEmptySuccess, !isRepeated {
      isRepeated = true
      return ask()
    }
    let arena = providers.generation.keyring.tokenValues.arena
    let response = TokenResponse.read(receiver, of: source, now: Clock.now.seconds, in: arena)
    switch consume response {
    case .granted(let grant): end(.granted(grant))
    case .refused(let refusal) where refusal.kind == .final && refusal.code == .invalidGrant:
      onceFilesAreRead { [weak self] in self?.end(.refused(refusal.sentence)) }
    case .refused(let refusal) where refusal.kind == .final && source.basis != nil && !hasRenewedBasis:
      renewBasis(refusal)
    case .refused(let refusal): fail(refusal.sentence, RenewalFailure(refusal))
    }
  }

  private func fail(_ sentence: String, _ failure: RenewalFailure = .transient(retryAfter: nil)) {
    onceFilesAreRead { [weak self] in self?.end(.failed(failure, sentence)) }
  }

  private func end(_ outcome: consuming Outcome) {
    onEnd.take()?(outcome)
  }
}

extension RenewalFailure {
  fileprivate init(_ refusal: TokenRefusal) {
    switch refusal.kind {
    case .transient(let retryAfter): self = .transient(retryAfter: retryAfter)
    case .final: self = .final
    // Only a change helps, and bearerd detects changes.
    case .misconfigured: self = .transient(retryAfter: RenewalSettings().backOff.longest)
    case .pending: self = .transient(retryAfter: nil)
    }
  }
}
