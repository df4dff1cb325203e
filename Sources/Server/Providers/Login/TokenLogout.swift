internal import Configuration
internal import Credentials
package import EventLoop
internal import Gateway
internal import OAuth
internal import Secrets
internal import Setup
internal import System

/// The rest of one token's logout once nothing goes out with it any more: end the stored login, hear what was asked
/// for already, and give back what there was. Each in bounded time (T46).
package final class TokenLogout: Timed {
  package struct Outcome: Sendable {
    package var revoked: [TokenRevocation.Result] = []
    /// The problem with the stored login; nil: it is gone, or there was none.
    package var problem: String?
    /// There was something to give back.
    package var hadTokens = false
  }

  private let source: TokenSource
  private let providers: CredentialProviders
  private let login: TokenLogin
  private var onRecorded: (() -> Void)?
  private var onEnd: ((Outcome) -> Void)?
  private var outcome = Outcome()
  /// The keyring of the configuration in which the logout begins, with the secrets of the client.
  private let keyring: Keyring
  private var refresh: [Held] = []
  private var access: [Held] = []
  private var revocation: TokenRevocation?
  private var isWiped = false
  /// When the disk has had its time, in milliseconds of the loop's clock. `nil` before anything is written.
  private var writtenBy: UInt64?
  /// Questions for tokens that the endpoint has not answered yet.
  private var awaited = 0
  /// A person's login that was under way.
  private var question: TokenEndpointClient?

  private final class Held {
    var token: Secret?

    /// nil: there is none.
    init?(_ token: consuming Secret?) {
      self.token = consume token
      if self.token == nil { return nil }
    }
  }

  /// Milliseconds for the disk.
  private static let patience: UInt64 = 10_000
  /// Milliseconds that connections wait for the record of the logout before they are cut without it.
  private static let recordPatience: UInt64 = 1_000

  /// - Parameters:
  ///   - onRecorded: Called once, perhaps within `start`: the stored login has ended, or that takes too long or fails.
  ///   - onEnd: called once, on a later turn.
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
    providers.deadlines.schedule(self, at: providers.loop.now &+ Self.recordPatience)
  }

  /// Tokens that are of no use any more.
  func add(access token: consuming Secret?, refresh refreshToken: consuming Secret? = nil) {
    if let held = Held(consume token) { access.append(held) }
    // The newest one first: a server that has replaced the others knows it alone.
    if let held = Held(consume refreshToken) { refresh.insert(held, at: 0) }
  }

  /// The endpoint has been asked for a token: `answered` will be called.
  func awaitAnswer() { awaited += 1 }

  /// Awaits the answer to the request of a login that was under way.
  func awaitAnswer(to question: TokenEndpointClient, _ purpose: TokenRequest.Purpose) {
    awaited += 1
    self.question = question
    question.handOver { [weak self] result in self?.take(result, purpose) }
  }

  private func take(_ result: Result<AnswerIntake, SecretProblem>, _ purpose: TokenRequest.Purpose) {
    question = nil
    defer { answered() }
    guard case .success(let intake) = result else { return }
    let arena = keyring.tokenValues.arena
    let answer = intake.withAnswer { head, body in
      TokenAnswer.read(head, body, of: source, to: purpose, now: Clock.now.seconds, in: arena)
    }
    guard case .granted(let grant) = consume answer else { return }
    var access: Secret?
    var refresh: Secret?
    grant.take(access: &access, refresh: &refresh)
    add(access: access.take(), refresh: refresh.take())
  }

  func start() {
    let mustLock = providers.generation.settings.requireLockedMemory
    writtenBy = providers.loop.now &+ Self.patience
    if onRecorded == nil { scheduleEnd() }
    login.read(mustLock: mustLock) { [weak self] _ in
      guard let self else { return }
      if let (kind, kept) = login.token(from: keyring) {
        switch kind {
        case .refreshToken: add(access: nil, refresh: kept.token.take())
        // The kept token is the one in use.
        case .accessToken: if access.isEmpty { add(access: kept.token.take()) }
        }
      }
      login.end(with: keyring, mustLock: mustLock) { [weak self] problem in self?.wiped(problem) }
    }
  }

  package override func deadlinePassed() {
    if onRecorded != nil {
      recorded()
      return scheduleEnd()
    }
    wiped("\(source.store ?? "the disk") does not respond: check whether a login is still there")
  }

  private func scheduleEnd() {
    if let writtenBy { providers.deadlines.schedule(self, at: writtenBy) }
  }

  private func recorded() {
    let onRecorded = onRecorded
    self.onRecorded = nil
    onRecorded?()
  }

  private func wiped(_ problem: String?) {
    guard !isWiped else { return }
    isWiped = true
    providers.deadlines.cancel(self)
    outcome.problem = problem
    recorded()
    revokeIfReady()
  }

  /// Goes on after an answer that was awaited has come, or will not.
  func answered() {
    guard awaited > 0 else { return }
    awaited -= 1
    revokeIfReady()
  }

  private func revokeIfReady() {
    guard isWiped, awaited == 0, revocation == nil else { return }
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
    _ all: [Held], _ kind: TokenRequest.RevokedToken
  ) throws(SecretProblem) -> [(kind: TokenRequest.RevokedToken, secrets: TokenSecrets)] {
    var requests: [(kind: TokenRequest.RevokedToken, secrets: TokenSecrets)] = []
    for held in all {
      let secrets = try keyring.clientSecrets(of: source)
      if let token = held.token.take() { secrets.put(.revokedToken, token) }
      requests.append((kind, secrets))
    }
    return requests
  }

  private func revoked(_ results: [TokenRevocation.Result]) {
    outcome.revoked += results
    let onEnd = onEnd
    self.onEnd = nil
    onEnd?(outcome)
  }

  /// The daemon ends.
  func cancel() {
    (onRecorded, onEnd) = (nil, nil)
    isWiped = true
    awaited = .max
    question?.cancel()
    providers.deadlines.cancel(self)
    revocation?.cancel()
    revocation = nil
  }
}
