// Called by `ClientStreams`, with what arrives on one stream.
// Calls `RequestRun`, one for each stream.

internal import Configuration
internal import EventLoop
internal import Gateway
internal import Generations
internal import HTTP1
internal import HTTP2
internal import Policy
internal import Primitives
internal import Settings
internal import Transport

/// One stream of a client's HTTP/2 connection: a request and its response.
///
/// `ClientStreams` creates it when the head of the request has arrived, and keeps it until the response was sent.
final class ClientStream: DeadlineOwner, RequestClient {
  let id: HTTP2Session.StreamID
  private let streams: ClientStreams
  /// The request in progress. `nil` before its turn has come, and after its end.
  private(set) var run: RequestRun?
  /// The head of a request whose turn has not come yet. `nil` for other requests.
  private var head: (block: HeaderBlock, endsStream: Bool)?
  /// Data that the request cannot use yet. The client may send no more than the window of the stream.
  private var pending: [UInt8] = []
  /// Trailers that wait for `pending`. `nil` if there are none.
  private var trailers: HeaderBlock?
  /// Whether the end of the client's message waits for `pending`.
  private var hasPendingEnd = false
  /// Whether the request asks for a tunnel (RFC 8441), so that the end of its message is the end of one direction.
  private var isTunnel = false
  /// Bytes that the request has used, and that the client may not replace by others yet.
  private var unconsumed = 0
  private var response = Response.awaited
  private var bodyPace = BodyPace()
  /// The kind of the scheduled deadline. `nil` restarts the timeout.
  private var lastDeadline: Deadline?
  /// How long the client may read nothing of the response after the request has ended, in milliseconds. `nil` for the
  /// default.
  private var silence: UInt64?
  /// Number of body bytes that waited for the client when this time began. `nil` while it does not run.
  private var unread: Int?
  /// Counts the request as in progress while its response waits for the client.
  private var quotaPermit: QuotaPermit?

  private enum Response {
    case awaited
    /// The head waits for data, for the end of the response, or for the end of this turn of the loop. The range is its
    /// text in `ClientStreams`.
    case held(Range<Int>)
    case begun
    /// The whole response was given to the session, or the stream was reset.
    case ended
  }

  /// Beyond this number of bytes that wait for the client, bearerd reads no more of the response.
  private static let maximumQueue = 16_384

  init(_ id: HTTP2Session.StreamID, of streams: ClientStreams) {
    (self.id, self.streams) = (id, streams)
    super.init()
  }

  private var session: HTTP2Session { streams.session }
  private var worker: Worker { streams.worker }
  /// Whether the request has ended, so that only a part of its response may wait for the client.
  var isFinishing: Bool { run == nil && head == nil }

  // MARK: from the client

  /// Keeps the head for a later turn of the loop.
  func wait(with block: HeaderBlock, endsStream: Bool) { head = (block, endsStream) }

  /// Begins the request whose head was kept.
  func beginWaiting() {
    guard var head = head.take() else { return }
    begin(with: head.block, endsStream: head.endsStream)
    // The session has overwritten only its own copy (T50).
    head.block.wipe()
  }

  func begin(with block: HeaderBlock, endsStream: Bool) {
    let run = RequestRun(of: self, worker: worker, isFirst: streams.beginsFirst(), over: .http2)
    self.run = run
    isTunnel = block.hasMethod("CONNECT")
    run.receiveHead(block, endsStream: endsStream)
    if isTunnel, endsStream { hasPendingEnd = true }
  }

  /// Records a request whose head the session has refused. The stream was reset, so nothing can be sent.
  func refuse(_ error: MessageError) {
    response = .ended
    let run = RequestRun(of: self, worker: worker, isFirst: streams.beginsFirst(), over: .http2)
    self.run = run
    run.headRefused(error)
  }

  /// Receives a part of the request's body. Afterwards, call `settle`.
  /// - Parameter isLast: whether the request ends after this part, without trailers.
  func receive(_ data: Span<UInt8>, isLast: Bool) {
    guard let run, pending.isEmpty, !run.opensAtTurnEnd else {
      if isFinishing { return streams.consumed(data.count, of: id) }
      pending.append(data)
      if isLast { hasPendingEnd = true }
      return
    }
    var position = 0
    if isLast, !isTunnel {
      run.receiveLast(data, position: &position)
    } else {
      run.receive(data, position: &position)
      if isLast, self.run != nil { hasPendingEnd = true }
    }
    guard self.run != nil else { return streams.consumed(data.count, of: id) }
    unconsumed += position
    if position < data.count { pending.append(data.extracting(position...)) }
  }

  /// Receives the trailers of the request. Its end follows.
  func receive(trailers: HeaderBlock) { if !isFinishing { self.trailers = trailers } }

  /// Receives the end of a request that has not ended with its head. Afterwards, call `settle`.
  func receiveEnd() { if !isFinishing { hasPendingEnd = true } }

  /// Ends the request, because nothing can be sent to the client any more.
  func clientGone() {
    head?.block.wipe()
    head = nil
    response = .ended
    run?.step { machine, output in machine.clientGone(output: &output) }
    release()
  }

  /// Passes what waits to the request.
  private func feed() {
    feedPending()
    guard hasPendingEnd, pending.isEmpty, let run else { return }
    hasPendingEnd = false
    if isTunnel { return run.step { machine, output in machine.clientEnded(output: &output) } }
    if let trailers = trailers.take() { run.receive(.trailers(trailers)) }
    run.receive(.end)
    feedPending()
  }

  private func feedPending() {
    guard let run, run.hasOutcome || !pending.isEmpty else { return }
    var bytes: [UInt8] = []
    swap(&bytes, &pending)
    var position = 0
    run.receive(bytes.span, position: &position)
    guard self.run != nil else { return streams.consumed(bytes.count, of: id) }
    unconsumed += position
    guard position < bytes.count else { return }
    if position > 0 { bytes.removeFirst(position) }
    pending = bytes
  }

  // MARK: events of the request

  var arrival: Arrival { streams.connection.arrival }
  var unit: String? { streams.connection.unit }
  var quota: CallerQuota { streams.connection.quota }
  var isOrphaned: Bool { streams.connection.isOrphaned }
  /// `false`, because bearerd always reads from the connection.
  var isGone: Bool { false }

  /// Streams of one connection are often requests of several users. Only requests that are sent one after another share a
  /// login.
  var dedicated: DedicatedUpstream? {
    get {
      guard let dedicated = streams.connection.dedicated, !streams.hasOther(than: self) else { return nil }
      return dedicated
    }
    set {
      if streams.hasOther(than: self) { newValue?.close() } else { streams.connection.dedicated = newValue }
    }
  }

  func requestBegan() {
    lastDeadline = nil
    streams.requestBegan()
  }

  func callerIsProven() { streams.connection.callerIsProven() }

  func sendHeads(_ text: Span<UInt8>) {
    guard case .awaited = response else { return }
    switch streams.send(heads: text, of: self) {
    case .held(let text): response = .held(text)
    case .sent: break
    case .failed: fail()
    }
  }

  func send(_ first: Span<UInt8>, _ second: Span<UInt8>) {
    sendHead(endsStream: false)
    guard case .begun = response else { return }
    streams.write(first, second, on: id)
  }

  func endResponse(trailers: borrowing ByteBuffer) {
    if case .held = response, trailers.isEmpty {
      sendHead(endsStream: true)
    } else {
      sendHead(endsStream: false)
      guard case .begun = response else { return }
      streams.end(id, trailers: trailers)
    }
    response = .ended
  }

  func shutdown() { endResponse(trailers: ByteBuffer()) }

  /// The client gets RST_STREAM with NO_ERROR when its response was sent (RFC 9113 section 8.1).
  func linger() { close(reset: false) }

  func close(reset: Bool) {
    switch response {
    case .ended: if reset { abort(.internalError) }
    case .begun where !reset, .held where !reset: endResponse(trailers: ByteBuffer())
    case .awaited, .held, .begun: abort(.internalError)
    }
  }

  private func abort(_ code: HTTP2Code) {
    response = .ended
    streams.reset(id, code)
  }

  /// Sends the head that is held back.
  func sendHead(endsStream: Bool) {
    guard case .held(let text) = response else { return }
    response = .begun
    if !streams.send(head: text, of: self, endsStream: endsStream) { fail() }
  }

  private func fail() {
    response = .ended
    streams.failed(self)
  }

  func ended(_ run: RequestRun) {
    guard self.run === run else { return }
    silence = run.readerTimeout
    // The deadline of the request must not end its response.
    worker.deadlines.cancel(self)
    if let permit = run.quota.take(), streams.mustWait(self) { quotaPermit = consume permit }
    self.run = nil
    // The client may send the rest of its request, which is discarded.
    streams.consumed(unconsumed + pending.count, of: id)
    (pending, trailers, hasPendingEnd, unconsumed) = ([], nil, false, 0)
    streams.finishing(self)
    // As with HTTP/1, a caller that is not admitted gets one response on each connection (T54).
    if run.isOfUnadmittedCaller {
      streams.refuse()
    } else if streams.connection.unprovenNumber != nil {
      streams.leave()
    }
  }

  func restartDeadline() { lastDeadline = nil }
  func pauseBodyPace() { bodyPace.pause() }

  // MARK: reading and waiting

  /// Called after every event. Processes pending bytes, opens the windows of both sides, and updates the deadline.
  func settle() {
    guard !streams.isOver, let run, !run.opensAtTurnEnd else { return }
    feed()
    guard let run = self.run else { return }
    run.upstream?.setReading(
      session.queuedBytes(of: id) < ClientStream.maximumQueue && !run.isResponseBuffered && !streams.isBacklogged,
      of: run)
    if unconsumed > 0, (run.upstream?.queuedBytes(of: run) ?? 0) == 0 {
      streams.consumed(unconsumed, of: id)
      unconsumed = 0
    }
    if bodyIsTooSlow(run) {
      run.step { machine, output in machine.requestBodyTooSlow(output: &output) }
      return settle()
    }
    updateDeadline(run)
  }

  /// Whether the client sends its request body too slowly.
  private func bodyIsTooSlow(_ run: RequestRun) -> Bool {
    guard run.awaitsRequestBody, (run.upstream?.queuedBytes(of: run) ?? 0) == 0, let window = run.time(of: .silence)
    else {
      bodyPace.pause()
      return false
    }
    return bodyPace.isTooSlow(
      total: run.bytesUp, now: worker.loop.now, window: window, rate: worker.limits.clientBodyRate)
  }

  private func updateDeadline(_ run: RequestRun) {
    let deadline = run.deadline
    guard deadline != lastDeadline || deadline == .silence || deadline == .upgraded else { return }
    lastDeadline = deadline
    let due = if let time = run.time(of: deadline) { worker.loop.now + time } else { UInt64.max }
    worker.deadlines.schedule(self, at: run.phase.isRunning ? min(due, run.timing.totalBy) : due)
  }

  /// Waits until the client has read the rest of the response. Returns `false` if it has read nothing since the last call.
  @discardableResult
  func awaitReader() -> Bool {
    let waiting = session.queuedBytes(of: id)
    if let unread, waiting >= unread { return false }
    unread = waiting
    let (due, overflows) = worker.loop.now.addingReportingOverflow(silence ?? worker.limits.clientIdle)
    worker.deadlines.schedule(self, at: overflows ? .max : due)
    return true
  }

  override func deadlinePassed() {
    lastDeadline = nil
    guard let run else { return awaitReader() ? () : streams.abandon(self) }
    run.deadlinePassed()
    settle()
  }

  /// Called when `ClientStreams` removes the stream.
  func release() {
    run?.endUpstream(reuse: false)
    run = nil
    _ = quotaPermit.take()
    worker.deadlines.cancel(self)
  }
}
