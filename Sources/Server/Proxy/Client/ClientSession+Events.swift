internal import Configuration
internal import EventLoop
internal import Gateway
internal import Policy
internal import Generations
internal import Transport

/// Passes events to the state machine, and carries out the resulting actions.
extension ClientSession {
  /// Passes an event without bytes to the state machine. Afterwards, call `settle`.
  func step(_ event: (inout ClientConnection, inout Output) -> Void) {
    let nothing: [UInt8] = []
    let buffer = worker.borrowOutput()
    dispatch(&buffer.output, event)
    perform(nothing.span, &buffer.output)
    worker.returnOutput(buffer)
  }

  /// Passes an event to the state machine, and carries out the resulting actions.
  func dispatch(_ output: inout Output, _ event: (inout ClientConnection, inout Output) -> Void) {
    output.reset()
    let slot = slot ?? acquireSlot()
    summary = ClientSession.dispatch(&slot.machine, event, &output)
    if summary.route == nil, routeContext != nil { routeContext = nil }
  }

  private static func dispatch(
    _ machine: inout ClientConnection, _ event: (inout ClientConnection, inout Output) -> Void, _ output: inout Output
  ) -> ClientConnection.Summary {
    event(&machine, &output)
    return machine.summary
  }

  private func acquireSlot() -> ExchangeSlot {
    let acquired = worker.acquireSlot()
    acquired.machine.serve(
      listener: client.listener, caller: client.peer.caller, isLocalSocket: stream.isUnix,
      localEnd: client.peer.localEnd,
      isFresh: summary.isFresh)
    slot = acquired
    return acquired
  }

  func releaseIdleSlot() {
    guard summary.isIdle, let slot = slot.take() else { return }
    worker.release(slot)
  }

  /// Decides the current request again, with the current configuration. The request must not have an upstream connection.
  /// Afterwards, call `settle`.
  func decideAgain() {
    if state == .orphaned { return refuseForRemovedListener() }
    attempt.returnBreaker()
    generation = worker.generation
    let nothing: [UInt8] = []
    let buffer = worker.borrowOutput()
    dispatch(&buffer.output) { machine, output in machine.configurationChanged(generation.snapshot, output: &output) }
    selectRoute()
    perform(nothing.span, &buffer.output)
    worker.returnOutput(buffer)
  }

  /// Sets `routeContext` for the current request.
  private func selectRoute() {
    guard let route = summary.route?.value(inGeneration: generation.snapshot.generation) else {
      routeContext = nil
      return
    }
    if let routeContext, routeContext.generation == summary.generation, routeContext.route == route { return }
    routeContext = generation.routeContext(of: route)
  }

  func feedPending() {
    guard !isClosed, upstream.opening.isOver || flow.pending != nil && !flow.turnShare.isUsedUp else { return }
    let pending = flow.pending
    flow.pending = nil
    let bytes = pending?.bytes ?? []
    let position = feed(bytes.span)
    if let pending { keep(pending, from: position) }
  }

  func keep(_ pending: PendingBytes, from position: Int) {
    guard position < pending.bytes.count, !isClosed else { return }
    if position == 0, flow.pending == nil { return flow.pending = pending }
    let bytes = pending.bytes
    flow.pending = PendingBytes.adding(bytes.span.extracting(position...), to: flow.pending)
  }

  /// Passes client bytes and the outcome of `SendSteps` to the state machine. Returns the number of consumed bytes.
  func feed(_ input: Span<UInt8>) -> Int {
    let buffer = worker.borrowOutput()
    let consumed = feed(input, &buffer.output)
    worker.returnOutput(buffer)
    return consumed
  }

  private func feed(_ input: Span<UInt8>, _ output: inout Output) -> Int {
    var position = 0
    while !isClosed {
      // An outcome is passed on here only, so that refused requests cannot lead to deep recursion, and so that the first
      // bytes of a body can be sent together with the head.
      if upstream.opening.isOver {
        receive(takeOutcome(), input, position: &position, &output)
        perform(input, &output)
        continue
      }
      guard position < input.count,
        !summary.isAwaitingHead || stream.queuedBytes == 0 && !flow.turnShare.isUsedUp
      else { break }
      if state == .orphaned, summary.isAwaitingHead {
        close()
        return position
      }
      let (start, phase) = (position, summary.phase)
      let wasAwaitingHead = summary.isAwaitingHead
      dispatch(&output) { machine, output in
        machine.receivedFromClient(
          input, position: &position, snapshot: worker.generation.snapshot, output: &output)
      }
      if wasAwaitingHead, position > start { begin() }
      perform(input, &output)
      if position == start, summary.phase == phase, !upstream.opening.isOver { break }
    }
    return position
  }

  private func takeOutcome() -> UpstreamOutcome {
    guard case .over(let outcome) = upstream.opening else {
      return .failed(ConnectFailure(.internalError, "there is no outcome"))
    }
    upstream.opening = .nothing
    return outcome
  }

  /// Passes the outcome of `SendSteps` to the state machine.
  private func receive(
    _ outcome: UpstreamOutcome, _ input: Span<UInt8>, position: inout Int, _ output: inout Output
  ) {
    switch outcome {
    case .connection(let connection, let isReused):
      upstream.connection = connection
      upstream.response.bytes = nil
      dispatch(&output) { machine, output in
        machine.upstreamReady(isReused: isReused, input, position: &position, output: &output)
      }
    case .failed(let failure):
      attempt.failureDetail = failure.detail
      let now = worker.loop.now
      dispatch(&output) { machine, output in machine.upstreamRefused(failure.refusal, now: now, output: &output) }
    }
  }

  /// Begins a new exchange, after a head was read or refused.
  func begin() {
    beginShare()
    generation = worker.generation
    attempt.reset()
    flow.lastDeadline = nil
    selectRoute()
    if client.unprovenNumber != nil, slot?.machine.exchange.caller?.client != nil { worker.markProven(self) }
    timing = ExchangeTiming(startedAt: worker.loop.now)
    if let total = routeContext?.timeouts.total { timing.totalBy = timing.startedAt + total }
  }
}
