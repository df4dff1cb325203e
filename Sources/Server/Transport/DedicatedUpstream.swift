package import Gateway
package import Policy

/// A session on which a client has logged in, between the requests of that one: a client connection has it, and with that it
/// ends. In no pool (T25).
package final class DedicatedUpstream: UpstreamSessionOwner {
  private let session: UpstreamSession
  private let caller: Caller?

  /// nil: it is of no further use, and closed.
  package init?(_ session: UpstreamSession, of caller: Caller?) {
    self.session = session
    self.caller = caller
    guard session.rest(with: self) else {
      session.close()
      return nil
    }
  }

  /// For a request to the same place by the same caller, which may come with a client token of another one's; else it is closed.
  package func take(for pool: UpstreamPool, _ caller: Caller?, at now: Int64) -> UpstreamSession? {
    guard !session.isClosed, session.pool === pool, self.caller == caller, session.isProved(at: now)
    else {
      close()
      return nil
    }
    return session
  }

  package func close() { session.close() }

  // MARK: what the session says, unasked

  package func sessionIsReady(_ session: UpstreamSession) {}
  package func session(_ session: UpstreamSession, didReceive plaintext: Span<UInt8>) { close() }
  package func sessionEnded(_ session: UpstreamSession, isClean: Bool) { close() }
  package func session(_ session: UpstreamSession, didFail refusal: RefusalCode, detail: String) { close() }
  package func sessionDidDrain(_ session: UpstreamSession) {}
}
