internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Log
internal import Policy
internal import Providers
internal import Secrets
internal import Setup

/// A credential that answers challenges: what went out is remembered until the answer says what came of it.
extension ClientSession {
  func note(_ challenge: ChallengeAttempt?) {
    attempt.challenge = challenge
    // Whatever the upstream answers, it has not judged what it was not shown.
    if challenge?.isBare == true {
      attempt.returnBreaker()
      slot?.machine.withExchange { $0.wentOutBare() }
    }
    // Nor has the program that gave it anything to hear of it; a registry never sees it.
    if let challenge, challenge.isBare || challenge.tokenServer != nil { attempt.helperValues = [] }
  }

  /// The head of the response goes on.
  func recordChallenge(status: Int) {
    guard let attempt = attempt.challenge else { return }
    self.attempt.challenge = nil
    guard let head = slot?.machine.exchange.response else { return }
    switch CredentialVerdict(status: status) {
    // A request that cannot go out once more still helps the next one.
    case .rejected where status == 401: learn(from: head, attempt)
    case .accepted: attempt.accepted(next: DigestChallenge.nextNonce(in: head))
    case .rejected, .forbidden, nil: break
    }
  }

  private func learn(from head: ResponseHead, _ attempt: ChallengeAttempt) {
    if let hashes = attempt.hashes {
      let challenge = DigestChallenge.strongest(in: head, of: hashes)
      if challenge == nil { complain(attempt) }
      _ = attempt.rejected(with: challenge)
      // Another request has used the nonce up meanwhile: the answer says that the password was right.
      if challenge?.isStale == true {
        self.attempt.returnBreaker()
        self.attempt.helperValues = []
      }
    } else if let scheme = attempt.awaited {
      if !scheme.isWanted(by: head) { complain(attempt) }
    } else if let challenge = registryChallenge(in: head, attempt), !attempt.rejected(with: challenge),
      attempt.isBare, let grant = currentGrant
    {
      _ = worker.providers.registries.ask(challenge, for: attempt, grant: grant) { _ in }
    } else if registryChallenge(in: head, attempt) == nil {
      complain(attempt)
    }
  }

  private func complain(_ attempt: ChallengeAttempt) {
    guard let grant, let complaint = attempt.complaint() else { return }
    worker.log.event(
      .challengeUnmet, ("credential", generation.snapshot.rules.grants[grant].name),
      ("upstream", attempt.origin.description), ("detail", complaint))
  }

  private func registryChallenge(in head: ResponseHead, _ attempt: ChallengeAttempt) -> RegistryChallenge? {
    attempt.tokenServer.flatMap { RegistryChallenge.find(in: head, realm: $0.endpoint) }
  }

  /// The head of the answer is held back, and asks for something that the credential can give.
  func answerChallenge() {
    guard let attempt = attempt.challenge else { return }
    self.attempt.challenge = nil
    guard let head = slot?.machine.exchange.response else { return }
    var isWorthIt = false
    if let hashes = attempt.hashes {
      isWorthIt = attempt.rejected(with: DigestChallenge.strongest(in: head, of: hashes))
    } else if attempt.awaited != nil {
      isWorthIt = true
    } else if let challenge = registryChallenge(in: head, attempt) {
      isWorthIt = attempt.rejected(with: challenge)
      if !isWorthIt, let grant = currentGrant {
        let wait = worker.providers.registries.ask(challenge, for: attempt, grant: grant) { [unowned self] in
          challengeMet($0)
        }
        upstream.opening = .value(wait)
        return
      }
    }
    let wait = SecretWait { [unowned self] in challengeMet(isWorthIt) }
    upstream.opening = .value(wait)
    worker.loop.onNextTurn { wait.end() }
  }

  private func challengeMet(_ isWorthIt: Bool) {
    upstream.opening = .nothing
    guard isWorthIt, generation === worker.generation else { return abandonRetry() }
    retryRequest()
  }
}
