package import Gateway
package import Policy
package import TLS

/// The sessions of one identity: same origin, trust, pins, credential and generation. Its idle ones serve the next request of
/// that identity and of no other (T25).
package final class UpstreamPool {
  package let upstream: Upstream
  /// nil: plain HTTP to a loopback address, which carries no secret.
  package let context: ClientContext?
  let generation: UInt64
  /// The response is a secret: nothing of it stays where it passes.
  let answersSecrets: Bool
  /// The remark of TLS on the pins has been logged.
  var hasAdvised = false
  private var pool = IdlePool<UpstreamSession>()

  package typealias Choice = IdlePool<UpstreamSession>.Choice

  package init(upstream: Upstream, context: ClientContext?, generation: UInt64, answersSecrets: Bool = false) {
    self.answersSecrets = answersSecrets
    self.upstream = upstream
    self.context = context
    self.generation = generation
  }

  package var idle: [UpstreamSession] { pool.idle }
  /// Sessions that are idle, in use or being made.
  package var sessionCount: Int { pool.count }
  package var isRetired: Bool { pool.isRetired }

  func opened() -> UInt64 { pool.opened() }
  func closed() { pool.closed() }

  /// - Parameter now: seconds since 1970.
  package func takeIdle(at now: Int64, _ choice: Choice = .any) -> UpstreamSession? {
    var expired: [UpstreamSession] = []
    let session = pool.take(choice, at: now, expired: &expired)
    for session in expired { session.close() }
    return session
  }

  /// - Parameter time: milliseconds.
  /// - Returns: for how many milliseconds it is kept; nil: it is not.
  func keep(_ session: UpstreamSession, of epoch: UInt64, limit: Int, time: UInt64) -> UInt64? {
    pool.keep(session.entry, of: epoch, limit: limit, time: time)
  }

  func forget(_ session: UpstreamSession) { pool.forget { $0 === session } }

  /// Whatever there is so far serves no other request, and nothing of it is resumed: requests under way end on it.
  package func setApart() {
    context?.discardSessions()
    close(pool.setApart())
  }

  package func retire() {
    context?.discardSessions()
    close(pool.retire())
  }

  package func closeIdle() { close(pool.removeIdle()) }

  private func close(_ sessions: [UpstreamSession]) {
    for session in sessions { session.close() }
  }
}
