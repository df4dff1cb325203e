package import Gateway
package import Policy
package import TLS

/// The sessions that share one origin, offered protocols, trust, pins, credential and generation. Nothing else may use
/// them (T25).
package final class UpstreamPool {
  package let upstream: Upstream
  /// The TLS settings and stored TLS sessions. `nil` for plain HTTP.
  package let context: ClientContext?
  let generation: UInt64
  /// Whether responses can contain a new secret, such as a cookie.
  let responsesAreSecret: Bool
  var hasLoggedPinAdvice = false
  private var pool = IdlePool<UpstreamSession>()

  package typealias Choice = IdlePool<UpstreamSession>.Choice

  package init(upstream: Upstream, context: ClientContext?, generation: UInt64, responsesAreSecret: Bool = false) {
    self.responsesAreSecret = responsesAreSecret
    self.upstream = upstream
    self.context = context
    self.generation = generation
  }

  package var idle: [UpstreamSession] { pool.idle }
  /// Number of sessions that are idle, in use or being opened.
  package var sessionCount: Int { pool.count }
  package var isRetired: Bool { pool.isRetired }

  func opened() -> UInt64 { pool.opened() }
  func closed() { pool.closed() }

  /// Returns a session in use that has room, or an idle session. `nil` if there is none. The caller must begin a run.
  /// Closes idle sessions whose certificates are no longer valid.
  /// - Parameter now: seconds since 1970.
  package func acquireIdle(at now: Int64, _ choice: Choice = .any) -> UpstreamSession? {
    var expired: [UpstreamSession] = []
    let session = pool.acquire(choice, at: now, expired: &expired)
    for session in expired { session.close() }
    return session
  }

  /// Keeps an idle session for later requests. Returns its maximum idle time in milliseconds, or `nil` if it is not
  /// kept.
  /// - Parameters:
  ///   - limit: number of sessions to keep for `time`. Further sessions are kept for half this time.
  func keep(_ session: UpstreamSession, limit: Int, time: UInt64) -> UInt64? {
    pool.keep(session, limit: limit, time: time)
  }

  /// Offers a session in use to further runs while the session has room.
  func update(_ session: UpstreamSession) { pool.update(session) }

  func remove(_ session: UpstreamSession) { pool.remove(session) }

  /// Prevents the reuse and TLS resumption of all sessions opened so far. Requests in progress can finish.
  package func invalidateSessions() {
    context?.discardSessions()
    close(pool.invalidate())
  }

  /// Invalidates all sessions, and keeps no session from now on.
  package func retire() {
    context?.discardSessions()
    close(pool.retire())
  }

  package func closeIdle() { close(pool.removeIdle()) }

  private func close(_ sessions: [UpstreamSession]) {
    for session in sessions { session.close() }
  }
}
