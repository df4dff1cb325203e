internal import Credentials
internal import EventLoop
internal import Gateway

/// The breaker's part in an exchange: asked before anything is opened and again when the head goes out, told of the answer.
extension ClientSession {
  /// Why the credential may not go out now; nil: it may.
  func suspension(ofGrant grant: Int) -> Refusal? {
    returnPass()
    breaker = machine.exchange.route.flatMap { generation.breaker(ofGrant: grant, for: $0) }
    guard let breaker else { return nil }
    breaker.follow(
      generation.keyring.generation(ofGrant: grant), fingerprint: generation.keyring.fingerprint(ofGrant: grant),
      at: worker.loop.now, journal: worker.journal)
    return breaker.wait(at: worker.loop.now).map { .credentialSuspended($0) }
  }

  /// The head is about to go out. The answers to others may have come since the session was asked for, and so may a new value.
  func takePass(forGrant grant: Int) -> Refusal? {
    if let refusal = suspension(ofGrant: grant) { return refusal }
    guard let breaker else { return nil }
    pass = breaker.letOut(at: worker.loop.now)
    return pass == nil ? .credentialSuspended(0) : nil
  }

  /// As soon as the upstream has said what it thinks of the credential.
  func noteVerdict() {
    guard let pass, machine.exchange.record.upstreamStatus != 0 else { return }
    self.pass = nil
    breaker?.answered(
      status: machine.exchange.record.upstreamStatus, to: pass, at: worker.loop.now, journal: worker.journal)
  }

  /// It did not go out, or goes out once more.
  func returnPass() {
    guard let pass else { return }
    self.pass = nil
    breaker?.takeBack(pass, at: worker.loop.now)
  }
}
