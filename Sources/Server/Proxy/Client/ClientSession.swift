internal import Configuration
internal import EventLoop
internal import Gateway
internal import Policy
internal import Providers
internal import Setup
internal import Transport

/// One client connection: a stream below, the state machine above, and at most one upstream session at its side.
/// Does what `ClientConnection` says; has no rules of its own.
final class ClientSession: Timed, StreamDelegate {
  let stream: EventLoop.Stream
  /// The worker lets go of its sessions when they end, so this is no cycle that stays.
  let worker: Worker
  var client: SessionClient
  /// The slot in which the client's request is worked on; nil: there is none, nor the beginning of one.
  var slot: ExchangeSlot?
  /// The state of the machine after its last event.
  var summary = ClientConnection.Summary.atFirst
  /// The configuration by which the request under way was decided, or by which the next one will be.
  var generation: Generation
  /// The route's context of the request under way, or of the last one; nil: it had no route.
  var routeContext: RouteContext?
  /// The permits and values that the request under way has been given.
  let attempt = Attempt()
  var timing = ExchangeTiming()
  var upstream = UpstreamSide()
  var flow = ClientFlow()
  var state = State.open

  /// How far the connection has come to its end.
  enum State {
    case open
    /// Its listener is no longer configured: it carries its exchange to the end and no other.
    case orphaned
    /// Nothing more is taken or asked; what is queued still goes out.
    case closing
    case closed
  }

  var isClosed: Bool { state == .closed }

  /// The grant of the request under way, as an index of `generation`. `nil` without a credential.
  var grant: Int? { summary.grant?.value(inGeneration: generation.snapshot.generation) }

  /// The grant of the request under way, as an index of the configuration in use. `nil` without a credential, and if another
  /// configuration decided the request.
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

  // MARK: what the client's stream says

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

  /// Between requests it is all the same whether it closed or only said that it will send nothing more: the kernel need not
  /// be asked, as it would be once per connection.
  private var isWithinExchange: Bool {
    switch summary.phase {
    case .awaitingUpstream, .exchanging, .upgraded: true
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

  // MARK: what the clock and the configuration say

  override func deadlinePassed() {
    if state == .closing { return finishClosing(reset: true) }
    flow.lastDeadline = nil
    let isTotal = summary.isRunning && worker.loop.now >= timing.totalBy
    step { machine, output in
      if isTotal { machine.totalDeadlinePassed(output: &output) } else { machine.deadlinePassed(output: &output) }
    }
    settle()
  }

  /// A new configuration is in use. Returns `false` if a running exchange would no longer be allowed.
  func configurationChanged() -> Bool {
    guard worker.generation.snapshot.index(of: client.listener) != nil else { return listenerRemoved() }
    guard slot != nil else {
      // The last request's secrets are not kept for a connection that rests, nor is anything that the old configuration numbered.
      (generation, routeContext) = (worker.generation, nil)
      summary = .resting(isFresh: summary.isFresh)
      endDedicated()
      return true
    }
    if summary.phase == .awaitingUpstream {
      cancelOpening()
      decideAnew()
      resumeInput()
    }
    return isStillAllowed
  }

  /// - Returns: `false` if an exchange goes on, and only for its time of grace.
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

  /// The time of grace of a revoked exchange is over. It may have ended by itself, or be allowed again.
  func cut(ifStillIn old: Generation) {
    guard summary.hasSession, generation === old, !isClosed else { return }
    if state != .orphaned, isStillAllowed { return }
    step { machine, output in machine.revoked(output: &output) }
    settle()
  }

  /// The daemon ends.
  func cut() {
    step { machine, output in machine.stopped(output: &output) }
    close(reset: summary.phase == .closed)
  }

  func drain() {
    step { machine, output in machine.drain(output: &output) }
    settle()
  }
}
