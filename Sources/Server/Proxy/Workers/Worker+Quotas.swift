internal import Configuration
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Log
internal import Policy
internal import Primitives
internal import Setup
internal import System
internal import Transport

// The share of one caller in this worker (T54).
extension Worker {
  /// Whose connections this one counts among.
  func quotaHolder(of peer: Peer, at listener: ListenerID) -> CallerQuota.Holder {
    guard let index = generation.snapshot.index(of: listener) else { return .strangers }
    return CallerQuota.Holder(peer.caller, admittedBy: generation.snapshot.admissions[index].callers)
  }

  /// Nothing is read, nothing is kept, nothing is waited for: an answer that fits into the socket, and the end.
  func refuse(_ stream: EventLoop.Stream, of quota: CallerQuota, share: Int) {
    stream.write(tooManyConnections.span)
    stream.close()
    generation.tally.countUnread(.tooManyConnections, at: loop.now)
    if let refused = quota.countRefusal(at: loop.now) {
      log.event(
        .callerLimit, ("uid", quota.holder.name), ("connections", String(share)),
        ("refused", String(refused)),
        ("help", "limits: { connections_per_user: N } sets how many connections one user may have"))
    }
    sharedState.quotas.remove(quota)
    connectionEnded()
  }

  /// Makes a place among the strangers for a connection by a network, which may bring a client token with its first bytes: the
  /// oldest connection of a stranger ends. Otherwise connections that say nothing, over the network or of a user of this
  /// machine who is not admitted, would keep all others out.
  /// - Returns: whether there was one to end.
  func endOldestUnproven() -> Bool {
    guard let oldest = sessions.removeOldestUnproven() else { return false }
    oldest.close(reset: true)
    return true
  }

  /// Counts a connection by a network, over which a client token has come, as what it is from now on. Where there are as many
  /// of those as there may be, it goes on as a stranger's, which is not ended for its age any more.
  func prove(_ session: ClientSession) {
    sessions.prove(session)
    let share = limits.connections(of: .network, outOf: connectionLimit)
    if let quota = sharedState.quotas.move(session.client.quota, to: .network, share: share) {
      session.client.quota = quota
    }
  }

  /// Whether one more request of this caller may ask for a session of its own at an upstream. It counts from now on.
  func admitRequest(of quota: CallerQuota) -> QuotaPermit? {
    QuotaPermit(of: quota, outOf: limits.requestsPerUser(outOf: connectionLimit))
  }

  /// Whether a request of a caller who is not admitted gets a line in the log.
  func logsStranger() -> Bool {
    let (isTaken, omitted) = sharedState.strangers.takeLine(at: loop.now)
    tell(omitted: omitted)
    return isTaken
  }

  /// The end: what had no line of its own since the last one of its kind is counted in one.
  func reportSuppressed() {
    for (name, count) in sharedState.quotas.removeRefusedCounts() {
      log.event(.callerLimit, ("uid", name), ("refused", String(count)))
    }
    tell(omitted: sharedState.strangers.removeOmitted())
  }

  private func tell(omitted: UInt64) {
    guard omitted > 0 else { return }
    log.event(
      .refusalsNotLogged, ("count", String(omitted)),
      ("detail", "requests of users who are not allowed. The metrics count all of them"))
  }
}

private let tooManyConnections: [UInt8] = {
  var bytes = ByteBuffer()
  Problem.write(.plain(.tooManyConnections), of: RequestHead(), admitted: nil, closes: true, to: &bytes)
  return Array(bytes.contents)
}()
