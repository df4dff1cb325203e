internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy

/// A credential that answers challenges: what went out is remembered until the answer says what came of it.
extension ClientSession {
  func note(_ attempt: ChallengeAttempt?) {
    self.attempt = attempt
    // Whatever the upstream answers, it has not judged what it was not shown.
    if attempt?.isBare == true { returnPass() }
  }

  /// The head of the answer goes on, if there is one yet.
  func noteChallenge() {
    guard let attempt, standing.upstreamStatus != 0 else { return }
    self.attempt = nil
    guard let head = desk?.machine.exchange.response else { return }
    switch CredentialVerdict(status: standing.upstreamStatus) {
    // A request that cannot go out once more still helps the next one.
    case .rejected where standing.upstreamStatus == 401:
      let challenge = DigestChallenge.strongest(in: head, of: attempt.hashes)
      _ = attempt.rejected(with: challenge)
      // Somebody else has used the nonce up meanwhile: it says that the password was right.
      if challenge?.isStale == true { returnPass() }
    case .accepted: attempt.accepted(next: DigestChallenge.nextNonce(in: head))
    case .rejected, .forbidden, nil: break
    }
  }

  /// The head of the answer is held back, and asks for something that the credential can give.
  func meetChallenge() {
    guard let attempt else { return }
    self.attempt = nil
    let isWorthIt =
      desk.map {
        attempt.rejected(with: .strongest(in: $0.machine.exchange.response, of: attempt.hashes))
      } ?? false
    let wait = SecretWait { [unowned self] in challengeMet(isWorthIt) }
    secretWait = wait
    worker.loop.onNextTurn { wait.end() }
  }

  private func challengeMet(_ isWorthIt: Bool) {
    secretWait = nil
    guard isWorthIt, generation === worker.generation else { return giveUpSecondTry() }
    tryOnceMore()
  }
}
