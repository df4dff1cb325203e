internal import Configuration
internal import EventLoop
internal import OAuth
internal import Secrets
internal import System

/// A login by a browser on this machine (RFC 6749 section 4.1, RFC 7636, RFC 8252): a URL for it, and a place where it brings
/// the answer.
final class BrowserWait: Timed, LoginFlow {
  private unowned let attempt: LoginAttempt
  private let redirect: LoopbackRedirect
  private var callbacks: CallbackListener?
  private var login: BrowserLogin?
  private var redirectURI = ""
  /// Who came with the code, and hears what becomes of it.
  private var bringer: CallbackConnection?
  private var hasCode = false
  private var strangers = 0

  /// So many are told of; who comes more often shall not fill a terminal.
  private static let toldStrangers = 3

  init(_ attempt: LoginAttempt, _ redirect: LoopbackRedirect) {
    (self.attempt, self.redirect) = (attempt, redirect)
  }

  func start() {
    do throws(UVError) {
      let callbacks = try CallbackListener(redirect, context: attempt.providers.context) { [unowned self] in
        called($0, target: $1)
      }
      self.callbacks = callbacks
      redirectURI = redirect.uri(port: callbacks.port)
    } catch {
      return attempt.fail(
        "bearerd cannot listen at \(redirect.uri(port: redirect.port)), where the browser would return: \(error)"
      )
    }
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
    let deadline = attempt.providers.loop.now &+ attempt.settings.loginTimeout
    attempt.providers.deadlines.schedule(self, at: deadline)
    attempt.expect(until: deadline)
  }

  func end(_ problem: String?) {
    attempt.providers.deadlines.cancel(self)
    let name = attempt.source.credential
    bringer?.answer(problem.map { CallbackPage(status: 502, "Not logged in", $0) } ?? .loggedIn(name))
    callbacks?.close()
    callbacks = nil
    login = nil
  }

  override func deadlinePassed() { attempt.fail("no browser returned in time (login_timeout)") }

  private func called(_ connection: CallbackConnection, target: Span<UInt8>) {
    let arena = attempt.arena
    let verdict = login?.judge(target, in: arena)
    switch consume verdict {
    case .none: connection.answer(.nothingHere)
    case .some(.stranger(let sentence)):
      connection.answer(CallbackPage(status: 404, "Not found", sentence))
      strangers += 1
      if strangers <= Self.toldStrangers { attempt.note("note an unexpected request arrived: \(sentence)") }
    case .some(.refused(let sentence)):
      connection.answer(CallbackPage(status: 400, "Not logged in", sentence))
      // The first one's login goes on.
      if !hasCode { attempt.fail(sentence) }
    case .some(.code(let code)):
      hasCode = true
      bringer = connection
      exchange(code)
    }
  }

  private func exchange(_ code: consuming Secret) {
    attempt.providers.deadlines.cancel(self)
    attempt.expect(until: nil)
    attempt.note("note the browser has returned: bearerd asks for the token")
    do throws(SecretProblem) {
      let secrets = try attempt.secrets()
      switch login {
      case .none: return
      case .some(let login): try login.put(code, into: secrets, in: attempt.arena)
      }
      let since = BootTimer.now
      let purpose = TokenRequest.Purpose.code(redirectURI: redirectURI)
      attempt.question.ask(purpose, secrets) { [unowned self] result in
        switch result {
        case .success(let reader): take(reader, purpose, since: since, secrets)
        case .failure(let problem): attempt.fail(problem.sentence)
        }
      }
    } catch {
      attempt.fail(error.sentence)
    }
  }

  private func take(_ reader: AnswerIntake, _ purpose: TokenRequest.Purpose, since: UInt64, _ secrets: TokenSecrets) {
    let (source, arena) = (attempt.source, attempt.arena)
    let answer = reader.withAnswer { head, body in
      TokenAnswer.read(head, body, of: source, to: purpose, now: Clock.now.seconds, in: arena)
    }
    switch consume answer {
    case .granted(let grant): attempt.granted(grant, since: since, with: secrets)
    case .refused(let refusal): attempt.fail(refusal.sentence)
    }
  }
}
