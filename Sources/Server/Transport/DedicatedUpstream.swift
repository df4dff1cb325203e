package import Policy

/// An idle connection on which a client has logged in (NTLM, Negotiate). It belongs to one client connection (T25).
package final class DedicatedUpstream {
  private let connection: UpstreamConnection
  private let caller: Caller?

  /// Ends `run`, and takes over its connection. If the connection cannot be reused, closes it and returns `nil`.
  package init?(_ connection: UpstreamConnection, after run: any UpstreamRunDelegate, of caller: Caller?) {
    self.connection = connection
    self.caller = caller
    guard connection.park(after: run) else {
      connection.close()
      return nil
    }
  }

  /// Returns the connection if caller and pool are the same as before. Otherwise closes it and returns `nil`.
  package func acquire(for pool: UpstreamPool, _ caller: Caller?, at now: Int64) -> UpstreamConnection? {
    guard !connection.isClosed, pool.owns(connection), self.caller == caller, connection.isValid(at: now)
    else {
      close()
      return nil
    }
    return connection
  }

  package func close() { connection.close() }
}
