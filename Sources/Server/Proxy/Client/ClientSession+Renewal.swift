internal import Credentials
internal import EventLoop
internal import Gateway
internal import Providers
internal import Setup
internal import Transport

/// An upstream that calls a token expired: another one is fetched, once for all who need it, and the request goes out again;
/// or the answer goes on as it came (T41).
extension ClientSession {
  /// With which token the request goes out.
  func recordToken(_ grant: Int) {
    let version = worker.providers.tokenVersion(ofGrant: grant)
    attempt.tokenVersion = version
    if version != 0 { attempt.valueVersion = worker.generation.keyring.generation(ofGrant: grant) }
  }

  /// True when the token has ended while the connection was made: the request waits for the next one, as it would have before,
  /// and the connection among the idle ones of its identity (T40).
  func awaitsNextToken(_ session: UpstreamSession) -> Bool {
    guard let grant = currentGrant, let tokens = worker.providers.tokens,
      tokens.failure(ofGrant: grant) != nil
    else { return false }
    session.release()
    if !awaitsToken(grant, tokens, from: .filesOfToken, false) { valueCame(false, after: .token) }
    return true
  }

  /// The refusal code for an error of the keyring, and its reason: a token may have ended in this very moment.
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
    if attempt.challenge != nil { return answerChallenge() }
    guard let grant = currentGrant, let tokens = worker.providers.tokens,
      let wait = tokens.replace(attempt.tokenVersion, ofGrant: grant, onEnd: { [unowned self] in renewed($0) })
    else {
      let wait = SecretWait { [unowned self] in renewed(false) }
      upstream.opening = .value(wait)
      return worker.loop.onNextTurn { wait.end() }
    }
    upstream.opening = .value(wait)
  }

  /// For those who come next.
  func replaceCredential() {
    guard let grant = currentGrant else { return }
    worker.providers.tokens?.replace(attempt.tokenVersion, ofGrant: grant)
  }

  private func renewed(_ hasAnother: Bool) {
    upstream.opening = .nothing
    // A value that was rejected would be rejected once more.
    if hasAnother, let grant = currentGrant,
      generation.keyring.generation(ofGrant: grant) != attempt.valueVersion
    {
      return retryRequest()
    }
    abandonRetry()
  }

  func retryRequest() {
    let rest = upstream.response.bytes?.bytes ?? []
    (upstream.response.bytes, upstream.response.end) = (nil, nil)
    // The value was good once: that it has expired does not count against it.
    attempt.returnBreaker()
    step { machine, output in machine.credentialRenewed(rest: rest, output: &output) }
    settle()
  }

  func abandonRetry() {
    step { machine, _ in machine.renewalRefused() }
    offerHeldAnswer()
  }

  func offerHeldAnswer() {
    let bytes = upstream.response.bytes?.bytes ?? []
    upstream.response.bytes = nil
    receiveResponse(bytes.span)
    if !holdsAnswer, let session = upstream.session, let end = upstream.response.end {
      upstream.response.end = nil
      switch end {
      case .ended(let isClean): return sessionEnded(session, isClean: isClean)
      case .failed(let refusal, let detail): return self.session(session, didFail: refusal, detail: detail)
      }
    }
    settle()
  }
}
