internal import Credentials
package import EventLoop
internal import OAuth
internal import Secrets
internal import Settings
internal import Generations
internal import System

/// Completes a token's logout: deletes the stored login, waits for token requests, and revokes all tokens. Each step
/// has a time limit (T46).
package final class TokenLogout: DeadlineOwner {
  package struct Outcome: Sendable {
    package var revoked: [TokenRevocation.Result] = []
    /// Why the stored login was not deleted. `nil` if it was deleted or there was none.
    package var problem: String?
    package var hadTokens = false
  }

  private let source: TokenSource
  private let providers: CredentialProviders
  private let login: TokenLogin
  private var onRecorded: (() -> Void)?
  private var onEnd: ((Outcome) -> Void)?
  private var outcome = Outcome()
  /// The keyring at the start of the logout.
  private let keyring: Keyring
  private var refresh: [TokenBox] = []
  private var access: [TokenBox] = []
  private var revocation: TokenRevocation?
  private var isLoginEnded = false
  /// When the logout stops waiting for the disk, in milliseconds of the loop's clock. `nil` before `start`.
  private var diskDeadline: UInt64?
  private var pendingResponses = 0
  /// The client of a login's token request that was in progress at the logout. `nil` if there was none.
  private var loginClient: TokenEndpointClient?

  /// Maximum time in milliseconds to record the logout on disk.
  private static let diskTimeout: UInt64 = 10_000
  /// Milliseconds until `onRecorded` is called even if the logout is not on disk yet.
  private static let recordTimeout: UInt64 = 1_000

  /// - Parameters:
  ///   - onRecorded: called once, perhaps within `start`, when the stored login has ended or the time limit has
  ///     expired.
  ///   - onEnd: called once, later.
  init(
    _ source: TokenSource, login: TokenLogin, providers: CredentialProviders, onRecorded: @escaping () -> Void,
    onEnd: @escaping (Outcome) -> Void
  ) {
    self.source = source
    self.login = login
    self.providers = providers
    self.onRecorded = onRecorded
    self.onEnd = onEnd
    keyring = providers.generation.keyring
    super.init()
    providers.deadlines.schedule(self, at: providers.loop.now &+ Self.recordTimeout)
  }

  func add(access token: consuming Secret?, refresh refreshToken: consuming Secret? = nil) {
    if let token { access.append(TokenBox(token)) }
    // The newest first: a server that has replaced the others knows only this one.
    if let refreshToken { refresh.insert(TokenBox(refreshToken), at: 0) }
  }

  func awaitResponse() { pendingResponses += 1 }

  /// Makes the logout wait for a login's token request, and also revoke the tokens in its response.
  func awaitResponse(to client: TokenEndpointClient, _ purpose: TokenRequest.Purpose) {
    pendingResponses += 1
    loginClient = client
    client.handOver { [weak self] result in self?.receive(result, purpose) }
  }

  private func receive(_ result: Result<TokenResponseReceiver, SecretProblem>, _ purpose: TokenRequest.Purpose) {
    loginClient = nil
    defer { responseArrived() }
    guard case .success(let intake) = result else { return }
    let response = TokenResponse.read(
      intake, of: source, to: purpose, now: Clock.now.seconds, in: keyring.tokenValues.arena)
    guard case .granted(let grant) = consume response else { return }
    var access: Secret?
    var refresh: Secret?
    grant.unpack(access: &access, refresh: &refresh)
    add(access: access.take(), refresh: refresh.take())
  }

  func start() {
    let mustLock = providers.generation.settings.requireLockedMemory
    diskDeadline = providers.loop.now &+ Self.diskTimeout
    if onRecorded == nil { scheduleEnd() }
    login.read(mustLock: mustLock) { [weak self] _ in
      guard let self else { return }
      if let (kind, stored) = login.token(from: keyring) {
        switch kind {
        case .refreshToken: add(access: nil, refresh: stored.token.take())
        // The stored token is the one in use.
        case .accessToken: if access.isEmpty { add(access: stored.token.take()) }
        }
      }
      login.markLoggedOut(with: keyring, mustLock: mustLock) { [weak self] problem in self?.loginEnded(problem) }
    }
  }

  package override func deadlinePassed() {
    if onRecorded != nil {
      recorded()
      return scheduleEnd()
    }
    loginEnded("\(source.store ?? "the disk") does not respond: check whether a login is still there")
  }

  private func scheduleEnd() {
    if let diskDeadline { providers.deadlines.schedule(self, at: diskDeadline) }
  }

  private func recorded() { onRecorded.take()?() }

  private func loginEnded(_ problem: String?) {
    guard !isLoginEnded else { return }
    isLoginEnded = true
    providers.deadlines.cancel(self)
    outcome.problem = problem
    recorded()
    revokeIfReady()
  }

  /// Continues the logout after an awaited token response has arrived, or can no longer arrive.
  func responseArrived() {
    guard pendingResponses > 0 else { return }
    pendingResponses -= 1
    revokeIfReady()
  }

  private func revokeIfReady() {
    guard isLoginEnded, pendingResponses == 0, revocation == nil else { return }
    outcome.hadTokens = !refresh.isEmpty || !access.isEmpty
    let tokens: [(kind: TokenRequest.RevokedToken, secrets: TokenSecrets)]
    do throws(SecretProblem) {
      tokens = source.revocation == nil ? [] : try requests(refresh, .refreshToken) + requests(access, .accessToken)
    } catch {
      outcome.revoked = [TokenRevocation.Result(kind: .refreshToken, problem: error.sentence)]
      tokens = []
    }
    (refresh, access) = ([], [])
    let revocation = TokenRevocation(source, tokens, providers: providers) { [weak self] in self?.revoked($0) }
    self.revocation = revocation
    revocation.start()
  }

  private func requests(
    _ all: [TokenBox], _ kind: TokenRequest.RevokedToken
  ) throws(SecretProblem) -> [(kind: TokenRequest.RevokedToken, secrets: TokenSecrets)] {
    var requests: [(kind: TokenRequest.RevokedToken, secrets: TokenSecrets)] = []
    for entry in all {
      let secrets = try keyring.clientSecrets(of: source)
      if let token = entry.token.take() { secrets.put(.revokedToken, token) }
      requests.append((kind, secrets))
    }
    return requests
  }

  private func revoked(_ results: [TokenRevocation.Result]) {
    outcome.revoked += results
    onEnd.take()?(outcome)
  }

  func cancel() {
    (onRecorded, onEnd) = (nil, nil)
    isLoginEnded = true
    pendingResponses = .max
    loginClient?.cancel()
    providers.deadlines.cancel(self)
    revocation.take()?.cancel()
  }
}
