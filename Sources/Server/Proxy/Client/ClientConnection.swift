// Called by `Worker.accept`, then by `Stream` with the client's bytes.
// Calls `RequestRun`, one for each request, or `ClientStreams`, if the client speaks HTTP/2.

internal import Configuration
internal import EventLoop
internal import Gateway
internal import HTTP2
internal import Policy
internal import Primitives
internal import Providers
internal import Generations
internal import Settings
internal import Transport

/// A client's connection: its stream, and the request in progress.
///
/// `Worker.accept` creates it. It creates a `RequestRun` for each request, passes the client's bytes to it, and decides when
/// to read, how long to wait, and when to close. If the client begins with the preface of HTTP/2, `ClientStreams` does this.
final class ClientConnection: DeadlineOwner, StreamDelegate, RequestClient {
  let stream: EventLoop.Stream
  let worker: Worker
  /// Where the requests of the connection come from.
  let arrival: Arrival
  let unit: String?
  var quota: CallerQuota
  /// The number of the connection in `UnprovenConnections`. `nil` if it has none.
  var unprovenNumber: UInt64?
  /// The request in progress. `nil` if no byte of a request has arrived.
  private(set) var run: RequestRun?
  /// The streams of an HTTP/2 connection. `nil` if the client speaks HTTP/1, and after the end of the last stream.
  private(set) var streams: ClientStreams?
  private(set) var state = State.open
  var isOrphaned: Bool { state == .orphaned }
  private var flow = ClientFlow()
  /// The upstream connection on which this client has logged in. `nil` if there is none.
  var dedicated: DedicatedUpstream?

  enum State {
    case open
    /// The listener was removed. The connection ends after its request.
    case orphaned
    /// The last response was sent. Further bytes of the client are discarded.
    case lingering
    /// The connection closes after its queued bytes are sent.
    case closing
    case closed
  }

  var isClosed: Bool { state == .closed }
  var isReading: Bool { flow.isReading }

  init(stream: EventLoop.Stream, listener: ListenerID, peer: Peer, quota: CallerQuota, worker: Worker) {
    self.stream = stream
    self.quota = quota
    unit = worker.callerUnits.unit(of: peer.controlGroup)
    arrival = Arrival(
      listener: listener, caller: peer.caller, isLocalSocket: stream.isUnix, localEnd: peer.localEnd)
    self.worker = worker
    super.init()
    stream.delegate = self
    stream.step = .client
    settle()
  }

  // MARK: events of the stream

  func streamDidConnect(_ stream: EventLoop.Stream) {}

  func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    if let streams { return streams.receive(bytes) }
    if flow.pending.isEmpty {
      let used = feed(bytes)
      if used < bytes.count, !isClosed { flow.pending.append(bytes.extracting(used...)) }
    } else {
      flow.pending.append(bytes)
    }
    settle()
  }

  func streamDidEnd(_ stream: EventLoop.Stream) {
    flow.isReading = false
    flow.hasEnded = true
    if let streams { return streams.clientEnded() }
    guard let run else { return state == .closing ? () : close() }
    let isGone = !run.isAwaitingHead && Peer.isGone(stream, diagnostics: worker.context.diagnostics)
    run.step { machine, output in
      if isGone { machine.clientClosed(output: &output) } else { machine.clientEnded(output: &output) }
    }
    settle()
  }

  func streamDidDrain(_ stream: EventLoop.Stream) {
    if state == .closing { finishClosing() } else if let streams { streams.socketDrained() } else { settle() }
  }

  func stream(_ stream: EventLoop.Stream, didFail error: UVError) {
    run?.step { machine, output in machine.clientGone(output: &output) }
    finishClosing()
  }

  // MARK: bytes

  /// Passes client bytes to one request after the other. Returns the number of consumed bytes.
  private func feed(_ input: Span<UInt8>) -> Int {
    var position = 0
    while !isClosed {
      if let run {
        run.receive(input, position: &position)
        if self.run === run { break }
      } else if position == input.count {
        break
      } else if state == .lingering || state == .closing {
        return input.count
      } else if state == .orphaned {
        close()
      } else if stream.queuedBytes > 0 || flow.turnShare.isUsedUp {
        // A client that does not read its responses cannot send more requests.
        break
      } else if !flow.hasReceivedRequest, let isWhole = HTTP2Preface.isWhole(in: input) {
        return isWhole ? beginStreams(input) : 0
      } else {
        run = RequestRun(of: self, worker: worker, isFirst: !flow.hasReceivedRequest)
        flow.hasReceivedRequest = true
      }
    }
    return position
  }

  private func feedPending() {
    guard !isClosed, run?.hasOutcome == true || !flow.pending.isEmpty && !flow.turnShare.isUsedUp else { return }
    var bytes: [UInt8] = []
    swap(&bytes, &flow.pending)
    let position = feed(bytes.span)
    guard position < bytes.count, !isClosed else { return }
    if position == 0, flow.pending.isEmpty { return flow.pending = bytes }
    flow.pending.append(bytes.span.extracting(position...))
  }

  /// Passes the connection to HTTP/2, with all bytes that have arrived. Returns their number.
  private func beginStreams(_ input: Span<UInt8>) -> Int {
    flow.hasReceivedRequest = true
    do throws(HTTP2Error) {
      let streams = try ClientStreams(of: self)
      self.streams = streams
      streams.receive(input)
    } catch {
      close()
    }
    return input.count
  }

  // MARK: events of the request

  func requestBegan() {
    flow.lastDeadline = nil
    let begun = flow.turnShare.begin(in: worker.turn)
    guard begun >= TurnShare.maximum || begun > 1 && worker.loop.isOutOfTime, !flow.turnShare.isUsedUp else { return }
    flow.turnShare.isUsedUp = true
    worker.loop.onNextTurn { [weak self] in self?.turnShareRenewed() }
  }

  private func turnShareRenewed() {
    flow.turnShare.isUsedUp = false
    if !isClosed { settle() }
  }

  func ended(_ run: RequestRun) {
    guard self.run === run else { return }
    flow.silence = run.routeContext?.timeouts.bodySilence
    self.run = nil
  }

  func callerIsProven() {
    if unprovenNumber != nil { worker.markProven(self) }
  }

  func send(_ first: Span<UInt8>, _ second: Span<UInt8>) { stream.write(first, second) }
  // Only for HTTP/2.
  func sendHeads(_ text: Span<UInt8>) {}
  func endResponse(trailers: borrowing ByteBuffer) {}

  func linger() {
    state = .lingering
    stream.shutdown()
  }

  func shutdown() { stream.shutdown() }
  func restartDeadline() { flow.lastDeadline = nil }
  func pauseBodyPace() { flow.bodyPace.pause() }

  var isGone: Bool {
    guard !flow.pending.isEmpty, stream.isUnix || worker.context.diagnostics != nil else { return false }
    return Peer.isGone(stream, diagnostics: worker.context.diagnostics)
  }

  // MARK: reading and waiting

  /// Called after every event. Processes pending bytes, starts or stops reading on both sides, and updates the
  /// deadline.
  func settle() {
    // The request gets its upstream connection at the end of this turn. Until then, limit the bytes that this turn reads
    // (T54).
    if let run, run.opensAtTurnEnd {
      if flow.isReading, flow.pending.count >= ClientConnection.pendingLimit {
        flow.isReading = false
        stream.stopReading()
      }
      return
    }
    feedPending()
    guard state != .closing, state != .closed, streams == nil else { return }
    let run = run
    setReading(wantsClientBytes(of: run))
    if let run {
      run.upstream?.setReading(stream.queuedBytes == 0 && !run.isResponseBuffered, of: run)
      if bodyIsTooSlow(run) {
        run.step { machine, output in machine.requestBodyTooSlow(output: &output) }
        return settle()
      }
    }
    updateDeadline(run)
  }

  @inline(__always)
  func setReading(_ wanted: Bool) {
    guard wanted != flow.isReading else { return }
    flow.isReading = wanted
    if wanted { stream.startReading() } else { stream.stopReading() }
  }

  /// Maximum number of client bytes to read before the upstream connection is opened.
  private static let pendingLimit = 65_536

  @inline(__always)
  private func wantsClientBytes(of run: RequestRun?) -> Bool {
    if flow.hasEnded { return false }
    guard let run, !run.isAwaitingHead else {
      // A client that does not read its responses cannot send more requests.
      return state == .lingering || stream.queuedBytes == 0 && !flow.turnShare.isUsedUp
    }
    // Bytes that the request cannot use yet stay in `pending`, and later bytes stay in the socket.
    return (flow.pending.isEmpty || !run.pausesReadingWhenBuffered) && (run.upstream?.queuedBytes(of: run) ?? 0) == 0
  }

  /// Whether the client sends its request body too slowly.
  private func bodyIsTooSlow(_ run: RequestRun) -> Bool {
    guard run.awaitsRequestBody, (run.upstream?.queuedBytes(of: run) ?? 0) == 0, let window = run.time(of: .silence)
    else {
      flow.bodyPace.pause()
      return false
    }
    return flow.bodyPace.isTooSlow(
      total: run.bytesUp, now: worker.loop.now, window: window, rate: worker.limits.clientBodyRate)
  }

  private func updateDeadline(_ run: RequestRun?) {
    var deadline = run?.deadline ?? (state == .lingering ? .linger : flow.hasReceivedRequest ? .idle : .head)
    // The linger and idle timeouts begin when the response was sent.
    if stream.queuedBytes > 0, deadline == .linger || deadline == .idle { deadline = .silence }
    guard deadline != flow.lastDeadline || deadline == .silence || deadline == .upgraded else { return }
    flow.lastDeadline = deadline
    let time = if let run { run.time(of: deadline) } else { timeWithoutRequest(deadline) }
    let due = if let time { worker.loop.now + time } else { UInt64.max }
    worker.deadlines.schedule(self, at: run?.phase.isRunning == true ? min(due, run?.timing.totalBy ?? .max) : due)
  }

  /// Returns the timeout in milliseconds while there is no request. `nil` if there is none.
  private func timeWithoutRequest(_ deadline: Deadline) -> UInt64? {
    switch deadline {
    case .head: worker.limits.clientHead
    case .idle: worker.limits.clientIdle
    case .linger: 2_000
    // The client has not read its last response to the end.
    case .silence: flow.silence ?? worker.limits.clientIdle
    case .none, .responseHead, .retry, .upgraded: nil
    }
  }

  override func deadlinePassed() {
    if state == .closing { return finishClosing(reset: true) }
    if let streams { return streams.deadlinePassed() }
    flow.lastDeadline = nil
    guard let run else { return close() }
    run.deadlinePassed()
    settle()
  }

  // MARK: events of the configuration

  /// Applies a new configuration. Returns the requests that have an upstream connection, and that the configuration does
  /// not allow.
  func configurationChanged() -> [RequestRun] {
    if worker.generation.snapshot.index(of: arrival.listener) == nil {
      if state == .open { state = .orphaned }
      if let streams { return streams.configurationChanged() }
      guard let run else {
        if state == .open || state == .orphaned { close() }
        return []
      }
      run.listenerRemoved()
      return run.phase.hasUpstream ? [run] : []
    }
    if run == nil, streams?.isEmpty ?? true { endDedicated() }
    if let streams { return streams.configurationChanged() }
    guard let run else { return [] }
    return run.configurationChanged() ? [] : [run]
  }

  /// Ends the connection, because the daemon stops.
  func stop() {
    run?.step { machine, output in machine.stopped(output: &output) }
    streams?.stop()
    close(reset: state == .closing)
  }

  func drain() {
    if let run {
      run.step { machine, _ in machine.drain() }
      settle()
    } else if let streams {
      streams.drain()
    } else if state == .open || state == .orphaned {
      close()
    }
  }

  // MARK: the end

  /// Ends the connection after its last HTTP/2 stream.
  func streamsEnded() {
    streams = nil
    if flow.hasEnded { return close() }
    linger()
    settle()
  }

  /// Closes the connection after sending the queued bytes, or after a timeout.
  /// - Parameter reset: whether to drop the queued bytes and close at once.
  func close(reset: Bool = false) {
    guard !isClosed else { return }
    if reset || stream.queuedBytes == 0 { return finishClosing(reset: reset) }
    run?.endUpstream(reuse: false)
    streams.take()?.end()
    state = .closing
    flow.isReading = false
    stream.stopReading()
    worker.deadlines.schedule(self, at: worker.loop.now + worker.limits.clientHead)
  }

  private func finishClosing(reset: Bool = false) {
    guard !isClosed else { return }
    if let run, run.phase.isRunning || run.phase == .upgraded {
      // Every exchange needs exactly one record (T58): notify the request before closing its connection.
      assertionFailure("a connection is closed within an exchange")
      run.step { machine, output in machine.clientGone(output: &output) }
      guard !isClosed else { return }
    }
    state = .closed
    streams.take()?.end()
    run?.endUpstream(reuse: false)
    run = nil
    endDedicated()
    worker.deadlines.cancel(self)
    if reset { stream.reset() } else { stream.close() }
    worker.ended(self)
  }

  private func endDedicated() { dedicated.take()?.close() }
}
