internal import Credentials
internal import EventLoop
internal import Gateway
internal import Providers
internal import Generations
internal import Transport

/// Renewal of a token that the upstream calls expired (T41). The request is then sent again.
extension ClientSession {
  func recordToken(_ grant: Int) {
    let version = worker.providers.tokenVersion(ofGrant: grant)
    attempt.tokenVersion = version
    if version != 0 { attempt.valueVersion = worker.generation.keyring.secretVersion(ofGrant: grant) }
  }

  /// Returns the refusal for an error of the keyring.
  func refusal(of denied: AuthorizationError) -> Refusal {
    if case .unavailable = denied.reason, let grant = currentGrant,
      let failure = worker.providers.tokenFailure(ofGrant: grant)
    {
      return failure.refusal
    }
    return .plain(denied.refusal)
  }

  func renewCredential() {
    upstream.response.end = nil
    if attempt.challenge != nil { return respondToChallenge() }
    guard let grant = currentGrant, let tokens = worker.providers.tokens,
      let wait = tokens.replace(attempt.tokenVersion, ofGrant: grant, onEnd: { [unowned self] in renewed($0) })
    else {
      let wait = SecretWait { [unowned self] in renewed(false) }
      upstream.opening = .value(wait)
      return worker.loop.onNextTurn { wait.end() }
    }
    upstream.opening = .value(wait)
  }

  /// Renews the token for later requests, because the current request cannot be sent again.
  func replaceCredential() {
    guard let grant = currentGrant else { return }
    worker.providers.tokens?.replace(attempt.tokenVersion, ofGrant: grant)
  }

  private func renewed(_ hasNewToken: Bool) {
    upstream.opening = .nothing
    // A new token with the same value would be rejected again.
    if hasNewToken, let grant = currentGrant,
      generation.keyring.secretVersion(ofGrant: grant) != attempt.valueVersion
    {
      return retryRequest()
    }
    abandonRetry()
  }

  func retryRequest() {
    let rest = upstream.response.bytes?.bytes ?? []
    (upstream.response.bytes, upstream.response.end) = (nil, nil)
    // The expired value was valid before, so its rejection does not count for the breaker.
    attempt.returnBreaker()
    step { machine, output in machine.credentialRenewed(rest: rest, output: &output) }
    settle()
  }

  func abandonRetry() {
    step { machine, _ in machine.renewalRefused() }
    processBufferedResponse()
  }

  func processBufferedResponse() {
    let bytes = upstream.response.bytes?.bytes ?? []
    upstream.response.bytes = nil
    receiveResponse(bytes.span)
    if !isResponseBuffered, let connection = upstream.connection, let end = upstream.response.end {
      upstream.response.end = nil
      switch end {
      case .ended(let isClean): return connectionEnded(connection, isClean: isClean)
      case .failed(let refusal, let detail): return self.connection(connection, didFail: refusal, detail: detail)
      }
    }
    settle()
  }
}
