package import Gateway
package import Policy
package import TLS

/// The connections that share one origin, offered protocols, trust, pins, credential and generation. Nothing else may use
/// them (T25).
package final class UpstreamPool {
  package let upstream: Upstream
  /// The TLS settings and stored TLS sessions. `nil` for plain HTTP.
  package let context: ClientContext?
  let generation: UInt64
  /// Whether responses can contain a new secret, such as a cookie.
  let responsesAreSecret: Bool
  var hasLoggedPinAdvice = false
  private var pool = ConnectionPool<UpstreamConnection>()

  package typealias Choice = ConnectionPool<UpstreamConnection>.Choice

  package init(upstream: Upstream, context: ClientContext?, generation: UInt64, responsesAreSecret: Bool = false) {
    self.responsesAreSecret = responsesAreSecret
    self.upstream = upstream
    self.context = context
    self.generation = generation
  }

  package var idle: [UpstreamConnection] { pool.idle }
  /// Number of connections that are idle, in use or being opened.
  package var connectionCount: Int { pool.count }
  package var isRetired: Bool { pool.isRetired }

  func opened() -> UInt64 { pool.opened() }
  func closed() { pool.closed() }

  /// Returns a connection in use that has room, or an idle connection. `nil` if there is none. The caller must begin a run.
  /// Closes idle connections whose certificates are no longer valid.
  /// - Parameter now: seconds since 1970.
  package func acquire(at now: Int64, _ choice: Choice = .any) -> UpstreamConnection? {
    var expired: [UpstreamConnection] = []
    let connection = pool.acquire(choice, at: now, expired: &expired)
    for connection in expired { connection.close() }
    return connection
  }

  /// Keeps an idle connection for later requests. Returns its maximum idle time in milliseconds, or `nil` if it is not
  /// kept.
  /// - Parameters:
  ///   - limit: number of connections to keep for `time`. Further connections are kept for half this time.
  func keep(_ connection: UpstreamConnection, limit: Int, time: UInt64) -> UInt64? {
    pool.keep(connection, limit: limit, time: time)
  }

  /// Offers a connection in use to further runs while the connection has room.
  func update(_ connection: UpstreamConnection) { pool.update(connection) }

  func remove(_ connection: UpstreamConnection) { pool.remove(connection) }

  /// Prevents the reuse and TLS resumption of all connections opened so far. Requests in progress can finish.
  package func invalidate() {
    context?.discardSessions()
    close(pool.invalidate())
  }

  /// Invalidates all connections, and keeps no connection from now on.
  package func retire() {
    context?.discardSessions()
    close(pool.retire())
  }

  package func closeIdle() { close(pool.removeIdle()) }

  private func close(_ connections: [UpstreamConnection]) {
    for connection in connections { connection.close() }
  }
}
