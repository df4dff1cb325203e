internal import Configuration
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy

// What one caller may have of this worker (T54).
extension Worker {
  /// Whose connections this one counts among.
  func quotaHolder(of peer: Peer, on slot: ListenerSlot) -> CallerQuota.Holder {
    let admissions = generation.snapshot.admissions
    guard admissions.indices.contains(slot.index) else { return .strangers }
    return CallerQuota.Holder(peer.caller, admittedBy: admissions[slot.index].callers)
  }

  /// Nothing is read, nothing is kept, nothing is waited for: an answer that fits into the socket, and the end.
  func refuse(_ stream: EventLoop.Stream, of quota: CallerQuota, share: Int) {
    stream.write(tooManyConnections.span)
    stream.close()
    generation.tally.countUnread(.tooManyConnections, at: loop.now)
    isLoud(quota) { refused in
      journal.event(
        .warning, "caller-limit", ("uid", quota.holder.name), ("connections", String(share)), ("refused", refused),
        ("help", "limits: { connections_per_user: N } says how many one user may have"))
    }
    quotas.remove(quota)
  }

  /// Whether `session` may ask for a session of its own at an upstream.
  func admitsRequest(of quota: CallerQuota) -> Bool {
    quota.requests < limits.requestsPerUser(outOf: connectionLimit)
  }

  /// Whether a request of somebody who is not admitted gets a line in the log.
  func logsStranger() -> Bool {
    strangers.takeLine(at: loop.now, tell)
  }

  /// The end: what had no line of its own since the last one of its kind is counted in one.
  func tellWhatHadNoLine() {
    for quota in quotas.withRefusals {
      journal.event(.warning, "caller-limit", ("uid", quota.holder.name), ("refused", String(quota.refused)))
      quota.refused = 0
    }
    strangers.tellOmitted(tell)
  }

  private func tell(omitted: UInt64) {
    journal.event(
      .warning, "refusals-not-logged", ("count", String(omitted)),
      ("detail", "requests of users who are not admitted; the metrics have all of them"))
  }

  /// One line for many refusals, and how many there were.
  func isLoud(_ quota: CallerQuota, _ line: (String) -> Void) {
    quota.refused += 1
    guard isLoud(&quota.loggedAt) else { return }
    line(String(quota.refused))
    quota.refused = 0
  }
}

private let tooManyConnections: [UInt8] = {
  var bytes = ByteBuffer()
  Problem.write(.tooManyConnections, of: RequestHead(), admitted: nil, closes: true, to: &bytes)
  return Array(bytes.contents)
}()
