internal import EventLoop
internal import OAuth
internal import Policy
internal import Secrets
internal import Settings
internal import System

/// A login on another device (RFC 8628): shows a code, and polls until the person has entered it.
final class DeviceLoginFlow: DeadlineOwner, LoginFlow {
  private unowned let attempt: LoginAttempt
  private var authorization: DeviceAuthorization?
  private var polling: DevicePolling?

  init(_ attempt: LoginAttempt) { self.attempt = attempt }

  func start() {
    do throws(SecretProblem) {
      let requestedAt = attempt.providers.loop.now
      attempt.endpointClient.ask(.deviceAuthorization, try attempt.secrets()) { [unowned self] result in
        switch result {
        case .success(let receiver): begin(receiver, at: requestedAt)
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

  private func begin(_ receiver: TokenResponseReceiver, at requestedAt: UInt64) {
    let (source, arena) = (attempt.source, attempt.arena)
    var problem = ""
    let authorization = receiver.withResponse { head, body -> DeviceAuthorization? in
      do throws(TokenRefusal) {
        return try DeviceAuthorization.read(head, body, of: source, now: Clock.now.seconds, in: arena)
      } catch {
        problem = error.sentence
        return nil
      }
    }
    guard let authorization else { return attempt.fail(problem) }
    attempt.show("open \(authorization.verificationURI)")
    attempt.show("code \(authorization.userCode)")
    if let complete = authorization.verificationURIComplete { attempt.show("complete \(complete)") }
    let polling = DevicePolling(lifetime: authorization.lifetime, interval: authorization.interval, at: requestedAt)
    attempt.setDeadline(requestedAt &+ authorization.lifetime)
    self.polling = polling
    self.authorization = consume authorization
    perform(polling.first)
  }

  private func perform(_ step: DevicePolling.Step?) {
    switch step {
    case .poll(let time): attempt.providers.deadlines.schedule(self, at: time)
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
      attempt.endpointClient.ask(.deviceToken, secrets) { [unowned self] result in
        switch result {
        case .success(let receiver): receive(receiver, since: since, secrets)
        case .failure(let problem): retry(problem.sentence)
        }
      }
    } catch {
      attempt.fail(error.sentence)
    }
  }

  private func receive(_ receiver: TokenResponseReceiver, since: UInt64, _ secrets: TokenSecrets) {
    let response = TokenResponse.read(
      receiver, of: attempt.source, to: .deviceToken, now: Clock.now.seconds, in: attempt.arena)
    switch consume response {
    case .granted(let grant): attempt.granted(grant, since: since, with: secrets)
    case .refused(let refusal):
      switch refusal.kind {
      case .pending(let outcome):
        if outcome == .slowDown { attempt.note("note the server asks bearerd to wait longer between requests") }
        perform(polling?.received(outcome, at: attempt.providers.loop.now))
      case .transient: retry(refusal.sentence)
      case .final, .misconfigured: attempt.fail(refusal.sentence)
      }
    }
  }

  private func retry(_ sentence: String) {
    attempt.note("note \(sentence)")
    perform(polling?.failed(at: attempt.providers.loop.now))
  }
}
