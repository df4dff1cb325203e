internal import Credentials
internal import EventLoop
internal import Gateway
internal import Providers
internal import Generations

/// The renewal of a token that the upstream calls expired (T41). The request is then sent again.
struct CredentialRenewal {
  private let run: RequestRun

  init(_ run: RequestRun) { self.run = run }

  private var worker: Worker { run.worker }

  /// Gets a new value for the current request, whose response is held back.
  func renew() {
    run.pending.end = nil
    if run.attempt.challenge != nil { return ChallengeResponse(run).begin() }
    guard let grant = run.currentGrant, let tokens = worker.providers.tokens,
      let wait = tokens.replace(
        run.attempt.tokenVersion, ofGrant: grant,
        onEnd: { [unowned run] in CredentialRenewal(run).renewed($0) })
    else { return run.waitForNextTurn { CredentialRenewal($0).renewed(false) } }
    run.wait = .value(wait)
  }

  /// Renews the token for later requests, because the current request cannot be sent again.
  func replace() {
    guard let grant = run.currentGrant else { return }
    worker.providers.tokens?.replace(run.attempt.tokenVersion, ofGrant: grant)
  }

  private func renewed(_ hasNewToken: Bool) {
    run.wait = .nothing
    // A new token with the same value would be rejected again.
    let isNew =
      run.currentGrant.map { run.generation.keyring.secretVersion(ofGrant: $0) != run.attempt.valueVersion } ?? false
    if hasNewToken, isNew { run.sendAgain() } else { run.forwardPending() }
  }
}
