package import Gateway
package import Policy

/// An idle session on which a client has logged in (NTLM, Negotiate). It belongs to one client connection (T25).
package final class DedicatedUpstream: UpstreamSessionOwner {
  private let session: UpstreamSession
  private let caller: Caller?

  /// Takes over an idle session. If the session cannot be reused, closes it and returns `nil`.
  package init?(_ session: UpstreamSession, of caller: Caller?) {
    self.session = session
    self.caller = caller
    guard session.park(with: self) else {
      session.close()
      return nil
    }
  }

  /// Returns the session if caller and pool are the same as before. Otherwise closes it and returns `nil`.
  package func acquire(for pool: UpstreamPool, _ caller: Caller?, at now: Int64) -> UpstreamSession? {
    guard !session.isClosed, session.pool === pool, self.caller == caller, session.isProofValid(at: now)
    else {
      close()
      return nil
    }
    return session
  }

  package func close() { session.close() }

  // MARK: events of the idle session

  package func sessionIsReady(_ session: UpstreamSession) {}
  package func session(_ session: UpstreamSession, didReceive plaintext: Span<UInt8>) { close() }
  package func sessionEnded(_ session: UpstreamSession, isClean: Bool) { close() }
  package func session(_ session: UpstreamSession, didFail refusal: RefusalCode, detail: String) { close() }
  package func sessionDidDrain(_ session: UpstreamSession) {}
}
