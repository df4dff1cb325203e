// Called by `ClientConnection`, if its client speaks HTTP/2.
// Calls `HTTP2Session`, and `ClientStream` with what arrived for it.

internal import Configuration
internal import EventLoop
internal import Gateway
internal import Generations
internal import HTTP1
internal import HTTP2
internal import Primitives
internal import Settings

/// The HTTP/2 session of a client's connection, and its streams.
///
/// `ClientConnection` creates it when the connection preface has arrived (RFC 9113 section 3.4). It writes to the socket at
/// the end of each turn of the loop, once for all streams.
final class ClientStreams {
  let session: HTTP2Session
  let connection: ClientConnection
  private var streams = FastTable<ClientStream>()
  /// Streams whose requests begin on a later turn of the loop (T54), from `nextWaiting` on.
  private var waiting: [ClientStream] = []
  private var nextWaiting = 0
  /// Why the session has refused the heads of streams in `waiting`.
  private var refusals: [HTTP2Session.StreamID: MessageError] = [:]
  /// Received bytes that are decoded after the waiting requests have begun.
  private var unread: [UInt8] = []
  /// Streams whose requests have ended since the last check.
  private var finishing: [ClientStream] = []
  /// Streams whose heads could not be sent. Their requests end at the end of this turn.
  private var failing: [ClientStream] = []
  /// Streams whose heads are held back.
  private var holding: [ClientStream] = []
  private let output: ClientStreamsOutput
  private var turnShare = TurnShare()
  private var refilledAt: UInt64
  private var isDelivering = false
  /// Whether `turnEnded` will be called.
  private var isDue = false
  private var hasBegun = false
  private var wait = Wait.forStream
  /// When a connection without streams ends.
  private var idleUntil: UInt64?
  /// Whether the client may open no further stream.
  private var isLeaving = false
  /// Whether the caller is not admitted, and has got its response.
  private var isRefusing = false
  /// Whether the connection has ended. No stream is left then.
  private(set) var isOver = false

  /// What the deadline of the connection is for.
  private enum Wait {
    /// There is no stream.
    case forStream
    /// A header block has not arrived completely.
    case forHead
    case nothing
  }

  /// Bytes of one stream that the client may send before they are used.
  private static let streamWindow = 65_536

  init(of connection: ClientConnection) throws(HTTP2Error) {
    self.connection = connection
    refilledAt = connection.worker.loop.now
    let heads = connection.worker.generation.snapshot.headLimits
    var limits = HTTP2Limits()
    limits.streams = connection.worker.limits.streams
    limits.streamWindow = ClientStreams.streamWindow
    // A head above the limits reaches the request, which responds with 431. Twice the limits fail the stream.
    limits.requestFields = 2 * heads.fields
    limits.headerBlock = 2 * heads.headBytes + 32 * limits.requestFields
    session = try HTTP2Session(.server, limits: limits)
    output = ClientStreamsOutput(session, to: connection)
  }

  var worker: Worker { connection.worker }
  /// The requests in progress.
  var runs: [RequestRun] { streams.all.compactMap(\.run) }
  var isEmpty: Bool { streams.isEmpty }
  /// Whether too many heads of responses wait for the client. A client that does not read cannot send more requests (T54).
  var isBacklogged: Bool { output.isBacklogged }
  /// Whether requests must not begin now.
  private var isPaused: Bool { turnShare.isUsedUp || output.isBacklogged }
  /// Whether bytes should be read from the socket.
  var wantsReading: Bool { !isOver && unread.isEmpty && waiting.isEmpty && !isPaused }

  /// Whether another stream of the connection has a request in progress.
  func hasOther(than stream: ClientStream) -> Bool {
    streams.count > 1 && streams.all.contains { $0 !== stream && !$0.isFinishing }
  }

  /// Returns `true` for the first request of the connection.
  func beginsFirst() -> Bool {
    defer { hasBegun = true }
    return !hasBegun
  }

  // MARK: from the client

  func receive(_ bytes: Span<UInt8>) {
    guard !isOver else { return }
    refill()
    if unread.isEmpty {
      let position = decode(bytes)
      if position < bytes.count, !isOver { unread.append(bytes.extracting(position...)) }
    } else {
      unread.append(bytes)
    }
    update()
  }

  /// Decodes bytes piece by piece, until a request has to wait for its turn, or the turn has no time left (T54). Returns the
  /// number of decoded bytes.
  private func decode(_ bytes: Span<UInt8>) -> Int {
    var position = 0
    while position < bytes.count, waiting.isEmpty, !isOver, !isPaused, !isRefusing {
      // The events before a fault are valid.
      var fault: HTTP2Error?
      let piece = bytes.extracting(position...)
      do throws(HTTP2Error) {
        position += try session.receive(piece, work: HTTP2Session.pieceOfWork)
      } catch {
        fault = error
      }
      deliver(piece)
      if fault != nil { finish() }
      if position < bytes.count, worker.loop.isStepLong { useUpTurn() }
    }
    flushLater()
    return position
  }

  private func deliver(_ bytes: Span<UInt8>) {
    guard !isDelivering else { return }
    isDelivering = true
    defer { isDelivering = false }
    // The head, the data and the end of a request often arrive together.
    var current: ClientStream?
    while !isOver, let event = session.nextEvent() {
      let stream = event.stream.flatMap { streams[$0] }
      if stream !== current {
        current?.settle()
        current = stream
      }
      switch event {
      case .head(let id, let block): current = begin(id, block)
      case .data(let id, let range):
        let isLast = session.takeEnd(of: id)
        stream?.receive(bytes.extracting(range), isLast: isLast)
      case .trailers(_, let block): stream?.receive(trailers: block)
      case .end: stream?.receiveEnd()
      case .refused(let id, let error): refuse(id, error)
      case .failed:
        stream?.clientGone()
        if let stream { remove(stream) }
        current = nil
      case .drained: if let stream, stream.isFinishing { finishing(stream) }
      case .settings, .goAway, .pong: break
      }
    }
    current?.settle()
  }

  private func begin(_ id: HTTP2Session.StreamID, _ block: HeaderBlock) -> ClientStream? {
    guard !isRefusing else {
      session.reset(id, .refusedStream)
      return nil
    }
    let endsStream = session.takeEnd(of: id)
    let stream = ClientStream(id, of: self)
    streams.set(stream, for: id)
    if waiting.isEmpty, !isPaused {
      stream.begin(with: block, endsStream: endsStream)
    } else {
      stream.wait(with: block, endsStream: endsStream)
      waiting.append(stream)
    }
    return stream
  }

  /// Records a request that the session has refused, in its turn.
  private func refuse(_ id: HTTP2Session.StreamID, _ error: MessageError) {
    if isRefusing { return }
    let stream = ClientStream(id, of: self)
    if waiting.isEmpty, !isPaused { return stream.refuse(error) }
    refusals[id] = error
    waiting.append(stream)
  }

  /// Lets the client send control frames again, after time has passed.
  private func refill() {
    let now = worker.loop.now
    guard now &- refilledAt >= 1_000 else { return }
    session.refill(seconds: Int(clamping: (now &- refilledAt) / 1_000))
    refilledAt = now
  }

  /// Limits the requests that begin in one turn of the loop (T54).
  func requestBegan() {
    let begun = turnShare.begin(in: worker.turn)
    if begun >= TurnShare.maximum || begun > 1 && worker.loop.isOutOfTime { useUpTurn() }
  }

  private func useUpTurn() {
    guard !turnShare.isUsedUp else { return }
    turnShare.isUsedUp = true
    // Not weak: each later retain of an object with weak references is slow.
    worker.loop.onNextTurn { [self] in
      turnShare.isUsedUp = false
      resume()
    }
  }

  /// Continues with the requests and bytes that had to wait.
  private func resume() {
    while !isOver, !isPaused, nextWaiting < waiting.count {
      let stream = waiting[nextWaiting]
      nextWaiting += 1
      if let error = refusals.removeValue(forKey: stream.id) { stream.refuse(error) } else { stream.beginWaiting() }
      stream.settle()
    }
    if nextWaiting == waiting.count { (waiting, nextWaiting) = ([], 0) }
    if waiting.isEmpty, !unread.isEmpty, !isOver {
      var bytes: [UInt8] = []
      swap(&bytes, &unread)
      let position = decode(bytes.span)
      if position < bytes.count, !isOver { unread = Array(bytes[position...]) }
    }
    update()
  }

  // MARK: to the client

  /// Sends interim heads, and holds the last one back.
  func send(heads text: Span<UInt8>, of stream: ClientStream) -> ClientStreamsOutput.SentHeads {
    flushLater()
    let sent = output.send(heads: text, of: stream.id)
    if case .held = sent { holding.append(stream) }
    return sent
  }

  /// Sends a head that was held back. Returns `false` if it cannot be sent.
  func send(head text: Range<Int>, of stream: ClientStream, endsStream: Bool) -> Bool {
    flushLater()
    return output.send(head: text, of: stream.id, endsStream: endsStream)
  }

  /// Called when the head of a response cannot be sent.
  func failed(_ stream: ClientStream) {
    failing.append(stream)
    flushLater()
  }

  /// Whether a part of the response must wait for the client.
  func mustWait(_ stream: ClientStream) -> Bool {
    let window = session.sendWindow(of: stream.id)
    return window <= 0 || session.queuedBytes(of: stream.id) > window || connection.stream.queuedBytes > 0
  }

  func end(_ stream: HTTP2Session.StreamID, trailers: borrowing ByteBuffer) {
    output.end(stream, trailers: trailers)
    flushLater()
  }

  func write(_ first: Span<UInt8>, _ second: Span<UInt8>, on stream: HTTP2Session.StreamID) {
    output.write(first, second, on: stream)
    flushLater()
  }

  /// Ends a stream at once, after the bytes of its response that can be sent now.
  func reset(_ stream: HTTP2Session.StreamID, _ code: HTTP2Code) {
    if session.queuedBytes(of: stream) > 0 { output.flush() }
    session.reset(stream, code)
    flushLater()
  }

  func consumed(_ count: Int, of stream: HTTP2Session.StreamID) {
    session.consumed(count, of: stream)
    flushLater()
  }

  /// Called when a request has ended. A part of its response may wait in the session.
  func finishing(_ stream: ClientStream) {
    guard !isOver else { return }
    finishing.append(stream)
    flushLater()
  }

  /// Ends a stream whose client does not read the rest of the response.
  func abandon(_ stream: ClientStream) {
    reset(stream.id, .cancel)
    remove(stream)
  }

  private func remove(_ stream: ClientStream) {
    guard streams.remove(stream.id) != nil else { return }
    stream.release()
    flushLater()
  }

  private func flushLater() {
    guard !isDue, !isOver else { return }
    isDue = true
    worker.connections.flushAtTurnEnd(self)
  }

  func turnEnded() {
    guard !isOver else { return }
    for stream in holding { stream.sendHead(endsStream: false) }
    holding.removeAll(keepingCapacity: true)
    output.removeHeads()
    output.flush()
    if !failing.isEmpty { removeFailed() }
    removeFinished()
    output.flush()
    isDue = false
    if session.hasEvents { deliver(Span()) }
    if isBacklogged, output.endBacklog() {
      for stream in streams.all { stream.settle() }
      return resume()
    }
    update()
  }

  /// Called when the queue of the socket is empty.
  func socketDrained() {
    finishing += streams.all.filter(\.isFinishing)
    flushLater()
  }

  private func removeFailed() {
    for stream in failing where streams[stream.id] === stream {
      stream.clientGone()
      remove(stream)
    }
    failing.removeAll()
  }

  /// Removes the streams whose responses were sent.
  private func removeFinished() {
    for stream in finishing where streams[stream.id] === stream {
      if session.hasSentEnd(stream.id) {
        // The rest of the request is not needed (RFC 9113 section 8.1).
        if !session.hasEnded(stream.id) { session.reset(stream.id, .noError) }
        remove(stream)
      } else {
        stream.awaitReader()
      }
    }
    finishing.removeAll(keepingCapacity: true)
  }

  // MARK: the connection

  /// Continues to read, and ends the connection or sets its deadline, as the number of streams requires.
  private func update() {
    guard !isOver else { return }
    if output.isFailed { return finish() }
    if isRefusing, !isDue { return finish() }
    if streams.isEmpty, waiting.isEmpty, !isDue, isLeaving || session.isOver, !output.hasBytes { return finish() }
    updateDeadline()
    connection.setReading(wantsReading)
  }

  private func updateDeadline() {
    if !streams.isEmpty { idleUntil = nil }
    let wait: Wait = session.isReceivingHead && wantsReading ? .forHead : streams.isEmpty ? .forStream : .nothing
    guard wait != self.wait else { return }
    self.wait = wait
    let now = worker.loop.now
    switch wait {
    case .forHead: worker.deadlines.schedule(connection, at: now + worker.limits.clientHead)
    case .forStream:
      // Heads that are refused do not prolong the time.
      let due = idleUntil ?? now + worker.limits.clientIdle
      idleUntil = due
      worker.deadlines.schedule(connection, at: due)
    case .nothing: worker.deadlines.schedule(connection, at: .max)
    }
  }

  /// Accepts no further stream (GOAWAY), and ends the connection after the streams in progress.
  func leave() {
    guard !isOver, !isLeaving else { return }
    isLeaving = true
    session.goAway(.noError)
    output.flush()
    update()
  }

  /// Ends the connection of a caller that is not admitted, at the end of this turn. As with HTTP/1, such a caller gets one response,
  /// and bearerd decodes nothing more (T54).
  func refuse() {
    guard !isOver else { return }
    isRefusing = true
    for stream in waiting[nextWaiting...] {
      reset(stream.id, .refusedStream)
      remove(stream)
    }
    (waiting, nextWaiting) = ([], 0)
    leave()
  }

  /// Called when the client has closed its side of the connection. It cannot open windows any more, so that no response is
  /// sure to arrive. Sends what the windows and the socket take now.
  func clientEnded() {
    turnEnded()
    guard !isOver else { return }
    end()
    connection.close()
  }

  /// Called when there was no stream for too long, or when a head has not arrived in time.
  func deadlinePassed() {
    guard wait != .nothing else { return }
    if wait == .forHead {
      logEnd(.noError, "a header block did not arrive within limits.client_head")
      session.goAway(.noError)
    }
    if wait == .forHead || isLeaving { return finish() }
    leave()
    // The client must read the last bytes.
    if !isOver { worker.deadlines.schedule(connection, at: worker.loop.now + worker.limits.clientHead) }
  }

  /// Lets no request be repeated, and ends the connection after the streams in progress.
  func drain() {
    if !isOver, !isLeaving { logEnd(.noError, "bearerd is stopping", isExpected: true) }
    leave()
    for stream in streams.all {
      stream.run?.step { machine, _ in machine.drain() }
      stream.settle()
    }
  }

  /// Ends all requests, because the daemon stops. Sends as much of the responses as the socket takes.
  func stop() {
    for stream in streams.all { stream.run?.step { machine, output in machine.stopped(output: &output) } }
    session.goAway(.noError)
    turnEnded()
    end(isLast: true)
  }

  /// Applies a new configuration. Returns the requests that have an upstream connection, and that the configuration does not
  /// allow.
  func configurationChanged() -> [RequestRun] {
    let all = streams.all
    if connection.isOrphaned {
      leave()
      return all.compactMap { stream in
        guard let run = stream.run else { return nil }
        run.listenerRemoved()
        return run.phase.hasUpstream ? run : nil
      }
    }
    return all.compactMap { stream in
      guard let run = stream.run else { return nil }
      return run.configurationChanged() ? nil : run
    }
  }

  /// Ends the connection: after its last stream, or after a violation of the protocol. Then the session has the bytes that
  /// tell the client why.
  private func finish() {
    guard !isOver else { return }
    output.flush()
    if let failure = session.failure { logEnd(failure.code, failure.description) }
    end()
    connection.streamsEnded()
  }

  /// Ends all streams. Each request gets its record (T58), on a later turn of the loop if there are many (T54).
  /// - Parameter isLast: whether there is no later turn.
  func end(isLast: Bool = false) {
    guard !isOver else { return }
    isOver = true
    let (all, refused) = (streams.all, waiting[nextWaiting...].filter { refusals[$0.id] != nil })
    (streams, waiting, unread, finishing, failing, holding) = (FastTable(), [], [], [], [], [])
    nextWaiting = 0
    release(all, isLast: isLast)
    for stream in refused { if let error = refusals.removeValue(forKey: stream.id) { stream.refuse(error) } }
  }

  private func release(_ all: [ClientStream], isLast: Bool) {
    for (index, stream) in all.enumerated() {
      if index > 0, !isLast, worker.loop.isStepLong {
        let rest = Array(all[index...])
        return worker.loop.onNextTurn { [self] in release(rest, isLast: false) }
      }
      stream.clientGone()
    }
  }
}
