internal import Configuration
internal import Credentials
internal import EventLoop
internal import Log
internal import OAuth
internal import Secrets
internal import Settings
internal import Generations
internal import StatusModel

/// A person's login for one credential, and all clients that watch it. The login ends when the last client disconnects.
final class LoginAttempt: DeadlineOwner {
  enum Outcome {
    /// The server has granted tokens. The receiver must call `tokenActivated()` or `storeFailed(_:)`.
    case granted(NewLogin)
    case ended
  }

  let source: TokenSource
  unowned let providers: CredentialProviders
  private(set) var endpointClient: TokenEndpointClient
  private var flow: (any LoginFlow)?
  private var onOutcome: ((Outcome) -> Void)?
  private var watchers: [ControlExchange] = []
  /// The lines that were shown, for clients that join later.
  private var lines: [String] = []
  /// When the login expires, in milliseconds of the loop's clock. `nil` if it does not expire, or if unknown.
  private var deadline: UInt64?
  private var granted: NewLogin?
  private var isRenewable = false

  /// - Parameter onOutcome: called with `granted` at most once, then with `ended` once.
  init(
    _ source: TokenSource, providers: CredentialProviders,
    onOutcome: @escaping (Outcome) -> Void
  ) {
    (self.source, self.providers, self.onOutcome) = (source, providers, onOutcome)
    endpointClient = TokenEndpointClient(source, providers: providers)
  }

  func start() {
    providers.log.event(.loginBegun, ("credential", source.credential))
    let flow: any LoginFlow =
      if source.deviceAuthorization != nil {
        DeviceLoginFlow(self)
      } else if source.oauth1 != nil {
        OAuth1LoginFlow(self, source.redirect)
      } else {
        BrowserLoginFlow(self, source.redirect)
      }
    self.flow = flow
    flow.start()
  }

  func join(_ exchange: ControlExchange) {
    if !watchers.isEmpty { exchange.report("note a login is already in progress: you join it") }
    watchers.append(exchange)
    for line in lines { exchange.report(line) }
    exchange.onCancel = { [unowned self, unowned exchange] in
      watchers.removeAll { $0 === exchange }
      // A granted login continues without clients.
      if watchers.isEmpty, granted == nil {
        end(.failure(.system("no bearerctl login waits for this login any more")), as: .loginCancelled)
      }
    }
  }

  /// Ends the login, and returns the client of its token request in progress. `nil` if there is none.
  func cancelYieldingClient(_ why: String) -> TokenEndpointClient? {
    var activeClient: TokenEndpointClient?
    switch endpointClient.purpose {
    case .code, .deviceToken, .oauth1Token:
      activeClient = endpointClient
      endpointClient = TokenEndpointClient(source, providers: providers)
    case .token, .deviceAuthorization, .revocation, .requestToken, nil: break
    }
    fail(why)
    return activeClient
  }

  override func deadlinePassed() {
    guard let deadline else { return }
    let left = deadline > providers.loop.now ? (deadline &- providers.loop.now) / 1000 : 0
    for watcher in watchers { watcher.report("left \(left)") }
    providers.deadlines.schedule(self, at: providers.loop.now &+ 1000)
  }

  // MARK: for the flow

  /// Sends a line to all clients, including clients that join later.
  func show(_ line: String) {
    lines.append(line)
    note(line)
  }

  func note(_ line: String) {
    for watcher in watchers { watcher.report(line) }
  }

  /// Sets when the login expires, in milliseconds of the loop's clock. `nil` if it no longer expires.
  func setDeadline(_ deadline: UInt64?) {
    self.deadline = deadline
    providers.deadlines.cancel(self)
    deadlinePassed()
  }

  var arena: SecretArena { providers.generation.keyring.tokenValues.arena }

  func secrets() throws(SecretProblem) -> TokenSecrets {
    try providers.generation.keyring.tokenSecrets(of: source, isForLogin: true)
  }

  func granted(_ grant: consuming TokenGrant, since: UInt64, with secrets: TokenSecrets) {
    let new = NewLogin(grant, since: since, secrets: secrets)
    granted = new
    isRenewable = new.isRenewable
    setDeadline(nil)
    note("note the server granted a token: bearerd stores it")
    onOutcome?(.granted(new))
  }

  func fail(_ sentence: String) { end(.failure(.system(sentence)), as: .loginFailed, sentence) }

  // MARK: granted login

  func tokenActivated() {
    guard let granted else { return }
    let text = LoginText(granted, isRenewable: isRenewable, of: source)
    end(.success(Array(text.description.utf8)), as: .loggedIn, text.firstLine)
  }

  func storeFailed(_ problem: String) {
    guard granted != nil else { return }
    fail(
      "the login could not be stored: \(problem). bearerd tries again, and does not use the login until it is stored")
  }

  private func end(_ result: Result<[UInt8], StartError>, as event: LogEvent, _ detail: String? = nil) {
    guard let onOutcome else { return }
    self.onOutcome = nil
    providers.log.event(event, ("credential", source.credential), ("detail", detail))
    providers.deadlines.cancel(self)
    endpointClient.cancel()
    switch result {
    case .success: flow?.end(nil)
    case .failure(let error): flow?.end("\(error)")
    }
    flow = nil
    for watcher in watchers { watcher.end(result) }
    watchers = []
    onOutcome(.ended)
  }
}

/// The device flow or the browser flow of a login.
protocol LoginFlow: AnyObject {
  func start()
  /// Ends the flow and its requests. Called once.
  /// - Parameter problem: why the login failed. `nil` if it succeeded.
  func end(_ problem: String?)
}
