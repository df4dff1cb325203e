internal import Configuration
internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Setup
internal import Transport

extension ClientSession {
  /// After every event: what waited goes on if it can; neither side is read while the other cannot take more; and the
  /// deadline that now runs.
  func settle() {
    // Opening goes on within this turn. A turn reads for as long as there is something to read, and here it would pile up
    // (T54).
    if case .endOfTurn = upstream.opening {
      if flow.isReading, let pending = flow.pending, pending.bytes.count >= ClientSession.muchPending {
        flow.isReading = false
        stream.stopReading()
      }
      return
    }
    feedPending()
    guard state == .open || state == .orphaned else { return }
    let wantsClient = wantsClientBytes
    if wantsClient != flow.isReading {
      flow.isReading = wantsClient
      if wantsClient { stream.startReading() } else { stream.stopReading() }
    }
    upstream.session?.setReading(stream.queuedBytes == 0 && !holdsAnswer)
    if bodyIsTooSlow {
      step { machine, output in machine.requestBodyTooSlow(output: &output) }
      return settle()
    }
    updateDeadline()
    rest()
  }

  /// To stop and to start again costs two system calls; most requests are smaller.
  private static let muchPending = 65_536

  private var wantsClientBytes: Bool {
    guard summary.wantsClientBytes else { return false }
    switch summary.phase {
    // Who does not take answers cannot ask for more of them.
    case .awaitingHead: return stream.queuedBytes == 0 && !flow.turnShare.isUsedUp
    // Bytes that the machine holds back wait in `pending`, and what comes after them in the socket.
    case .awaitingUpstream, .exchanging, .upgraded:
      return (flow.pending == nil || !summary.holdsClientBytes) && (upstream.session?.queuedBytes ?? 0) == 0
    case .lingering: return true
    case .closed: return false
    }
  }

  /// While the upstream takes nothing, the client cannot be blamed.
  private var bodyIsTooSlow: Bool {
    guard summary.awaitsRequestBody, (upstream.session?.queuedBytes ?? 0) == 0, let window = time(of: .silence) else {
      flow.bodyPace.rest()
      return false
    }
    let rate = worker.limits.clientBodyRate
    return flow.bodyPace.isTooSlow(
      total: summary.bytesUp, now: worker.loop.now, window: window, rate: rate)
  }

  private func updateDeadline() {
    var deadline = summary.deadline
    // The time to linger, or to be idle, begins when the answer is out.
    if stream.queuedBytes > 0, deadline == .linger || deadline == .idle { deadline = .silence }
    guard deadline != flow.lastDeadline || deadline == .silence || deadline == .upgraded else { return }
    flow.lastDeadline = deadline
    let now = worker.loop.now
    if deadline == .head { timing.startedAt = now }
    let due = if let time = time(of: deadline) { now + time } else { UInt64.max }
    worker.deadlines.schedule(self, at: summary.isRunning ? min(due, timing.totalBy) : due)
  }

  func time(of deadline: Deadline) -> UInt64? {
    switch deadline {
    case .idle: worker.limits.clientIdle
    case .head: worker.limits.clientHead
    case .none: nil
    case .linger: 2_000
    case .responseHead: if let routeContext { routeContext.timeouts.responseHead } else { worker.limits.clientIdle }
    case .silence:
      if let routeContext { routeContext.timeouts.bodySilence ?? longestSilence } else { worker.limits.clientIdle }
    case .upgraded: if let routeContext { routeContext.timeouts.upgraded } else { worker.limits.clientIdle }
    }
  }

  /// The time without a byte where the service sets none: a response, or an upgraded connection, may be silent for any time,
  /// and TCP keep-alive says whether its peers are alive. A client that owes the rest of its request has no answer to wait
  /// for (T54); nor has one that does not take the end of its last response.
  private var longestSilence: UInt64? {
    if summary.awaitsRequestBody { return worker.limits.clientBodyRate > 0 ? ClientSession.requestSilence : nil }
    return summary.deadline == .linger || summary.deadline == .idle ? worker.limits.clientIdle : nil
  }

  /// Milliseconds within which a request's body has to bring something before its response begins.
  private static let requestSilence: UInt64 = 600_000

  func record() {
    slot?.machine.withExchange { exchange in record(&exchange) }
    // The next head may be refused before it is whole.
    attempt.failureDetail = nil
    timing.responseHeadTook = nil
  }

  private func record(_ exchange: inout Exchange) {
    let wentOut = attempt.end()
    flow.bodyPace.rest()
    generation.tally.count(&exchange, responseHead: timing.responseHeadTook, at: worker.loop.now)
    // Nothing went anywhere, and a client that asks too much would fill the log as well: one line for many.
    if let refusal = exchange.record.refusal {
      if refusal == .plain(.tooManyRequests) { return recordExcess() }
      if case .rateLimited(let excess) = refusal { return record(excess, of: exchange.caller) }
      // Whatever a stranger's request failed for, a malformed one, too.
      if client.quota.holder == .strangers || refusal.isOfStranger, !worker.logsStranger() { return }
    }
    worker.log.exchange(&exchange, of: self, isPromised: wentOut)
  }

  private func recordExcess() {
    guard let refused = client.quota.countRefusal(at: worker.loop.now) else { return }
    worker.log.event(
      .callerLimit, ("uid", client.quota.holder.name), ("requests", String(client.quota.requestsUnderWay)),
      ("refused", String(refused)),
      ("help", "limits: { requests_per_user: N } sets how many requests one user may have in progress"))
  }

  /// Closes the connection. Queued bytes go out first, for as long as the client takes some of them.
  func close(reset: Bool = false) {
    guard !isClosed else { return }
    endUpstream(reuse: false)
    if reset || stream.queuedBytes == 0 { return finishClosing(reset: reset) }
    state = .closing
    flow.isReading = false
    stream.stopReading()
    worker.deadlines.schedule(self, at: worker.loop.now + worker.limits.clientHead)
  }

  func finishClosing(reset: Bool = false) {
    guard !isClosed else { return }
    if summary.isRunning || summary.phase == .upgraded {
      // Every exchange that has begun leaves exactly one record: whatever closes a connection tells the machine first (T58).
      assertionFailure("a connection is closed within an exchange")
      step { machine, output in machine.clientGone(output: &output) }
      guard !isClosed else { return }
    }
    state = .closed
    endDedicated()
    _ = attempt.end()
    worker.deadlines.cancel(self)
    endUpstream(reuse: false)
    if reset { stream.reset() } else { stream.close() }
    worker.ended(self)
  }
}
