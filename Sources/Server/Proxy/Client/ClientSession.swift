internal import Configuration
internal import EventLoop
internal import Gateway
internal import Policy
internal import Providers
internal import Generations
internal import Transport

/// A client connection: its stream, its state machine `ClientConnection`, and at most one upstream connection.
final class ClientSession: DeadlineOwner, StreamDelegate {
  let stream: EventLoop.Stream
  let worker: Worker
  var client: SessionClient
  /// The slot that processes the client's request. `nil` if no byte of a request has arrived.
  var slot: ExchangeSlot?
  var summary = ClientConnection.Summary.initial
  /// The configuration that decides the current request, or the next one.
  var generation: Generation
  /// What the current request shares with other requests of its route. `nil` if the request has no route.
  var routeContext: RouteContext?
  let attempt = Attempt()
  var timing = ExchangeTiming()
  var upstream = UpstreamSide()
  var flow = ClientFlow()
  var state = State.open

  enum State {
    case open
    /// The listener was removed. The session ends after its exchange.
    case orphaned
    /// The connection closes after its queued bytes are sent.
    case closing
    case closed
  }

  var isClosed: Bool { state == .closed }

  /// The grant of the current request, as an index in `generation`. `nil` without a credential.
  var grant: Int? { summary.grant?.value(inGeneration: generation.snapshot.generation) }

  /// The grant of the current request, as an index in the worker's configuration. `nil` if there is none.
  var currentGrant: Int? { summary.grant?.value(inGeneration: worker.generation.snapshot.generation) }

  init(stream: EventLoop.Stream, listener: ListenerID, peer: Peer, quota: CallerQuota, worker: Worker) {
    self.stream = stream
    let unit = worker.callerUnits.unit(of: peer.controlGroup)
    client = SessionClient(listener: listener, peer: peer, unit: unit, quota: quota)
    self.worker = worker
    generation = worker.generation
    super.init()
    stream.delegate = self
    stream.step = .client
    settle()
  }

  deinit {
    if let slot { worker.release(slot) }
  }

  // MARK: events of the client's stream

  func streamDidConnect(_ stream: EventLoop.Stream) {}

  func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    if flow.pending == nil {
      let used = feed(bytes)
      if used < bytes.count, !isClosed {
        flow.pending = PendingBytes.adding(bytes.extracting(used...), to: flow.pending)
      }
    } else {
      flow.pending = PendingBytes.adding(bytes, to: flow.pending)
    }
    settle()
  }

  func streamDidEnd(_ stream: EventLoop.Stream) {
    flow.isReading = false
    let isGone = isWithinExchange && Peer.isGone(stream, diagnostics: worker.context.diagnostics)
    step { machine, output in
      if isGone { machine.clientClosed(output: &output) } else { machine.clientEnded(output: &output) }
    }
    settle()
  }

  /// Whether a request is in progress, or an upgraded connection is open.
  private var isWithinExchange: Bool {
    switch summary.phase {
    case .awaitingUpstream, .awaitingRetry, .exchanging, .upgraded: true
    case .awaitingHead, .lingering, .closed: false
    }
  }

  func streamDidDrain(_ stream: EventLoop.Stream) {
    if state == .closing { finishClosing() } else { settle() }
  }

  func stream(_ stream: EventLoop.Stream, didFail error: UVError) {
    step { machine, output in machine.clientGone(output: &output) }
    finishClosing()
  }

  // MARK: events of the clock and the configuration

  override func deadlinePassed() {
    if state == .closing { return finishClosing(reset: true) }
    flow.lastDeadline = nil
    let isTotal = summary.isRunning && worker.loop.now >= timing.totalBy
    if summary.phase == .awaitingRetry, !isTotal, endsBeforeRetry() { return settle() }
    step { machine, output in
      if isTotal { machine.totalDeadlinePassed(output: &output) } else { machine.deadlinePassed(output: &output) }
    }
    settle()
  }

  /// Applies a new configuration. Returns `false` if it does not allow the exchange in progress.
  func configurationChanged() -> Bool {
    guard worker.generation.snapshot.index(of: client.listener) != nil else { return listenerRemoved() }
    guard slot != nil else {
      // An idle connection must not keep the old generation, with its secrets and indices.
      (generation, routeContext) = (worker.generation, nil)
      summary = .idle(isFresh: summary.isFresh)
      endDedicated()
      return true
    }
    if summary.phase == .awaitingUpstream || summary.phase == .awaitingRetry {
      cancelOpening()
      decideAgain()
      settle()
    }
    return isStillAllowed
  }

  /// Ends an idle session now, and other sessions after their exchange. Returns `false` if the exchange has an
  /// upstream connection.
  private func listenerRemoved() -> Bool {
    if state == .open { state = .orphaned }
    guard slot != nil else {
      close()
      return true
    }
    refuseForRemovedListener()
    return !summary.hasSession
  }

  func refuseForRemovedListener() {
    step { machine, output in machine.listenerRemoved(output: &output) }
    settle()
  }

  private var isStillAllowed: Bool { slot?.machine.isStillAllowed(by: worker.generation.snapshot) ?? true }

  /// Ends an exchange that `old` authorized and the new configuration does not allow.
  func cut(ifStillIn old: Generation) {
    guard summary.hasSession, generation === old, !isClosed else { return }
    if state != .orphaned, isStillAllowed { return }
    step { machine, output in machine.revoked(output: &output) }
    settle()
  }

  /// Ends the session, because the daemon stops.
  func cut() {
    step { machine, output in machine.stopped(output: &output) }
    close(reset: summary.phase == .closed)
  }

  func drain() {
    step { machine, output in machine.drain(output: &output) }
    settle()
  }
}
