internal import Configuration
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Log
internal import Policy
internal import Primitives
internal import Generations
internal import StatusModel
internal import System
internal import Transport

// Quotas of callers (T54).
extension Worker {
  func quotaHolder(of peer: Peer, at listener: ListenerID) -> CallerQuota.Holder {
    guard let index = generation.snapshot.index(of: listener) else { return .notAdmitted }
    return CallerQuota.Holder(peer.caller, admittedBy: generation.snapshot.admissions[index].callers)
  }

  /// Refuses a connection without reading from it.
  /// - Parameter share: maximum number of connections, for the log.
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

  /// Closes the oldest connection in `UnprovenConnections`. Returns `false` if there is none.
  func endOldestUnproven() -> Bool {
    guard let oldest = connections.removeOldestUnproven() else { return false }
    oldest.close(reset: true)
    return true
  }

  /// Moves a network connection that has sent a client token to the quota `network`, if this quota has room.
  func markProven(_ connection: ClientConnection) {
    connections.markProven(connection)
    let share = limits.connections(of: .network, outOf: connectionLimit)
    if let quota = sharedState.quotas.move(connection.quota, to: .network, share: share) {
      connection.quota = quota
    }
  }

  /// Acquires a permit for a request in progress. Returns `nil` if the caller has the maximum number.
  func admitRequest(of quota: CallerQuota) -> QuotaPermit? {
    QuotaPermit(of: quota, outOf: requestLimit)
  }

  /// Maximum number of requests in progress of one caller.
  var requestLimit: Int { limits.requestsPerUser(outOf: connectionLimit) }

  /// Returns whether to log this refusal of a caller that is not admitted.
  func acquireUnadmittedLogLine() -> Bool {
    let (isLogged, omitted) = sharedState.unadmittedCallerLog.acquireLine(at: loop.now)
    report(omitted: omitted)
    return isLogged
  }

  /// Logs the number of refusals that were not logged.
  func reportSuppressed() {
    for (name, count) in sharedState.quotas.removeRefusedCounts() {
      log.event(.callerLimit, ("uid", name), ("refused", String(count)))
    }
    report(omitted: sharedState.unadmittedCallerLog.removeOmitted())
  }

  private func report(omitted: UInt64) {
    guard omitted > 0 else { return }
    log.event(
      .refusalsNotLogged, ("count", String(omitted)),
      ("detail", "requests of users who are not allowed. The metrics count all of them"))
  }
}

private let tooManyConnections: [UInt8] = {
  var response = OutgoingResponse()
  Problem.write(.plain(.tooManyConnections), of: RequestHead(), admitted: nil, to: &response)
  var bytes = ByteBuffer()
  HTTP1ClientEdge.writeLocal(response, to: .get, closes: true, into: &bytes)
  return Array(bytes.contents)
}()
