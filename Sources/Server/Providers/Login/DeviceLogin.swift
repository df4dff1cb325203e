internal import EventLoop
internal import OAuth
internal import Policy
internal import Secrets
internal import System

/// A login from another device (RFC 8628): a code for the person, and the question, again and again, whether it was entered.
final class DeviceLogin: Timed, LoginFlow {
  private unowned let attempt: LoginAttempt
  private var authorization: DeviceAuthorization?
  private var polling: DevicePolling?

  init(_ attempt: LoginAttempt) { self.attempt = attempt }

  func start() {
    do throws(SecretProblem) {
      let asked = attempt.providers.loop.now
      attempt.question.ask(.deviceAuthorization, try attempt.secrets()) { [unowned self] result in
        switch result {
        case .success(let reader): begin(reader, at: asked)
        case .failure(let problem): attempt.fail(problem.sentence)
        }
      }
    } catch {
      attempt.fail(error.sentence)
    }
  }

  func end(_ problem: String?) {
    attempt.providers.deadlines.cancel(self)
    authorization = nil
  }

  override func deadlinePassed() { poll() }

  private func begin(_ reader: AnswerIntake, at asked: UInt64) {
    let (source, arena) = (attempt.source, attempt.arena)
    var problem = ""
    let authorization = reader.withAnswer { head, body -> DeviceAuthorization? in
      do throws(TokenRefusal) {
        return try DeviceAuthorization.read(head, body, of: source, now: Clock.now.seconds, in: arena)
      } catch {
        problem = error.sentence
        return nil
      }
    }
    switch consume authorization {
    case .none: attempt.fail(problem)
    case .some(let authorization):
      attempt.show("open \(authorization.verificationURI)")
      attempt.show("code \(authorization.userCode)")
      if let complete = authorization.verificationURIComplete { attempt.show("complete \(complete)") }
      let polling = DevicePolling(lifetime: authorization.lifetime, interval: authorization.interval, at: asked)
      attempt.expect(until: asked &+ authorization.lifetime)
      self.polling = polling
      self.authorization = consume authorization
      follow(polling.first)
    }
  }

  private func follow(_ step: DevicePolling.Step?) {
    switch step {
    case .ask(let time): attempt.providers.deadlines.schedule(self, at: time)
    case .ended(.denied): attempt.fail("the login was denied at \(attempt.source.endpoint.origin)")
    case .ended(.expired): attempt.fail("the code has expired before the login was finished")
    case nil: break
    }
  }

  private func poll() {
    do throws(SecretProblem) {
      let secrets = try attempt.secrets()
      switch authorization {
      case .none: return
      case .some(let authorization): try authorization.put(into: secrets, in: attempt.arena)
      }
      let since = BootTimer.now
      attempt.question.ask(.deviceToken, secrets) { [unowned self] result in
        switch result {
        case .success(let reader): take(reader, since: since, secrets)
        case .failure(let problem): wait(problem.sentence)
        }
      }
    } catch {
      attempt.fail(error.sentence)
    }
  }

  private func take(_ reader: AnswerIntake, since: UInt64, _ secrets: TokenSecrets) {
    let (source, arena) = (attempt.source, attempt.arena)
    let answer = reader.withAnswer { head, body in
      TokenAnswer.read(head, body, of: source, to: .deviceToken, now: Clock.now.seconds, in: arena)
    }
    switch consume answer {
    case .granted(let grant): attempt.granted(grant, since: since, with: secrets)
    case .refused(let refusal):
      switch refusal.kind {
      case .pending(let answer):
        if answer == .slowDown { attempt.note("note the server asks bearerd to wait longer between requests") }
        follow(polling?.answered(answer, at: attempt.providers.loop.now))
      case .transient: wait(refusal.sentence)
      case .final, .misconfigured: attempt.fail(refusal.sentence)
      }
    }
  }

  /// The server could not say.
  private func wait(_ sentence: String) {
    attempt.note("note \(sentence)")
    follow(polling?.failed(at: attempt.providers.loop.now))
  }
}
