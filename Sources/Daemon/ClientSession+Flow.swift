internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import TLS

extension ClientSession {
  /// Back-pressure: neither side is read while the other cannot take more. And the deadline that now runs.
  func settle() {
    guard !isClosed, !isClosing else { return }
    // Bytes that the machine holds back (a body for a session that is not there yet) wait in `pending`, and what comes
    // after them in the socket; half a head wants the other half.
    let hasRoom = pending.isEmpty || !machine.holdsClientBytes
    let wantsClient = machine.wantsClientBytes && hasRoom && (upstream?.queuedBytes ?? 0) == 0
    if wantsClient != isReading {
      isReading = wantsClient
      if wantsClient { stream.startReading() } else { stream.stopReading() }
    }
    upstream?.setReading(stream.queuedBytes == 0)

    // The time to linger begins when the answer is out.
    let deadline = machine.deadline == .linger && stream.queuedBytes > 0 ? Deadline.silence : machine.deadline
    if deadline != lastDeadline || deadline == .silence {
      lastDeadline = deadline
      let due = time(of: deadline).map { worker.loop.now + $0 } ?? .max
      let isRunning = machine.phase == .awaitingUpstream || machine.phase == .exchanging
      worker.deadlines.schedule(self, at: isRunning ? min(due, totalBy) : due)
    }
  }

  func time(of deadline: Deadline) -> UInt64? {
    let limits = worker.generation.settings.limits
    switch deadline {
    case .idle: return limits.clientIdle
    case .head: return limits.clientHead
    case .none: return nil
    case .linger: return 2_000
    case .responseHead, .silence:
      guard let route = machine.exchange.route else { return limits.clientIdle }
      let timeouts = generation.snapshot.rules.services[route.service].timeouts
      return deadline == .responseHead ? timeouts.responseHead : timeouts.bodySilence
    }
  }

  func record() {
    worker.journal.exchange(
      machine.exchange, peer: peer, generation: generation, milliseconds: worker.loop.now - startedAt,
      detail: failureDetail)
  }

  /// What is queued goes out first, for as long as the client takes some of it.
  func close(reset: Bool = false) {
    guard !isClosed else { return }
    endUpstream(reuse: false)
    if reset || stream.queuedBytes == 0 { return finishClosing(reset: reset) }
    isClosing = true
    isReading = false
    stream.stopReading()
    worker.deadlines.schedule(self, at: worker.loop.now + worker.generation.settings.limits.clientHead)
  }

  func finishClosing(reset: Bool = false) {
    guard !isClosed else { return }
    isClosed = true
    worker.deadlines.cancel(self)
    endUpstream(reuse: false)
    if reset { stream.reset() } else { stream.close() }
    worker.ended(self)
  }
}
