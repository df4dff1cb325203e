internal import EventLoop
internal import OAuth
internal import Secrets
internal import Settings
internal import System

/// A login in a browser on this machine (RFC 6749 section 4.1, RFC 7636, RFC 8252).
class BrowserLoginFlow: DeadlineOwner, LoginFlow {
  unowned let attempt: LoginAttempt
  private let redirect: LoopbackRedirect
  private var callbacks: CallbackListener?
  private var login: BrowserLogin?
  private(set) final var redirectURI = ""
  /// The browser's connection that delivered the code.
  private var codeConnection: CallbackConnection?
  private var hasCode = false
  private var unrelatedCount = 0

  /// Maximum number of unrelated requests to report to the person.
  private static let maxReportedUnrelated = 3

  init(_ attempt: LoginAttempt, _ redirect: LoopbackRedirect) {
    (self.attempt, self.redirect) = (attempt, redirect)
  }

  final func start() {
    do throws(UVError) {
      let callbacks = try CallbackListener(redirect, context: attempt.providers.context) { [unowned self] in
        received($0, target: $1)
      }
      self.callbacks = callbacks
      redirectURI = redirect.uri(port: callbacks.port)
    } catch {
      return attempt.fail(
        "bearerd cannot listen at \(redirect.uri(port: redirect.port)), where the browser would return: \(error)"
      )
    }
    begin()
  }

  // MARK: for another protocol

  /// Shows the page to the person, and then calls `waitForBrowser`.
  func begin() {
    var random = (0..<64).map { _ in UInt8.random(in: .min ... .max) }
    defer { wipe(&random) }
    do throws(SecretProblem) {
      let login = try BrowserLogin(
        attempt.source, redirectURI: redirectURI, random: random.span, in: attempt.arena)
      attempt.show("open \(login.url)")
      self.login = consume login
    } catch {
      return attempt.fail(error.sentence)
    }
    waitForBrowser()
  }

  /// Evaluates the browser's request. `nil` if no page was shown yet.
  func evaluate(_ target: Span<UInt8>) -> BrowserLogin.Verdict? { login?.evaluate(target, in: attempt.arena) }

  /// Adds the code of the browser's request to the secrets of the token request.
  /// - Returns: `false` if the login has ended.
  func put(_ code: consuming Secret, into secrets: TokenSecrets) throws(SecretProblem) -> Bool {
    switch login {
    case .none: return false
    case .some(let login):
      try login.put(code, into: secrets, in: attempt.arena)
      return true
    }
  }

  var exchangePurpose: TokenRequest.Purpose { .code(redirectURI: redirectURI) }

  /// Wipes the secrets of the login.
  func forget() { login = nil }

  // MARK: -

  final func waitForBrowser() {
    let deadline = attempt.providers.loop.now &+ attempt.source.loginTimeout
    attempt.providers.deadlines.schedule(self, at: deadline)
    attempt.setDeadline(deadline)
  }

  final func end(_ problem: String?) {
    attempt.providers.deadlines.cancel(self)
    let name = attempt.source.credential
    codeConnection?.respond(with: problem.map { CallbackPage(status: 502, "Not logged in", $0) } ?? .loggedIn(name))
    callbacks.take()?.close()
    forget()
  }

  override final func deadlinePassed() { attempt.fail("no browser returned in time (login_timeout)") }

  private func received(_ connection: CallbackConnection, target: Span<UInt8>) {
    let verdict = evaluate(target)
    switch consume verdict {
    case .none: connection.respond(with: .nothingHere)
    case .some(.unrelated(let sentence)):
      connection.respond(with: CallbackPage(status: 404, "Not found", sentence))
      unrelatedCount += 1
      if unrelatedCount <= Self.maxReportedUnrelated { attempt.note("note an unexpected request arrived: \(sentence)") }
    case .some(.refused(let sentence)):
      connection.respond(with: CallbackPage(status: 400, "Not logged in", sentence))
      // The login of the first code continues.
      if !hasCode { attempt.fail(sentence) }
    case .some(.code(let code)):
      hasCode = true
      codeConnection = connection
      exchange(code)
    }
  }

  private func exchange(_ code: consuming Secret) {
    attempt.providers.deadlines.cancel(self)
    attempt.setDeadline(nil)
    attempt.note("note the browser has returned: bearerd asks for the token")
    do throws(SecretProblem) {
      let secrets = try attempt.secrets()
      guard try put(code, into: secrets) else { return }
      let since = BootTimer.now
      let purpose = exchangePurpose
      attempt.endpointClient.ask(purpose, secrets) { [unowned self] result in
        switch result {
        case .success(let receiver): receive(receiver, purpose, since: since, secrets)
        case .failure(let problem): attempt.fail(problem.sentence)
        }
      }
    } catch {
      attempt.fail(error.sentence)
    }
  }

  private func receive(
    _ receiver: TokenResponseReceiver, _ purpose: TokenRequest.Purpose, since: UInt64, _ secrets: TokenSecrets
  ) {
    let response = TokenResponse.read(
      receiver, of: attempt.source, to: purpose, now: Clock.now.seconds, in: attempt.arena)
    switch consume response {
    case .granted(let grant): attempt.granted(grant, since: since, with: secrets)
    case .refused(let refusal): attempt.fail(refusal.sentence)
    }
  }
}
