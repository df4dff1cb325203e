internal import Configuration
internal import Credentials
internal import EventLoop
internal import Log
internal import OAuth
internal import Secrets
internal import Setup
internal import System

/// One person's login of one credential, and all clients that watch it; it ends when none does any more.
///
/// Lines to clients: `open URL` (and `complete URL`, which has the code in it) is what a browser shall open, `code TEXT` what a
/// person enters there, `left SECONDS` how long there is time for it, `note TEXT` anything else.
final class LoginAttempt: Timed {
  enum Outcome {
    /// To be stored and put into use, which is to be said here.
    case granted(NewLogin)
    /// There is nothing more to come.
    case ended
  }

  let source: TokenSource
  let settings: CredentialSettings.OAuth2
  unowned let providers: CredentialProviders
  private(set) var question: TokenEndpointClient
  private var flow: (any LoginFlow)?
  private var onOutcome: ((Outcome) -> Void)?
  private var watchers: [ControlExchange] = []
  /// The lines so far, which a client that comes later has to see, too.
  private var lines: [String] = []
  /// The end of the login's time by the loop's clock; nil: it is not known yet, or does not matter any more.
  private var deadline: UInt64?
  private var granted: NewLogin?
  private var isRenewable = false

  /// - Parameter onOutcome: `granted` at most once, then `ended` once.
  init(
    _ source: TokenSource, _ settings: CredentialSettings.OAuth2, providers: CredentialProviders,
    onOutcome: @escaping (Outcome) -> Void
  ) {
    (self.source, self.settings, self.providers, self.onOutcome) = (source, settings, providers, onOutcome)
    question = TokenEndpointClient(source, providers: providers)
  }

  func start() {
    providers.log.event(.loginBegun, ("credential", source.credential))
    let flow: any LoginFlow =
      source.deviceAuthorization != nil ? DeviceLogin(self) : BrowserWait(self, settings.redirect)
    self.flow = flow
    flow.start()
  }

  func join(_ exchange: ControlExchange) {
    if !watchers.isEmpty { exchange.tell("note a login is already in progress: you join it") }
    watchers.append(exchange)
    for line in lines { exchange.tell(line) }
    exchange.onCancel = { [unowned self, unowned exchange] in
      watchers.removeAll { $0 === exchange }
      // A login that has been granted is not thrown away.
      if watchers.isEmpty, granted == nil {
        end(.failure(.system("no bearerctl login waits for this login any more")), as: .loginCancelled)
      }
    }
  }

  /// From outside.
  func cancel(_ why: String) { fail(why) }

  /// Ends the login, but for the request by which its server is granting something at this moment: that is the caller's. nil:
  /// there is none.
  func surrender(_ why: String) -> TokenEndpointClient? {
    var asked: TokenEndpointClient?
    switch question.purpose {
    case .code, .deviceToken:
      asked = question
      question = TokenEndpointClient(source, providers: providers)
    case .token, .deviceAuthorization, .revocation, nil: break
    }
    fail(why)
    return asked
  }

  override func deadlinePassed() {
    guard let deadline else { return }
    let left = deadline > providers.loop.now ? (deadline &- providers.loop.now) / 1000 : 0
    for watcher in watchers { watcher.tell("left \(left)") }
    providers.deadlines.schedule(self, at: providers.loop.now &+ 1000)
  }

  // MARK: for the flow

  /// For everybody who watches, now or later.
  func show(_ line: String) {
    lines.append(line)
    note(line)
  }

  func note(_ line: String) {
    for watcher in watchers { watcher.tell(line) }
  }

  /// Sets the end of the login's time by the loop's clock; nil: a person has done what there was to do.
  func expect(until deadline: UInt64?) {
    self.deadline = deadline
    providers.deadlines.cancel(self)
    deadlinePassed()
  }

  var arena: SecretArena { providers.generation.keyring.tokenValues.arena }

  /// The secrets that the configuration names.
  func secrets() throws(SecretProblem) -> TokenSecrets { try providers.generation.keyring.keptTokenSecrets(of: source) }

  func granted(_ grant: consuming TokenGrant, since: UInt64, with secrets: TokenSecrets) {
    let new = NewLogin(grant, since: since, secrets: secrets)
    granted = new
    isRenewable = new.isRenewable
    expect(until: nil)
    note("note the server granted a token: bearerd stores it")
    onOutcome?(.granted(new))
  }

  /// Without a token.
  func fail(_ sentence: String) { end(.failure(.system(sentence)), as: .loginFailed, sentence) }

  // MARK: what was granted

  /// The token that this login brought is stored, and goes out from now on.
  func isInUse() {
    guard let granted else { return }
    let text = LoginText(granted, isRenewable: isRenewable, of: source)
    end(.success(Array(text.description.utf8)), as: .loggedIn, text.firstLine)
  }

  func wasNotStored(_ problem: String) {
    guard granted != nil else { return }
    fail(
      "the login could not be stored: \(problem). bearerd tries again, and does not use the login until it is stored")
  }

  private func end(_ result: Result<[UInt8], StartError>, as event: LogEvent, _ detail: String? = nil) {
    guard let onOutcome else { return }
    self.onOutcome = nil
    providers.log.event(event, ("credential", source.credential), ("detail", detail))
    providers.deadlines.cancel(self)
    question.cancel()
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

/// The device flow or the browser flow of a login. It reports its result to its attempt.
protocol LoginFlow: AnyObject {
  func start()
  /// Ends the exchange, with a reason if it failed. Called once; nothing is sent any more.
  func end(_ problem: String?)
}
