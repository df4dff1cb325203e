package import Credentials
internal import EventLoop
internal import Lifecycle
internal import Log
internal import OAuth
package import Policy
internal import Secrets
internal import Settings
internal import Generations
internal import StatusModel
internal import System

/// Requests tokens from registries' token servers, for one worker. Requests that need the same token share one token
/// request.
package final class RegistryClient {
  private unowned let providers: CredentialProviders
  private var runs: [Run] = []
  /// The pauses after failed token requests, by credential name (T41).
  private var pauses: [String: Pause] = [:]

  private struct Pause {
    let failures: Int
    /// When the pause ends, in milliseconds of `BootTimer`.
    let end: UInt64
    let secretVersion: UInt64
  }

  private final class Run {
    let attempt: ChallengeAttempt
    let challenge: RegistryChallenge
    var client: TokenEndpointClient?
    var waits = WaitQueue<SecretWait>()
    var hasToken = false

    init(_ attempt: ChallengeAttempt, _ challenge: RegistryChallenge) {
      (self.attempt, self.challenge) = (attempt, challenge)
    }
  }

  private static let backOff = BackOff(first: 1_000, longest: 300_000)
  /// Milliseconds before a token's expiry from which the token is no longer used.
  private static let skew: UInt64 = 5_000
  /// Maximum number of token requests in progress.
  private static let maxRuns = 64

  init(providers: CredentialProviders) { self.providers = providers }

  /// Requests a token for a registry's challenge. Calls `onEnd` once, later, with `true` if there is a token.
  package func ask(
    _ challenge: RegistryChallenge, for attempt: ChallengeAttempt, grant: Int, onEnd: @escaping (Bool) -> Void
  ) -> SecretWait {
    let joined = runs.first { $0.challenge == challenge && $0.attempt.isOfSame(as: attempt) }
    let run = joined ?? Run(attempt, challenge)
    let wait = SecretWait { [unowned run] in onEnd(run.hasToken) }
    run.waits.append(wait)
    if joined != nil { return wait }
    runs.append(run)
    providers.loop.onNextTurn { [weak self, keyring = providers.generation.keyring] in self?.start(run, grant, keyring)
    }
    return wait
  }

  /// Cancels the token requests of a credential that was logged out (T46).
  package func forget(_ credential: String) {
    for run in runs where run.attempt.tokenServer?.credential == credential {
      run.client.take()?.cancel()
      end(run, false)
    }
  }

  func close() {
    for run in runs { run.client?.cancel() }
    runs = []
  }

  private func start(_ run: Run, _ grant: Int, _ keyring: Keyring) {
    guard runs.contains(where: { $0 === run }) else { return }
    // In another configuration, the same index may belong to another credential.
    guard keyring === providers.generation.keyring, let source = run.attempt.tokenServer else { return end(run, false) }
    let secretVersion = keyring.secretVersion(ofGrant: grant)
    if let pause = pauses[source.credential] {
      if pause.secretVersion == secretVersion, BootTimer.now < pause.end { return end(run, false) }
      if pause.secretVersion != secretVersion { pauses[source.credential] = nil }
    }
    guard runs.count <= Self.maxRuns else { return end(run, false) }
    do {
      let login = try keyring.registryLogin(ofGrant: grant)
      let request = try TokenRequest.registry(source, run.challenge, login: login, in: keyring.tokenValues.arena)
      let client = TokenEndpointClient(source, providers: providers)
      run.client = client
      client.send(request) { [unowned self] result in
        run.client = nil
        switch result {
        case .success(let receiver): receive(receiver, run, source, secretVersion)
        case .failure(let problem): failed(problem.sentence, run, source, secretVersion)
        }
      }
    } catch {
      failed("bearerd cannot ask \(source.endpoint): \(error)", run, source, secretVersion)
    }
  }

  private func receive(_ receiver: TokenResponseReceiver, _ run: Run, _ source: TokenSource, _ secretVersion: UInt64) {
    let arena = providers.generation.keyring.tokenValues.arena
    let response = receiver.withResponse { head, body in
      TokenResponse.read(ofRegistry: head, body, of: source, now: Clock.now.seconds, in: arena)
    }
    switch consume response {
    case .granted(let grant):
      let lifetime = grant.lifetime ?? 0
      let used = lifetime > 4 * Self.skew ? lifetime - Self.skew : lifetime / 4 * 3
      do throws(SystemError) {
        guard run.attempt.isCurrent else { return end(run, false) }
        try run.attempt.put(grant.accessToken, for: run.challenge, lifetime: used, in: arena)
        pauses[source.credential] = nil
        end(run, true)
      } catch {
        failed("cannot allocate memory for the token: \(error)", run, source, secretVersion)
      }
    case .refused(let refusal): failed(refusal.sentence, run, source, secretVersion)
    }
  }

  private func failed(_ sentence: String, _ run: Run, _ source: TokenSource, _ secretVersion: UInt64) {
    providers.log.event(.tokenFailed, ("credential", source.credential), ("detail", sentence))
    let failures = (pauses[source.credential]?.failures ?? 0) + 1
    let until = BootTimer.now &+ Self.backOff.time(after: failures)
    pauses[source.credential] = Pause(failures: failures, end: until, secretVersion: secretVersion)
    end(run, false)
  }

  private func end(_ run: Run, _ hasToken: Bool) {
    runs.removeAll { $0 === run }
    run.hasToken = hasToken
    for wait in run.waits.drain() { wait.end() }
  }
}
