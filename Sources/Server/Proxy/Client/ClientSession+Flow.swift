internal import Configuration
internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Settings
internal import Generations
internal import StatusModel
internal import Transport

extension ClientSession {
  /// Called after every event. Processes pending bytes, starts or stops reading on both sides, and updates the
  /// deadline.
  func settle() {
    // The connection is opened at the end of this turn. Until then, limit the bytes that this turn reads (T54).
    if case .endOfTurn = upstream.opening {
      if flow.isReading, let pending = flow.pending, pending.bytes.count >= ClientSession.pendingLimit {
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
    upstream.connection?.setReading(stream.queuedBytes == 0 && !isResponseBuffered)
    if bodyIsTooSlow {
      step { machine, output in machine.requestBodyTooSlow(output: &output) }
      return settle()
    }
    updateDeadline()
    releaseIdleSlot()
  }

  /// Maximum number of client bytes to read before the upstream connection is opened.
  private static let pendingLimit = 65_536

  private var wantsClientBytes: Bool {
    guard summary.wantsClientBytes else { return false }
    switch summary.phase {
    // A client that does not read its responses cannot send more requests.
    case .awaitingHead: return stream.queuedBytes == 0 && !flow.turnShare.isUsedUp
    // Bytes that the state machine cannot process yet stay in `pending`, and later bytes stay in the socket.
    case .awaitingUpstream, .awaitingRetry, .exchanging, .upgraded:
      return (flow.pending == nil || !summary.pausesReadingWhenBuffered) && (upstream.connection?.queuedBytes ?? 0) == 0
    case .lingering: return true
    case .closed: return false
    }
  }

  /// Whether the client sends its request body too slowly.
  private var bodyIsTooSlow: Bool {
    guard summary.awaitsRequestBody, (upstream.connection?.queuedBytes ?? 0) == 0, let window = time(of: .silence)
    else {
      flow.bodyPace.pause()
      return false
    }
    let rate = worker.limits.clientBodyRate
    return flow.bodyPace.isTooSlow(
      total: summary.bytesUp, now: worker.loop.now, window: window, rate: rate)
  }

  private func updateDeadline() {
    var deadline = summary.deadline
    // The linger and idle timeouts begin when the response was sent.
    if stream.queuedBytes > 0, deadline == .linger || deadline == .idle { deadline = .silence }
    guard deadline != flow.lastDeadline || deadline == .silence || deadline == .upgraded else { return }
    flow.lastDeadline = deadline
    let now = worker.loop.now
    if deadline == .head { timing.startedAt = now }
    let due = if let time = time(of: deadline) { now + time } else { UInt64.max }
    worker.deadlines.schedule(self, at: summary.isRunning ? min(due, timing.totalBy) : due)
  }

  /// Returns the timeout in milliseconds, or `nil` if there is none.
  func time(of deadline: Deadline) -> UInt64? {
    switch deadline {
    case .idle: worker.limits.clientIdle
    case .head: worker.limits.clientHead
    case .none: nil
    case .linger: 2_000
    case .retry: retryWait
    case .responseHead: if let routeContext { routeContext.timeouts.responseHead } else { worker.limits.clientIdle }
    case .silence:
      if let routeContext { routeContext.timeouts.bodySilence ?? defaultSilence } else { worker.limits.clientIdle }
    case .upgraded: if let routeContext { routeContext.timeouts.upgraded } else { worker.limits.clientIdle }
    }
  }

  /// The timeout in milliseconds for a silent client (T54), for services that set none. `nil` while the client need not
  /// act.
  private var defaultSilence: UInt64? {
    if summary.awaitsRequestBody { return worker.limits.clientBodyRate > 0 ? ClientSession.requestSilence : nil }
    return summary.deadline == .linger || summary.deadline == .idle ? worker.limits.clientIdle : nil
  }

  /// Default timeout in milliseconds for a client that pauses within its request body.
  private static let requestSilence: UInt64 = 600_000

  func record() {
    slot?.machine.withExchange { exchange in record(&exchange) }
    // The next request can be refused before its head is complete, and must not get these values.
    attempt.failureDetail = nil
    timing.responseHeadTook = nil
  }

  private func record(_ exchange: inout Exchange) {
    let isPromised = attempt.end()
    flow.bodyPace.pause()
    generation.tally.count(&exchange, responseHead: timing.responseHeadTook, at: worker.loop.now)
    // These requests were not sent. One line stands for many, or a client that sends too much would fill the log.
    if let refusal = exchange.record.refusal {
      if refusal == .plain(.tooManyRequests) { return recordExcess() }
      if case .rateLimited(let excess) = refusal { return record(excess, of: exchange.caller) }
      // Limits all log lines for callers that are not admitted, also for malformed requests.
      if client.quota.holder == .notAdmitted || refusal.isOfUnadmittedCaller, !worker.acquireUnadmittedLogLine() {
        return
      }
    }
    worker.log.exchange(&exchange, of: self, isPromised: isPromised)
  }

  private func recordExcess() {
    guard let refused = client.quota.countRefusal(at: worker.loop.now) else { return }
    worker.log.event(
      .callerLimit, ("uid", client.quota.holder.name), ("requests", String(client.quota.requestsInProgress)),
      ("refused", String(refused)),
      ("help", "limits: { requests_per_user: N } sets how many requests one user may have in progress"))
  }

  /// Closes the connection after sending the queued bytes, or after a timeout.
  /// - Parameter reset: whether to drop the queued bytes and close at once.
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
      // Every exchange needs exactly one record (T58): notify the state machine before closing a connection.
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
