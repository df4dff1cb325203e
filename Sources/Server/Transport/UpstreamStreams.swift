// Called by `UpstreamConnection`, if its upstream speaks HTTP/2.
// Calls `HTTP2Session`, and the runs with what arrived for them.

internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import HTTP2
internal import Primitives
internal import Secrets

/// The HTTP/2 session of an upstream connection, and the stream of each run.
final class UpstreamStreams {
  private final class Stream {
    let id: HTTP2Session.StreamID
    let run: any UpstreamRunDelegate
    /// Bytes that have arrived, and that the upstream may not replace by others yet.
    var unconsumed = 0
    var isReading = true
    /// The loop's time, and `UpstreamStreams.arrivals`, when the stream began.
    let began: (at: UInt64, arrivals: UInt64)

    init(_ id: HTTP2Session.StreamID, of run: any UpstreamRunDelegate, began: (at: UInt64, arrivals: UInt64)) {
      (self.id, self.run, self.began) = (id, run, began)
    }
  }

  let session: HTTP2Session
  private let settings: UpstreamHTTP2
  private unowned let connection: UpstreamConnection
  private let isSecret: Bool
  private var streams = FastTable<Stream>()
  private var streamsOfRuns = FastTable<Stream>()
  private var isDelivering = false
  private var deliversLater = false
  /// Received bytes that are decoded on a later turn of the loop (T54), from `nextUnread` on.
  private var unread: [UInt8] = []
  private var nextUnread = 0
  /// How many of these bytes are decoded, so that only their events wait.
  private var decodedUnread = 0
  /// Why the connection must be closed after the events that wait. `nil` if it must not.
  private var fault: HTTP2Error?
  /// Whether bytes or events wait for the next turn of the loop. No further bytes are read from the socket then.
  private(set) var isBacklogged = false
  /// Why the connection ends after the bytes and events that wait. `nil` if it does not end.
  var faultAfterBacklog: String?
  /// Bytes that wait for `flush`.
  private var output = ByteBuffer()
  /// Whether `flush` is called at the end of this turn of the loop.
  private var flushesAtTurnEnd = false
  private lazy var fields = HTTP2RequestFields()
  /// Whether the upstream's settings have arrived.
  private(set) var hasSettings = false
  /// How often bytes have arrived.
  private var arrivals: UInt64 = 0
  private var arrivalsAtCheck: UInt64 = 0
  private var awaitsPong = false
  private var refilledAt: UInt64 = 0
  /// Whether the upstream has sent HTTP/1 in place of HTTP/2.
  private var isHTTP1 = false
  /// Whether the upstream has ended the connection with HTTP_1_1_REQUIRED.
  private var requiresHTTP1 = false
  /// The loop's time when the upstream's window for the bodies of all streams became too small. `nil` if it is not.
  private var blockedAt: UInt64?
  /// Number of streams, and how many of them ended before their responses.
  private var (begun, cancelled) = (0, 0)

  /// Maximum length of the socket's queue. Beyond it, the bodies of requests wait in their own queues, in bytes.
  private static let maximumQueue = 262_144
  /// How much of a request body waits for the end of the turn, so that one TLS record can carry more than this body, in bytes.
  private static let maximumDelayed = 16_384
  /// How many streams to open before the settings of an unknown upstream arrive. RFC 9113 recommends at least this limit.
  static let initialStreams = 100
  /// After this many cancelled streams, most streams of a connection must not be cancelled.
  private static let maximumCancelled = 64
  /// Maximum number of streams, whatever the upstream accepts.
  private static let maximumStreams = 1_000

  init(of connection: UpstreamConnection) throws(HTTP2Error) {
    self.connection = connection
    settings = connection.context.http2
    isSecret = connection.pool.responsesAreSecret
    session = try HTTP2Session(.client, limits: settings.limits)
  }

  deinit { wipeUnread() }

  /// Number of streams in use.
  var count: Int { streams.count }

  /// Whether another request can be sent soon. Without room in the socket, its queue would grow. Without room in the upstream's
  /// window, a request would wait for the bodies of others.
  var hasRoom: Bool {
    guard connection.queuedBytes < UpstreamStreams.maximumQueue, session.takesRequests else { return false }
    guard let blockedAt else { return true }
    return connection.context.loop.now &- blockedAt < UpstreamStreams.longBlockage
  }

  // MARK: from the upstream

  private func observeWindow() {
    let isBlocked = session.sendWindow < UpstreamStreams.smallWindow
    guard isBlocked != (blockedAt != nil) else { return }
    blockedAt = isBlocked ? connection.context.loop.now : nil
    if !isBlocked { connection.hasMoreRoom() }
  }

  /// Receives bytes, and delivers what they contain to the runs, at once or on later turns of the loop. Must not be called while
  /// `isBacklogged`. Throws if the connection must be closed.
  func receive(_ bytes: Span<UInt8>) throws(HTTP2Error) {
    arrivals &+= 1
    refill()
    let position = try process(bytes)
    if position < bytes.count { unread.append(bytes.extracting(position...)) }
  }

  /// Continues with the bytes and events that had to wait for this turn. Throws if the connection must be closed.
  func continueReceiving() throws(HTTP2Error) {
    arrivals &+= 1
    isBacklogged = false
    var bytes: [UInt8] = []
    swap(&bytes, &unread)
    defer {
      swap(&bytes, &unread)
      if !isBacklogged || nextUnread == unread.count, decodedUnread == 0 { wipeUnread() }
    }
    let (start, count) = (nextUnread, decodedUnread)
    decodedUnread = 0
    nextUnread += try process(bytes.span.extracting(start...), decoded: count)
  }

  /// Decodes bytes piece by piece, until the connection has used its share of the turn (T54).
  /// - Parameter decoded: how many of the bytes are decoded already, whose events wait.
  /// - Returns: the number of bytes that are not needed any more. The next `decodedUnread` bytes are decoded.
  private func process(_ bytes: Span<UInt8>, decoded: Int = 0) throws(HTTP2Error) -> Int {
    // A run may close the connection, and nothing else may hold it then.
    let connection = connection
    var (position, count) = (0, decoded)
    while true {
      let piece = bytes.extracting(position...)
      if count == 0, fault == nil, !session.hasEvents {
        do throws(HTTP2Error) {
          count = try session.receive(piece, work: HTTP2Session.pieceOfWork)
        } catch {
          fault = error
          if arrivals == 1, position == 0 { isHTTP1 = UpstreamStreams.beginsHTTP1(bytes) }
        }
        observeWindow()
      }
      deliver(piece, mayPause: true)
      if connection.isClosed { return bytes.count }
      if session.hasEvents {
        decodedUnread = count
        break
      }
      // The events before a fault are valid.
      if let fault {
        flush()
        throw fault
      }
      (position, count) = (position + count, 0)
      if position == bytes.count { break }
      if connection.context.loop.isStepLong { break }
    }
    if position < bytes.count || session.hasEvents { continueLater() }
    flushLater()
    return position
  }

  private func continueLater() {
    isBacklogged = true
    connection.backlogBegan()
    // Not weak: each later retain of an object with weak references is slow.
    connection.context.loop.onNextTurn { [connection] in connection.continueReceiving() }
  }

  private func wipeUnread() {
    if unread.isEmpty { return }
    if isSecret { wipe(&unread) }
    (unread, nextUnread, decodedUnread) = ([], 0, 0)
  }

  private static func beginsHTTP1(_ bytes: Span<UInt8>) -> Bool {
    let sign: StaticString = "HTTP/1"
    return sign.withUTF8Buffer { sign in
      bytes.count >= sign.count && sign.indices.allSatisfy { bytes[$0] == sign[$0] }
    }
  }

  /// Describes why the connection must be closed, for the log.
  func description(of error: HTTP2Error) -> String {
    guard isHTTP1 else { return error.description }
    return connection.pool.context == nil
      ? "the upstream speaks HTTP/1.1, and not HTTP/2: delete protocol: http2 of the service"
      : "the upstream selected HTTP/2 in the TLS handshake, and then sent HTTP/1.1: set protocol: http1 in the service"
  }

  /// - Parameter mayPause: whether to leave events for later if the connection has used its share of the turn.
  private func deliver(_ bytes: Span<UInt8>, mayPause: Bool = false) {
    guard !isDelivering else { return }
    // A run may close the connection, and nothing else may hold it then.
    let connection = connection
    isDelivering = true
    defer { isDelivering = false }
    while !connection.isClosed, let event = session.nextEvent() {
      switch event {
      case .head(let id, let block):
        guard let run = streams[id]?.run else { continue }
        let isFollowed = !run.asksForTunnel && session.continues(id)
        run.connection(connection, didReceive: .head(block), isFollowed: isFollowed)
        if isFollowed { continue }
      case .data(let id, let range): if !deliver(bytes.extracting(range), on: id) { continue }
      case .trailers(let id, let block):
        let isFollowed = session.continues(id)
        streams[id]?.run.connection(connection, didReceive: .trailers(block), isFollowed: isFollowed)
        if isFollowed { continue }
      case .end(let id): streams[id]?.run.connection(connection, didReceive: .end, isFollowed: false)
      case .failed(let id, let code, let isViolation): fail(id, code, isViolation)
      case .drained(let id): streams[id]?.run.connectionDidDrain(connection)
      case .settings:
        hasSettings = true
        limitRuns()
        connection.pool.settingsAreKnown(of: connection)
      case .goAway(_, let code): goAway(code)
      case .refused, .pong: break
      }
      // After the last event, `nextEvent` must return `nil` once, which ends the events' memory.
      if mayPause, session.hasEvents, connection.context.loop.isStepLong { return }
    }
  }

  /// Lets the upstream send control frames again, after time has passed.
  private func refill() {
    let now = connection.context.loop.now
    guard now &- refilledAt >= 1_000 else { return }
    session.refill(seconds: Int(clamping: (now &- refilledAt) / 1_000))
    refilledAt = now
  }

  private func limitRuns() {
    let count = min(session.maximumStreams, UpstreamStreams.maximumStreams)
    connection.limitRuns(to: count)
    connection.pool.streamLimit = max(1, min(count, UpstreamStreams.initialStreams))
  }

  /// Returns whether the data is the end of the message.
  private func deliver(_ data: Span<UInt8>, on id: HTTP2Session.StreamID) -> Bool {
    guard let stream = streams[id] else { return false }
    stream.unconsumed += data.count
    let isLast = !stream.run.asksForTunnel && session.takeEnd(of: id)
    if isLast { stream.run.connection(connection, didReceive: .end, isFollowed: true) }
    stream.run.connection(connection, didReceive: data)
    if !isLast { consume(stream) }
    return isLast
  }

  private func goAway(_ code: HTTP2Code) {
    connection.tally?.count(.goAways)
    connection.refuseRuns()
    guard code == .http11Required else { return }
    requiresHTTP1 = true
    _ = connection.requireHTTP1()
  }

  private func fail(_ id: HTTP2Session.StreamID, _ code: HTTP2Code, _ isViolation: Bool) {
    guard let run = streams[id]?.run else { return }
    if isViolation {
      let problem =
        code == .enhanceYourCalm
        ? "the head or the trailers of the response are too large" : "the response violates HTTP/2: \(code)"
      return run.connection(connection, didFail: .upstreamMalformed, detail: problem)
    }
    switch code {
    case .refusedStream where !requiresHTTP1:
      connection.tally?.count(.streamsRefused)
      run.connectionDidRefuse(connection, isUnprocessed: true, detail: "the upstream did not process the request")
    case .http11Required, .refusedStream:
      connection.tally?.count(.streamsRequiringHTTP1)
      let detail = "the upstream accepts this request only over HTTP/1.1"
      // Of HTTP_1_1_REQUIRED, RFC 9113 section 7 does not say that the request is unprocessed.
      if connection.requireHTTP1() {
        let isUnprocessed = code == .refusedStream
        return run.connectionDidRefuse(connection, isUnprocessed: isUnprocessed, detail: detail)
      }
      run.connectionDidReset(connection, detail: "\(detail), and the service has \"protocol: http2\"")
    default: run.connectionDidReset(connection, detail: "the upstream reset the stream: \(code)")
    }
  }

  // MARK: to the upstream

  /// Sends the head of a request without a credential, and the first bytes of its body.
  /// - Parameter endsBody: whether `body` is the whole body.
  func send(
    _ request: borrowing OutgoingRequest, of run: any UpstreamRunDelegate, body: Span<UInt8>, endsBody: Bool
  ) throws(AuthorizationError) {
    do throws(HTTP2RequestError) {
      let stream = try fields.send(
        request, body: body, endsBody: endsBody, scheme: connection.pool.context == nil ? "http" : "https",
        through: session
      ) {
        append($0)
      }
      begin(run, on: stream)
    } catch {
      // The bytes may belong to other requests of the connection.
      flushLater()
      deliverLater()
      let failure = AuthorizationError(error)
      if case .sessionFailed = failure.reason { connection.failLater(failure.detail) }
      throw failure
    }
    if output.count > UpstreamStreams.maximumDelayed { sendOutput() }
  }

  /// Assigns a new stream to a run.
  func begin(_ run: any UpstreamRunDelegate, on stream: HTTP2Session.StreamID) {
    begun &+= 1
    connection.pool.streamBegan()
    let begun = Stream(stream, of: run, began: (connection.context.loop.now, arrivals))
    streams.set(begun, for: stream)
    streamsOfRuns.set(begun, for: run)
    flushLater()
    deliverLater()
  }

  func write(_ bytes: Span<UInt8>, of run: any UpstreamRunDelegate) {
    guard let stream = streamsOfRuns[run] else { return }
    session.write(bytes, on: stream.id)
    if session.queuedBytes(of: stream.id) > UpstreamStreams.maximumDelayed { flush() } else { flushLater() }
  }

  /// Ends a request's body.
  /// - Parameter trailers: whole lines.
  func end(_ run: any UpstreamRunDelegate, trailers: ByteBuffer) {
    guard let stream = streamsOfRuns[run]?.id else { return }
    do throws(HTTP2RequestError) {
      try fields.withTrailers(trailers) { session.end(stream, trailers: $0) }
    } catch {
      session.reset(stream, .cancel)
      failLater(run, "the trailers of the request cannot be sent: \(AuthorizationError(error))")
    }
    flushLater()
  }

  /// Fails a run after the event that it processes.
  private func failLater(_ run: any UpstreamRunDelegate, _ detail: String) {
    // Not weak: each later retain of an object with weak references is slow.
    connection.context.loop.onNextTurn { [self, connection] in
      guard streamsOfRuns[run] != nil else { return }
      run.connection(connection, didFail: .internalError, detail: detail)
    }
  }

  /// Ends the stream of a run, at once if the response is not complete.
  func close(_ run: any UpstreamRunDelegate) {
    guard let ended = streamsOfRuns.remove(run) else { return }
    let (stream, began) = (ended.id, ended.began)
    streams.remove(stream)
    connection.pool.streamEnded()
    // Probably the upstream is gone, which must not fail the next requests too.
    if began.arrivals == arrivals, connection.context.loop.now &- began.at >= UpstreamStreams.longSilence {
      connection.refuseRuns()
    }
    // Upstreams end a connection with many resets. Its other requests then continue, and later ones use another connection.
    if !session.hasEnded(stream) {
      cancelled &+= 1
      if cancelled > UpstreamStreams.maximumCancelled, cancelled > begun / 2 { connection.refuseRuns() }
    }
    // The upstream has ended a tunnel, but gets the client's last bytes.
    if session.hasEnded(stream), !session.hasSentEnd(stream) { flush() }
    // Does nothing if both sides have ended.
    session.reset(stream, session.hasEnded(stream) ? .noError : .cancel)
    flushLater()
  }

  func setReading(_ wanted: Bool, of run: any UpstreamRunDelegate) {
    guard let stream = streamsOfRuns[run], stream.isReading != wanted else { return }
    stream.isReading = wanted
    guard wanted else { return }
    consume(stream)
    flushLater()
  }

  private func consume(_ stream: Stream) {
    guard stream.isReading, stream.unconsumed > 0 else { return }
    session.consumed(stream.unconsumed, of: stream.id)
    stream.unconsumed = 0
  }

  /// Body bytes of a run that wait for the upstream, and not only for the end of the turn.
  func queuedBytes(of run: any UpstreamRunDelegate) -> Int {
    let count = streamsOfRuns[run].map { session.queuedBytes(of: $0.id) } ?? 0
    return flushesAtTurnEnd && count <= UpstreamStreams.maximumDelayed ? 0 : count
  }

  /// Whether body bytes of a run are queued.
  func isBlocked(_ run: any UpstreamRunDelegate) -> Bool {
    streamsOfRuns[run].map { session.queuedBytes(of: $0.id) > 0 } ?? false
  }

  /// Checks whether the upstream is still there, while requests are in progress: sends a PING after a long silence.
  /// - Returns: the milliseconds until the next check; `nil` if the upstream did not respond.
  func check() -> UInt64? {
    defer { arrivalsAtCheck = arrivals }
    if arrivals != arrivalsAtCheck || isBacklogged {
      awaitsPong = false
      return checkInterval
    }
    if awaitsPong { return nil }
    awaitsPong = true
    session.ping()
    flushLater()
    return settings.pingTimeout
  }

  /// Milliseconds between two checks.
  var checkInterval: UInt64 { settings.ping ?? .max }
  /// With less than this, the upstream's window may delay a small request, in bytes.
  private static let smallWindow = 4_096
  /// Milliseconds after which requests use another connection while the window is small.
  private static let longBlockage: UInt64 = 1_000
  /// Milliseconds without a byte after which a connection takes no further request if one was cancelled.
  private static let longSilence: UInt64 = 5_000

  /// Sends at the end of this turn of the loop, so that one TLS record and one system call carry all requests of the turn.
  func flushLater() {
    guard !flushesAtTurnEnd else { return }
    flushesAtTurnEnd = true
    connection.context.flushAtTurnEnd(connection)
  }

  /// Sends what the session has and what waits for the end of the turn, as one TLS record if possible.
  func flush() {
    flushesAtTurnEnd = false
    sendAll()
    observeWindow()
    if !session.takesRequests { connection.refuseRuns() }
    deliverLater()
  }

  /// Sends the rest before the connection is closed.
  func finish() {
    if flushesAtTurnEnd { sendAll() }
    flushesAtTurnEnd = true
  }

  private func sendAll() {
    // Until the socket takes no more, because only then there will be an event that continues.
    while session.hasBytes {
      let room = UpstreamStreams.maximumQueue - connection.queuedBytes
      guard room > 0 else { break }
      let waiting = output.count
      do throws(HTTP2Error) {
        try session.send(atMost: room) { append($0) }
      } catch {
        sendOutput()
        connection.writeStage()
        return connection.failLater(error.description)
      }
      if output.count == waiting { break }
      sendOutput()
    }
    sendOutput()
    connection.writeStage()
  }

  /// Sends the bytes that do not wait in a keyring.
  func sendOutput() {
    if output.isEmpty { return }
    var bytes = ByteBuffer()
    swap(&bytes, &output)
    connection.sendFrames(bytes.storage.span.extracting(first: bytes.count))
    bytes.removeAll()
    swap(&bytes, &output)
  }

  private func append(_ bytes: UnsafeRawBufferPointer) {
    let bytes = Span<UInt8>(_unsafeBytes: bytes)
    output.append(bytes)
  }

  /// The events of sending are delivered later, because they would reach a run that is just sending.
  private func deliverLater() {
    guard !isDelivering, !deliversLater, !isBacklogged, session.hasEvents else { return }
    deliversLater = true
    // A run may close the connection, and nothing else may hold it then. Not weak: see `failLater`.
    connection.context.loop.onNextTurn { [self, connection] in
      deliversLater = false
      if !connection.isClosed, !isBacklogged { deliver(Span()) }
      if !connection.isClosed { flush() }
    }
  }
}
