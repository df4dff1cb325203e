package import Policy
package import TLS

/// The sessions of one identity: same origin, trust, pins, credential and generation. Its idle ones serve the next request of
/// that identity and of no other (T25).
package final class UpstreamPool {
  package let upstream: Upstream
  /// nil: plain HTTP to a loopback address, which has no door for secrets.
  package let context: ClientContext?
  let generation: UInt64
  private var idleSessions: [UpstreamSession] = []
  /// Sessions that are idle, in use or being made.
  package private(set) var sessionCount = 0
  /// What TLS had to say about the pins has been logged.
  var hasAdvised = false
  /// Sessions of an earlier one are not kept.
  private(set) var epoch: UInt64 = 0
  /// What it answers is a secret: nothing of it stays where it passes.
  let answersSecrets: Bool
  /// A newer generation is current: nothing is kept any more.
  private(set) var isRetired = false

  package init(upstream: Upstream, context: ClientContext?, generation: UInt64, answersSecrets: Bool = false) {
    self.answersSecrets = answersSecrets
    self.upstream = upstream
    self.context = context
    self.generation = generation
  }

  package var idle: [UpstreamSession] { idleSessions }

  func opened() { sessionCount += 1 }
  func closed() { sessionCount -= 1 }

  /// Which of the idle sessions a request may have.
  package enum Choice {
    case any
    /// For a request that goes out without its credential: what an upstream answers on a connection that has carried one may be
    /// that user's (RFC 4559 section 5 tells of such servers).
    case neverAuthenticated
    /// Any, and first of all one that has carried the credential, so that the others stay as they are.
    case authenticatedFirst
  }

  /// The one that was used last: the others grow old and go. So do those whose proof does not hold now (seconds since 1970):
  /// whether the upstream may have more is for a handshake to say.
  package func takeIdle(at now: Int64, _ choice: Choice = .any) -> UpstreamSession? {
    while let session = popLast(choice) {
      if session.isProved(at: now) { return session }
      session.close()
    }
    return nil
  }

  /// More than `limit` are kept for half the time, for the next wave of a busy time: to close them at once would mean a
  /// handshake for each.
  /// - Parameter time: milliseconds.
  /// - Returns: for how many milliseconds it is kept; nil: it is not.
  func keep(_ session: UpstreamSession, limit: Int, time: UInt64) -> UInt64? {
    guard !isRetired, limit > 0 else { return nil }
    var all = take()
    all.append(session)
    let isTooMany = all.count > limit
    idleSessions = all
    return isTooMany ? time / 2 : time
  }

  func forget(_ session: UpstreamSession) {
    var all = take()
    if let index = all.lastIndex(where: { $0 === session }) { all.remove(at: index) }
    idleSessions = all
  }

  /// What there is so far serves nobody else, and nothing of it is resumed: requests under way end on it.
  package func setApart() {
    epoch &+= 1
    context?.forgetSessions()
    closeIdle()
  }

  package func retire() {
    isRetired = true
    context?.forgetSessions()
    closeIdle()
  }

  package func closeIdle() {
    let sessions = idleSessions
    idleSessions = []
    for session in sessions { session.close() }
  }

  private func popLast(_ choice: Choice) -> UpstreamSession? {
    var all = take()
    defer { idleSessions = all }
    switch choice {
    case .any: return all.popLast()
    case .neverAuthenticated:
      return all.lastIndex { !$0.hasCarriedCredential }.map { all.remove(at: $0) }
    case .authenticatedFirst:
      return all.lastIndex { $0.hasCarriedCredential }.map { all.remove(at: $0) } ?? all.popLast()
    }
  }

  /// To be put back at once. Changed in place, the property would be checked at each of its uses for two at a time.
  private func take() -> [UpstreamSession] {
    let taken = idleSessions
    idleSessions = []
    return taken
  }
}
