internal import Configuration
internal import EventLoop
internal import Gateway
internal import Policy
internal import Setup
internal import Transport

/// Events in, actions out.
extension ClientSession {
  func step(_ event: (inout ClientConnection, inout Output) -> Void) {
    let nothing: [UInt8] = []
    let buffer = worker.borrowOutput()
    tell(&buffer.output, event)
    let opened = perform(nothing.span, &buffer.output)
    worker.giveBack(buffer)
    if let opened { resumeInput(with: opened) }
  }

  /// The one way to the machine.
  /// - Parameter output: gets what the machine wants done.
  func tell(_ output: inout Output, _ event: (inout ClientConnection, inout Output) -> Void) {
    output.reset()
    let slot = slot ?? acquireSlot()
    summary = ClientSession.tell(&slot.machine, event, &output)
    if summary.route == nil, routeContext != nil { routeContext = nil }
  }

  private static func tell(
    _ machine: inout ClientConnection, _ event: (inout ClientConnection, inout Output) -> Void, _ output: inout Output
  ) -> ClientConnection.Summary {
    event(&machine, &output)
    return machine.summary
  }

  /// Something happens after a rest.
  private func acquireSlot() -> ExchangeSlot {
    let taken = worker.acquireSlot()
    taken.machine.serve(
      listener: client.listener, caller: client.peer.caller, isLocalSocket: stream.isUnix,
      localEnd: client.peer.localEnd,
      isFresh: summary.isFresh)
    slot = taken
    return taken
  }

  /// Until this connection asks for something, others can use its slot.
  func rest() {
    guard summary.isResting, let slot = slot.take() else { return }
    worker.release(slot)
  }

  /// Decides the request under way again, because a newer configuration is in use. It has no session now; if it is retried, the
  /// upstream may have received it before.
  func decideAnew() {
    if state == .orphaned { return refuseForRemovedListener() }
    attempt.returnBreaker()
    generation = worker.generation
    let nothing: [UInt8] = []
    let buffer = worker.borrowOutput()
    tell(&buffer.output) { machine, output in machine.configurationChanged(generation.snapshot, output: &output) }
    selectRoute()
    let opened = perform(nothing.span, &buffer.output)
    worker.giveBack(buffer)
    if let opened { resumeInput(with: opened) }
  }

  /// The next request mostly goes where the last one went.
  private func selectRoute() {
    guard let route = summary.route?.value(inGeneration: generation.snapshot.generation) else {
      routeContext = nil
      return
    }
    if let routeContext, routeContext.generation == summary.generation, routeContext.route == route { return }
    routeContext = generation.routeContext(of: route)
  }

  func feedPending() {
    guard let held = flow.pending, !isClosed, !flow.turnShare.isUsedUp else { return }
    flow.pending = nil
    let bytes = held.bytes
    keep(held, from: feed(bytes.span))
  }

  /// Keeps what is left of bytes that waited.
  func keep(_ held: PendingBytes, from position: Int) {
    guard position < held.bytes.count, !isClosed else { return }
    if position == 0, flow.pending == nil { return flow.pending = held }
    let bytes = held.bytes
    flow.pending = PendingBytes.adding(bytes.span.extracting(position...), to: flow.pending)
  }

  /// Gives the machine bytes of the client for as long as it takes some. Returns how many it took.
  func feed(_ input: Span<UInt8>) -> Int {
    let buffer = worker.borrowOutput()
    let taken = feed(input, &buffer.output)
    worker.giveBack(buffer)
    return taken
  }

  private func feed(_ input: Span<UInt8>, _ output: inout Output) -> Int {
    var position = 0
    while position < input.count, !isClosed,
      !summary.isAwaitingHead || stream.queuedBytes == 0 && !flow.turnShare.isUsedUp
    {
      if state == .orphaned, summary.isAwaitingHead {
        close()
        return position
      }
      let (start, phase) = (position, summary.phase)
      let wasAwaitingHead = summary.isAwaitingHead
      tell(&output) { machine, output in
        machine.receivedFromClient(
          input, position: &position, snapshot: worker.generation.snapshot, output: &output)
      }
      if wasAwaitingHead, position > start { begin() }
      var opened = perform(input, &output)
      while let next = opened.take() { opened = take(next, input, position: &position, &output) }
      if position == start, summary.phase == phase { break }
    }
    return position
  }

  /// A head was read: a new exchange.
  func begin() {
    beginShare()
    generation = worker.generation
    attempt.reset()
    flow.lastDeadline = nil
    selectRoute()
    if client.unprovenNumber != nil, slot?.machine.exchange.caller?.client != nil { worker.prove(self) }
    timing = ExchangeTiming(startedAt: worker.loop.now)
    if let total = routeContext?.timeouts.total { timing.totalBy = timing.startedAt + total }
  }
}
