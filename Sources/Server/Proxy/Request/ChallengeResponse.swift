internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Log
internal import Policy
internal import Providers
internal import Secrets
internal import Settings
internal import Generations
internal import StatusModel

/// Credentials that are sent in response to challenges, such as Digest and registry tokens.
struct ChallengeResponse {
  private let run: RequestRun

  init(_ run: RequestRun) { self.run = run }

  private var worker: Worker { run.worker }

  /// Stores how the request used its credential.
  func note(_ challenge: ChallengeAttempt) {
    run.attempt.challenge = challenge
    // The upstream cannot give a verdict on a credential that was not sent.
    if challenge.isBare {
      run.attempt.returnBreaker()
      run.withExchange { $0.sentWithoutCredential() }
    }
    // No verdict for the helper programs either. A registry never sees the login itself.
    if challenge.isBare || challenge.tokenServer != nil { run.attempt.helperValues = [] }
  }

  /// Stores the challenge or nonce of a forwarded response for later requests.
  func record(status: Int) {
    guard let attempt = run.attempt.challenge.take() else { return }
    let head = run.response
    switch CredentialVerdict(status: status) {
    // This request cannot be sent again, but the next request can use the challenge.
    case .rejected where status == 401: learn(from: head, attempt)
    case .accepted: attempt.accepted(next: DigestChallenge.nextNonce(in: head))
    case .rejected, .forbidden, nil: break
    }
  }

  private func learn(from head: ResponseHead, _ attempt: ChallengeAttempt) {
    if let hashes = attempt.hashes {
      let challenge = DigestChallenge.strongest(in: head, of: hashes, realm: attempt.realm)
      if challenge == nil { logUnmet(attempt) }
      _ = attempt.rejected(with: challenge)
      // The nonce has expired, for example because of another request. The password itself was accepted.
      if challenge?.isStale == true {
        run.attempt.returnBreaker()
        run.attempt.helperValues = []
      }
    } else if let scheme = attempt.awaited {
      if !scheme.isRequested(by: head, realm: attempt.realm) { logUnmet(attempt) }
    } else if let challenge = registryChallenge(in: head, attempt) {
      if !attempt.rejected(with: challenge), attempt.isBare, let grant = run.currentGrant {
        _ = worker.providers.registries.ask(challenge, for: attempt, grant: grant) { _ in }
      }
    } else {
      logUnmet(attempt)
    }
  }

  private func logUnmet(_ attempt: ChallengeAttempt) {
    guard let grant = run.grant, let complaint = attempt.mismatchMessage() else { return }
    worker.log.event(
      .challengeUnmet, ("credential", run.generation.snapshot.rules.grants[grant].name),
      ("upstream", attempt.origin.description), ("detail", complaint))
  }

  private func registryChallenge(in head: ResponseHead, _ attempt: ChallengeAttempt) -> RegistryChallenge? {
    attempt.tokenServer.flatMap { RegistryChallenge.find(in: head, realm: $0.endpoint) }
  }

  /// Sends the request again on a later turn of the loop, if the credential can respond to the challenge.
  func begin() {
    guard let attempt = run.attempt.challenge.take() else { return }
    let head = run.response
    var canRetry = false
    if let hashes = attempt.hashes {
      canRetry = attempt.rejected(
        with: DigestChallenge.strongest(in: head, of: hashes, realm: attempt.realm))
    } else if attempt.awaited != nil {
      canRetry = true
    } else if let challenge = registryChallenge(in: head, attempt) {
      canRetry = attempt.rejected(with: challenge)
      if !canRetry, let grant = run.currentGrant {
        let wait = worker.providers.registries.ask(challenge, for: attempt, grant: grant) { [unowned run] in
          ChallengeResponse(run).handled($0)
        }
        run.wait = .value(wait)
        return
      }
    }
    run.waitForNextTurn { ChallengeResponse($0).handled(canRetry) }
  }

  private func handled(_ canRetry: Bool) {
    run.wait = .nothing
    if canRetry, run.generation === worker.generation { run.sendAgain() } else { run.forwardPending() }
  }
}
