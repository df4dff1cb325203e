package import Policy

/// An idle session on which a client has logged in (NTLM, Negotiate). It belongs to one client connection (T25).
package final class DedicatedUpstream {
  private let session: UpstreamSession
  private let caller: Caller?

  /// Ends `run`, and takes over its session. If the session cannot be reused, closes it and returns `nil`.
  package init?(_ session: UpstreamSession, after run: any UpstreamRunDelegate, of caller: Caller?) {
    self.session = session
    self.caller = caller
    guard session.park(after: run) else {
      session.close()
      return nil
    }
  }

  /// Returns the session if caller and pool are the same as before. Otherwise closes it and returns `nil`.
  package func acquire(for pool: UpstreamPool, _ caller: Caller?, at now: Int64) -> UpstreamSession? {
    guard !session.isClosed, session.pool === pool, self.caller == caller, session.isValid(at: now)
    else {
      close()
      return nil
    }
    return session
  }

  package func close() { session.close() }
}
