internal import Configuration
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy

/// Events in, actions out.
extension ClientSession {
  func step(_ event: (inout ClientConnection, inout Output) -> Void) {
    let nothing: [UInt8] = []
    var output = worker.takeOutput()
    tell(&output, event)
    perform(nothing.span, output)
    worker.giveBack(consume output)
    if openResult != nil { takeOpened() }
  }

  /// The one way to the machine.
  /// - Parameter output: gets what the machine wants done.
  func tell(_ output: inout Output, _ event: (inout ClientConnection, inout Output) -> Void) {
    output.reset()
    let desk = desk ?? sitDown()
    standing = ClientSession.tell(&desk.machine, event, &output)
    if standing.route == nil, way != nil { way = nil }
  }

  private static func tell(
    _ machine: inout ClientConnection, _ event: (inout ClientConnection, inout Output) -> Void, _ output: inout Output
  ) -> ClientConnection.Standing {
    event(&machine, &output)
    return machine.standing
  }

  /// Something happens after a rest.
  private func sitDown() -> Desk {
    let taken = worker.takeDesk()
    taken.machine.serve(
      listener: entrance.index, caller: caller, isLocalSocket: stream.isUnix, localEnd: localEnd,
      isFresh: standing.isFresh)
    desk = taken
    return taken
  }

  /// Until it asks for something, others can use the desk.
  func rest() {
    guard standing.isResting, let desk = desk.take() else { return }
    worker.leave(desk)
  }

  /// Nothing has gone out of the request under way, and there is a newer configuration.
  func decideAnew() {
    returnPass()
    generation = worker.generation
    let nothing: [UInt8] = []
    var output = worker.takeOutput()
    tell(&output) { machine, output in machine.configurationChanged(generation.snapshot, output: &output) }
    findWay()
    perform(nothing.span, output)
    worker.giveBack(consume output)
    if openResult != nil { takeOpened() }
  }

  /// The next request mostly goes where the last one went.
  private func findWay() {
    guard let route = standing.route else {
      way = nil
      return
    }
    if let way, way.generation == standing.generation, way.route == route { return }
    way = generation.way(of: route)
  }

  func feedPending() {
    guard let held = pending, !isClosed, !isResting else { return }
    pending = nil
    let bytes = held.bytes
    keep(held, from: feed(bytes.span))
  }

  /// What is left of bytes that waited goes on waiting.
  func keep(_ held: HeldBytes, from position: Int) {
    guard position < held.bytes.count, !isClosed else { return }
    if position == 0, pending == nil { return pending = held }
    let bytes = held.bytes
    pending = HeldBytes.adding(bytes.span.extracting(position...), to: pending)
  }

  /// Gives the machine bytes of the client for as long as it takes some. Returns how many it took.
  func feed(_ input: Span<UInt8>) -> Int {
    var output = worker.takeOutput()
    let taken = feed(input, &output)
    worker.giveBack(consume output)
    return taken
  }

  private func feed(_ input: Span<UInt8>, _ output: inout Output) -> Int {
    var position = 0
    while position < input.count, !isClosed,
      !standing.isAwaitingHead || stream.queuedBytes == 0 && !isResting
    {
      if isOrphan, standing.isAwaitingHead || standing.phase == .awaitingUpstream {
        close()
        return position
      }
      let (start, phase) = (position, standing.phase)
      let wasAwaitingHead = standing.isAwaitingHead
      tell(&output) { machine, output in
        machine.receivedFromClient(
          input, position: &position, snapshot: worker.generation.snapshot, output: &output)
      }
      if wasAwaitingHead, position > start { begin() }
      perform(input, output)
      while let opened = openResult.take() {
        take(opened, input, position: &position, &output)
      }
      if position == start, standing.phase == phase { break }
    }
    return position
  }

  /// A head was read: a new exchange.
  func begin() {
    takeTurn()
    generation = worker.generation
    hasSpentRate = false
    startedAt = worker.loop.now
    lastDeadline = nil
    failureDetail = nil
    responseHeadTook = nil
    if !heardValues.isEmpty { heardValues = [] }
    if attempt != nil { attempt = nil }
    findWay()
    if unprovenNumber != nil, desk?.machine.exchange.caller?.client != nil { worker.prove(self) }
    totalBy = if let total = way?.timeouts.total { startedAt + total } else { .max }
  }
}
