internal import Configuration
package import Credentials
internal import EventLoop
internal import Lifecycle
internal import Log
internal import OAuth
package import Policy
internal import Secrets
internal import Setup
internal import System

/// Asks the token servers of registries for one worker: once for all requests that need the same, on a connection of its own, at
/// the one place that the configuration names.
package final class RegistryClient {
  private unowned let providers: CredentialProviders
  private var runs: [Run] = []
  /// By credential: the server has refused, and is left alone for a while (T41).
  private var pauses: [String: Pause] = [:]

  private struct Pause {
    /// In a row.
    let failures: Int
    /// `BootTimer`'s milliseconds.
    let end: UInt64
    /// The number of the credential's value.
    let generation: UInt64
  }

  private final class Run {
    let attempt: ChallengeAttempt
    let challenge: RegistryChallenge
    var client: TokenEndpointClient?
    var waits = WaitQueue<SecretWait>()
    /// The token has come.
    var hasToken = false

    init(_ attempt: ChallengeAttempt, _ challenge: RegistryChallenge) {
      (self.attempt, self.challenge) = (attempt, challenge)
    }
  }

  private static let backOff = BackOff(first: 1_000, longest: 300_000)
  /// The end of a token is the server's: it is not used up to that.
  private static let skew: UInt64 = 5_000
  /// An upstream could have us ask for ever new things.
  private static let mostRuns = 64

  init(providers: CredentialProviders) { self.providers = providers }

  /// Calls `onEnd` once, on a later turn: whether there is a token.
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

  /// A credential was logged out: what comes of requests under way is not used (T46).
  package func forget(_ credential: String) {
    for run in runs where run.attempt.tokenServer?.credential == credential {
      run.client?.cancel()
      run.client = nil
      end(run, false)
    }
  }

  func close() {
    for run in runs { run.client?.cancel() }
    runs = []
  }

  private func start(_ run: Run, _ grant: Int, _ keyring: Keyring) {
    guard runs.contains(where: { $0 === run }) else { return }
    // In another configuration the same index may be another credential's.
    guard keyring === providers.generation.keyring, let source = run.attempt.tokenServer else { return end(run, false) }
    let generation = keyring.generation(ofGrant: grant)
    if let pause = pauses[source.credential] {
      if pause.generation == generation, BootTimer.now < pause.end { return end(run, false) }
      if pause.generation != generation { pauses[source.credential] = nil }
    }
    guard runs.count <= Self.mostRuns else { return end(run, false) }
    do {
      let login = try keyring.registryLogin(ofGrant: grant)
      let request = try TokenRequest.registry(source, run.challenge, login: login, in: keyring.tokenValues.arena)
      let client = TokenEndpointClient(source, providers: providers)
      run.client = client
      client.send(request) { [unowned self] answer in
        run.client = nil
        switch answer {
        case .success(let reader): take(reader, run, source, generation)
        case .failure(let problem): failed(problem.sentence, run, source, generation)
        }
      }
    } catch {
      failed("bearerd cannot ask \(source.endpoint): \(error)", run, source, generation)
    }
  }

  private func take(_ reader: AnswerIntake, _ run: Run, _ source: TokenSource, _ generation: UInt64) {
    let arena = providers.generation.keyring.tokenValues.arena
    let answer = reader.withAnswer { head, body in
      TokenAnswer.read(ofRegistry: head, body, of: source, now: Clock.now.seconds, in: arena)
    }
    switch consume answer {
    case .granted(let grant):
      let lifetime = grant.lifetime ?? 0
      let used = lifetime > 4 * Self.skew ? lifetime - Self.skew : lifetime / 4 * 3
      do throws(SystemError) {
        guard run.attempt.isCurrent else { return end(run, false) }
        try run.attempt.put(grant.accessToken, for: run.challenge, lifetime: used, in: arena)
        pauses[source.credential] = nil
        end(run, true)
      } catch {
        failed("cannot allocate memory for the token: \(error)", run, source, generation)
      }
    case .refused(let refusal): failed(refusal.sentence, run, source, generation)
    }
  }

  private func failed(_ sentence: String, _ run: Run, _ source: TokenSource, _ generation: UInt64) {
    providers.log.event(.tokenFailed, ("credential", source.credential), ("detail", sentence))
    let failures = (pauses[source.credential]?.failures ?? 0) + 1
    let until = BootTimer.now &+ Self.backOff.time(after: failures)
    pauses[source.credential] = Pause(failures: failures, end: until, generation: generation)
    end(run, false)
  }

  private func end(_ run: Run, _ hasToken: Bool) {
    runs.removeAll { $0 === run }
    run.hasToken = hasToken
    for wait in run.waits.takeAll() { wait.end() }
  }
}
