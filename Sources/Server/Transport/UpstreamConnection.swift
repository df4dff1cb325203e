package import Credentials
package import EventLoop
internal import Gateway
package import HTTP1
internal import HTTP2
internal import Log
package import Policy
package import Primitives
internal import StatusModel
internal import System
package import TLS

/// A connection to an upstream, TLS over TCP or plain TCP for a loopback upstream, and the runs that use it. A run is a
/// request, until its response is complete. HTTP/1 has one run at a time, HTTP/2 one for each stream.
package final class UpstreamConnection: DeadlineOwner, StreamDelegate, PooledConnection {
  let pool: UpstreamPool
  package let epoch: UInt64
  let stream: EventLoop.Stream
  /// Opens the connection. `nil` after the handshake.
  private var opener: Connector?
  /// Empty while the connection is being opened, while it is idle, and after `close`.
  private var runs = UpstreamRuns()
  let context: WorkerContext
  private var lifecycle: UpstreamLifecycle
  private var handshake: Handshake?
  private var verified: VerifiedSession?
  /// What the TLS handshake verified. `nil` before the handshake ends, and without TLS.
  private(set) var proof: SessionProof?
  /// The HTTP/2 session. `nil` if the connection speaks HTTP/1, and before the handshake ends.
  private(set) var streams: UpstreamStreams?
  /// Has requests that wait for the end of the turn of the loop. `nil` if there are none. Only for HTTP/2.
  private var stage: RequestStage?
  /// Gets the certificates if verification fails. `nil` if bearerd does not report the failure.
  private(set) var evidence: EvidenceRecorder?
  private var isReading = false
  /// The version as which `pool` counts the connection. `nil` before the handshake ends.
  private var countedAs: ApplicationProtocol?
  /// Counts the connection, and what happens to its streams. Belongs to the service whose request opened it.
  var tally: ServiceTally?
  /// Whether `keep` need not free the TLS record buffers.
  private var buffersAreSettled = false
  /// The idle timeout that the upstream's last response announced, in milliseconds. `nil` if it announced none.
  package var announcedIdle: UInt64?

  private static let nothing: [UInt8] = []
  /// Maximum number of idle connections per worker that keep their TLS record buffers.
  private static let maximumWithBuffers = 16

  init(stream: EventLoop.Stream, pool: UpstreamPool, context: WorkerContext) {
    self.stream = stream
    self.pool = pool
    self.context = context
    epoch = pool.opened()
    lifecycle = UpstreamLifecycle(isTLS: pool.context != nil)
    super.init()
    stream.delegate = self
    stream.keepsReadingAfterFailedWrite = true
    stream.setKeepalive(context.keepalive)
    context.upstreamSpikes.increment()
  }

  /// Starts the TLS handshake, if the pool uses TLS.
  /// - Parameters:
  ///   - opener: gets the result.
  ///   - timeout: milliseconds.
  ///   - evidence: gets the certificates if verification fails.
  func open(for opener: Connector, timeout: UInt64, evidence: EvidenceRecorder?) {
    self.opener = opener
    self.evidence = evidence
    setReading(true)
    guard let client = pool.context else {
      stream.step = .upstream
      return begin(pool.plainProtocol, early: UpstreamConnection.nothing.span, isEnd: false)
    }
    context.deadlines.schedule(self, at: context.loop.now + timeout)
    do throws(TLSError) {
      buffersAreSettled = context.upstreamSpikes.count <= UpstreamConnection.maximumWithBuffers
      handshake = try client.handshake(
        sink: StreamSink(stream), now: context.moment(), keepsBuffers: buffersAreSettled, evidence: evidence)
      stream.step = .handshake
    } catch {
      return fail(error)
    }
    advance(UpstreamConnection.nothing.span)
  }

  private func advance(_ input: Span<UInt8>) {
    do throws(TLSError) {
      guard try handshake!.advance(input) == .finished else { return }
      context.deadlines.cancel(self)
      stream.step = .upstream
      guard let finished = handshake.take() else { return }
      let session = try finished.verified(now: context.moment())
      // A pin mismatch in report mode is logged each time, other advice only once per pool.
      if let remark = session.proof.remark, session.proof.pins == .reported || !pool.hasLoggedPinAdvice {
        pool.hasLoggedPinAdvice = true
        context.log.event(.pin, ("upstream", pool.upstream.origin.description), ("detail", remark))
      }
      let applicationProtocol = session.proof.applicationProtocol
      proof = session.proof
      verified = consume session
      // The last handshake bytes can be followed by session tickets. With HTTP/1, plaintext is an error here (T26).
      var plaintext: [UInt8] = []
      let isEnd = try verified!.decrypt(UpstreamConnection.nothing.span, into: &plaintext) == .closed
      begin(applicationProtocol, early: plaintext.span, isEnd: isEnd)
    } catch {
      fail(error)
    }
  }

  private func begin(_ applicationProtocol: ApplicationProtocol, early: Span<UInt8>, isEnd: Bool) {
    let step = lifecycle.opened(applicationProtocol, early: early, isEnd: isEnd)
    if step == .ready {
      countedAs = applicationProtocol
      pool.began(applicationProtocol)
    }
    guard applicationProtocol == .http2, step == .ready else { return perform(step) }
    do throws(HTTP2Error) {
      let streams = try UpstreamStreams(of: self)
      self.streams = streams
      // The preface (RFC 9113 section 3.4), for which some servers wait before they send their settings.
      streams.flushLater()
      lifecycle.limitRuns(to: pool.streamLimit)
      if early.count > 0 { try streams.receive(early) }
    } catch {
      return fail(.handshakeFailed, detail: streams?.description(of: error) ?? error.description)
    }
    perform(.ready)
  }

  /// Sends the head of `request`, with the credential of `grant` if there is one, and then `body`.
  /// - Parameters:
  ///   - run: the run to which the request belongs.
  ///   - isChallenged: whether the upstream has asked for the credential.
  ///   - endsBody: whether `body` is the whole body. Only for HTTP/2.
  /// - Returns: how the credential was sent. `nil` if the credential does not depend on challenges.
  package func send(
    _ request: borrowing OutgoingRequest, of run: any UpstreamRunDelegate, grant: Int?, cookies: JarTicket?,
    caller: Caller?, isChallenged: Bool, body: Span<UInt8>, endsBody: Bool, keyring: Keyring
  ) throws(AuthorizationError) -> ChallengeAttempt? {
    if let grant {
      guard lifecycle.isVerified, let caller else { throw AuthorizationError.noProof }
      let attempt: ChallengeAttempt?
      if let streams {
        // Bytes that wait outside of the stage come before the next ones in it.
        streams.sendOutput()
        do throws(AuthorizationError) {
          defer { stage = keyring.stage(of: self) ?? stage }
          let stream: HTTP2Session.StreamID
          (stream, attempt) = try keyring.authorize(
            grant: grant, request: request, body: body, endsBody: endsBody, caller: caller, now: Clock.now.seconds,
            isChallenged: isChallenged, cookies: cookies, through: streams.session, delayedBy: self, over: &verified!)
          streams.begin(run, on: stream)
        } catch {
          // The stage may have frames of other requests.
          streams.flushLater()
          if case .sessionFailed = error.reason { failLater(error.detail) }
          throw error
        }
      } else {
        attempt = try keyring.authorize(
          grant: grant, request: request, body: body, caller: caller, now: Clock.now.seconds,
          isChallenged: isChallenged, cookies: cookies, over: &verified!)
      }
      if attempt?.isBare != true { lifecycle.carriedCredential() }
      return attempt
    } else if let streams {
      try streams.send(request, of: run, body: body, endsBody: endsBody)
      return nil
    } else {
      var bytes = ByteBuffer()
      bytes.reserve(request.line.count &+ request.fields.count &+ body.count &+ 256)
      RequestWriter.write(request, body: body, to: &bytes)
      let contents = bytes.contents
      send(contents.span)
      return nil
    }
  }

  /// Lends the verified TLS session to code that writes a secret itself.
  package func withVerified(_ write: (inout VerifiedSession) throws(AuthorizationError) -> Void)
    throws(AuthorizationError)
  {
    guard lifecycle.isVerified else { throw AuthorizationError.noProof }
    try write(&verified!)
  }

  /// Sends bytes of the body of a run's request.
  package func send(_ bytes: Span<UInt8>, of run: any UpstreamRunDelegate) {
    if let streams { streams.write(bytes, of: run) } else { send(bytes) }
  }

  /// Ends the body of a run's request. Only for HTTP/2.
  /// - Parameter trailers: whole lines. Empty if there are none.
  package func endRequest(of run: any UpstreamRunDelegate, trailers: borrowing ByteBuffer) {
    streams?.end(run, trailers: trailers)
  }

  package func send(_ bytes: Span<UInt8>) {
    guard lifecycle.mayWrite, bytes.count > 0 else { return }
    if lifecycle.isVerified {
      do throws(TLSError) { try verified!.write(bytes) } catch { lifecycle.writeFailed() }
    } else if pool.context == nil {
      stream.write(bytes)
    }
  }

  /// Sends frames after those that wait in the stage, and together with them if they are few.
  func sendFrames(_ bytes: Span<UInt8>) {
    guard let stage else { return send(bytes) }
    if bytes.count <= stage.room {
      bytes.withUnsafeBytes { stage.append($0, over: &verified!) }
    } else {
      writeStage()
      send(bytes)
    }
  }

  /// Starts or stops reading the response of a run.
  package func setReading(_ wanted: Bool, of run: any UpstreamRunDelegate) {
    if let streams { streams.setReading(wanted, of: run) } else { setReading(wanted) }
  }

  private func setReading(_ wanted: Bool) {
    guard wanted != isReading, !isClosed else { return }
    // An HTTP/2 connection reads again after its backlog.
    if wanted, streams?.isBacklogged == true { return }
    isReading = wanted
    if wanted { stream.startReading() } else { stream.stopReading() }
  }

  /// Maximum milliseconds for which the connection may be idle.
  fileprivate var idleTime: UInt64 {
    guard let announcedIdle else { return context.idleConnections.time }
    let margin = UpstreamConnection.idleMargin
    return min(context.idleConnections.time, announcedIdle > margin ? announcedIdle - margin : 0)
  }

  private static let idleMargin: UInt64 = 1_000

  // MARK: runs

  /// Begins a run, on a connection that has room. The run ends with `release`, `cancel` or `close`.
  package func begin(_ run: any UpstreamRunDelegate) {
    runs.add(run)
    lifecycle.runBegan()
    if lifecycle.runs == 1 {
      schedule(after: streams?.checkInterval ?? .max)
    }
    pool.update(self)
  }

  /// Ends a run whose response is complete. After its last run, the connection is kept for later runs.
  package func release(_ run: any UpstreamRunDelegate) {
    guard end(run) else { return }
    if lifecycle.runs == 0 { keep() } else { pool.update(self) }
  }

  /// Ends a run whose response is not complete. Closes an HTTP/1 connection.
  /// - Parameter isCut: whether the upstream must notice the interruption.
  package func cancel(_ run: any UpstreamRunDelegate, isCut: Bool) {
    if isClosed {
      // The run has not heard yet that the connection has failed.
      _ = end(run)
      return
    }
    let isShared = streams != nil || lifecycle.maximumRuns > 1 || lifecycle.runs > 1
    if isShared { release(run) } else if isCut { reset() } else { close() }
  }

  private func end(_ run: any UpstreamRunDelegate) -> Bool {
    guard runs.remove(run) else { return false }
    lifecycle.runEnded()
    streams?.close(run)
    return true
  }

  /// Uses HTTP/1.1 for later requests to this upstream, which has asked for it.
  /// Returns `false` if the service allows only HTTP/2.
  func requireHTTP1() -> Bool { pool.requireHTTP1() }

  /// Sets how many runs the upstream accepts at the same time.
  func limitRuns(to count: Int) {
    lifecycle.limitRuns(to: count)
    pool.update(self)
  }

  /// Offers the connection again, because its upstream accepts more.
  func hasMoreRoom() { pool.update(self) }

  /// Begins no further run, because the upstream accepts none. The runs in progress continue.
  func refuseRuns() {
    lifecycle.refuseRuns()
    pool.update(self)
    if lifecycle.runs == 0, lifecycle.phase == .open, opener == nil { close() }
  }

  /// Puts a connection without runs into its pool, or closes the connection if it cannot be reused.
  package func keep() {
    // A request that leaves it unused, while others use it.
    guard lifecycle.runs == 0 else { return }
    guard isUsable, !lifecycle.isDedicated, idleTime > 0,
      let time = pool.keep(self, limit: context.idleConnections.count, time: idleTime)
    else { return close() }
    // Session tickets, which follow the handshake, have arrived by now.
    if !buffersAreSettled, lifecycle.isVerified { verified!.releaseBuffers() }
    buffersAreSettled = true
    setReading(true)
    context.deadlines.schedule(self, at: context.loop.now + time)
  }

  package var isDedicated: Bool { lifecycle.isDedicated }
  package func dedicate() {
    lifecycle.dedicate()
    pool.update(self)
  }

  /// Ends `run`, and keeps the idle connection outside its pool. Returns `false` if the connection cannot be reused.
  func park(after run: any UpstreamRunDelegate) -> Bool {
    guard end(run), lifecycle.runs == 0, isUsable, !pool.isRetired, idleTime > 0 else { return false }
    setReading(true)
    context.deadlines.schedule(self, at: context.loop.now + idleTime)
    return true
  }

  /// Ends the sending direction of a run: its stream, or an HTTP/1 connection, with close_notify over TLS. The receiving direction
  /// stays open.
  package func shutdown(_ run: any UpstreamRunDelegate) {
    if let streams { return streams.end(run, trailers: ByteBuffer()) }
    if lifecycle.isVerified { verified!.close() } else { stream.shutdown() }
  }

  package func close() {
    if !isClosed { streams?.finish() }
    if lifecycle.isVerified { verified!.close() }
    if detach() { stream.close() }
  }

  /// Closes the connection without close_notify, so that the upstream notices the interruption.
  package func reset() {
    if detach() { stream.reset() }
  }

  /// Frees the TLS state. Returns `false` if the connection was already closed.
  private func detach() -> Bool {
    guard lifecycle.close() else { return false }
    pool.remove(self)
    pool.closed()
    pool.settingsAreKnown(of: self)
    if let countedAs { pool.ended(countedAs, streams: streams?.count ?? 0) }
    context.upstreamSpikes.decrement()
    opener = nil
    runs = UpstreamRuns()
    context.deadlines.cancel(self)
    stage.take()?.discard()
    verified = nil
    handshake = nil
    // The session of a thousand streams takes most of a millisecond to free (T54).
    if let session = streams?.session { context.loop.onNextTurn { withExtendedLifetime(session) {} } }
    streams = nil
    return true
  }

  // MARK: events of the stream and the clock

  package func streamDidConnect(_ stream: EventLoop.Stream) {}

  package func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    perform(lifecycle.received(), bytes)
  }

  package func streamDidEnd(_ stream: EventLoop.Stream) { perform(lifecycle.streamEnded()) }

  package func streamDidDrain(_ stream: EventLoop.Stream) {
    guard let streams else { return forEachRun { $0.connectionDidDrain(self) } }
    streams.flush()
    if !isClosed { hasMoreRoom() }
  }

  package func stream(_ stream: EventLoop.Stream, didFail error: UVError) {
    perform(lifecycle.streamFailed(error.description))
  }

  package override func deadlinePassed() {
    guard let streams, lifecycle.runs > 0 else { return perform(lifecycle.deadlinePassed()) }
    guard let time = streams.check() else {
      return fail(.upstreamTimeout, detail: "the upstream does not respond to a PING frame")
    }
    schedule(after: time)
  }

  /// - Parameter time: milliseconds. `.max` for no deadline.
  private func schedule(after time: UInt64) {
    context.deadlines.schedule(self, at: time == .max ? .max : context.loop.now + time)
  }

  /// Sends what waits for the end of the turn. Only for HTTP/2.
  func turnEnded() { streams?.flush() }

  // MARK: carrying out steps of the state machine

  private func perform(_ step: UpstreamLifecycle.Step) { perform(step, UpstreamConnection.nothing.span) }

  private func perform(_ step: UpstreamLifecycle.Step, _ bytes: Span<UInt8>) {
    switch step {
    case .nothing: break
    case .advanceHandshake: advance(bytes)
    case .failHandshake: fail(handshake!.inputEnded())
    case .ready: opener.take()?.connectionIsOpen(self)
    case .decrypt: decrypt(bytes)
    case .deliver: deliver(bytes)
    // An idle connection (T26).
    case .discard: close()
    case .reportEnd(let isClean): reportEnd(isClean: isClean)
    case .fail(let refusal, let detail): fail(refusal, detail: detail + (tlsAdvice.map { " (\($0))" } ?? ""))
    }
  }

  private func deliver(_ bytes: Span<UInt8>) {
    guard let streams else { return runs.only?.connection(self, didReceive: bytes) ?? () }
    do throws(HTTP2Error) {
      try streams.receive(bytes)
    } catch {
      fail(.upstreamMalformed, detail: streams.description(of: error))
    }
  }

  private func decrypt(_ bytes: Span<UInt8>) {
    var plaintext = context.borrowPlaintext()
    do throws(TLSError) {
      let isEnd = try verified!.decrypt(bytes, into: &plaintext) == .closed
      let step = lifecycle.decrypted(count: plaintext.count, isEnd: isEnd, queuedBytes: stream.queuedBytes)
      perform(step, plaintext.span)
    } catch {
      // What came before the fault is authentic, and can be the end of a response. Nothing can be sent any more.
      lifecycle.writeFailed()
      let step = lifecycle.decrypted(count: plaintext.count, isEnd: false, queuedBytes: stream.queuedBytes)
      perform(step, plaintext.span)
      context.returnPlaintext(&plaintext, wiped: pool.responsesAreSecret)
      return isClosed ? () : failAfterBacklog(error.description)
    }
    context.returnPlaintext(&plaintext, wiped: pool.responsesAreSecret)
    if lifecycle.phase == .ending, streams?.isBacklogged != true { perform(lifecycle.delivered()) }
  }

  /// Called when received bytes wait for the next turn of the loop. Only for HTTP/2.
  func backlogBegan() { setReading(false) }

  /// Continues with the bytes that had to wait for this turn of the loop. Only for HTTP/2.
  func continueReceiving() {
    guard let streams else { return }
    do throws(HTTP2Error) {
      try streams.continueReceiving()
    } catch {
      return fail(.upstreamMalformed, detail: streams.description(of: error))
    }
    if isClosed || streams.isBacklogged { return }
    if let fault = streams.faultAfterBacklog { return fail(.upstreamClosed, detail: fault) }
    perform(lifecycle.delivered())
    setReading(true)
  }

  /// Calls `body` for each run. A run that ends during these calls gets no further call.
  @inline(__always)
  private func forEachRun(_ body: (any UpstreamRunDelegate) -> Void) {
    for run in runs.all where runs.contains(run) { body(run) }
  }

  /// Fails an HTTP/2 connection, with all its runs, after an error while a run sends.
  func failLater(_ detail: String) {
    lifecycle.writeFailed()
    pool.update(self)
    context.loop.onNextTurn { [self] in
      if !isClosed { failAfterBacklog(detail) }
    }
  }

  /// Fails the connection, after the received bytes that wait for a later turn of the loop.
  private func failAfterBacklog(_ detail: String) {
    guard let streams, streams.isBacklogged else { return fail(.upstreamClosed, detail: detail) }
    streams.faultAfterBacklog = detail
    pool.update(self)
  }

  private func fail(_ error: TLSError) { fail(error.kind.refusal, detail: error.description) }

  private func fail(_ refusal: RefusalCode, detail: String) {
    let (opener, runs) = (opener, runs)
    close()
    opener?.connection(self, didFailToOpen: refusal, detail: detail)
    self.runs = runs
    failRuns(runs.all, refusal, detail)
  }

  /// Fails the runs of the closed connection. Many runs fail on later turns of the loop (T54).
  private func failRuns(_ all: [any UpstreamRunDelegate], _ refusal: RefusalCode, _ detail: String) {
    inSlices(all) { connection, run in
      if connection.runs.remove(run) { run.connection(connection, didFail: refusal, detail: detail) }
    }
  }

  /// Reports the end of the upstream's data to the runs.
  private func reportEnd(isClean: Bool) {
    inSlices(runs.all) { connection, run in
      if connection.runs.contains(run) { run.connectionEnded(connection, isClean: isClean) }
    }
  }

  /// Calls `body` for some runs, which may have ended, at once and on later turns of the loop if there are many (T54).
  private func inSlices(
    _ all: [any UpstreamRunDelegate], _ body: @escaping (UpstreamConnection, any UpstreamRunDelegate) -> Void
  ) {
    for (index, run) in all.enumerated() {
      if index > 0, context.loop.isStepLong {
        let rest = Array(all[index...])
        return context.loop.onNextTurn { self.inSlices(rest, body) }
      }
      body(self, run)
    }
  }
}

extension UpstreamConnection: RequestStageUser {
  package func writeStage() {
    guard let stage = stage.take() else { return }
    guard lifecycle.isVerified, lifecycle.mayWrite else { return stage.discard() }
    do throws(TLSError) { try stage.write(over: &verified!) } catch { failLater(error.description) }
  }
}

extension UpstreamConnection {
  /// Whether what the handshake verified is still valid. Always `true` without TLS.
  /// - Parameter now: seconds since 1970.
  package func isValid(at now: Int64) -> Bool { proof?.validity.contains(now) ?? true }

  /// Whether another run can begin on the connection, in addition to those in progress.
  package var hasRoom: Bool { lifecycle.hasRoom && (streams?.hasRoom ?? true) }

  /// Whether the upstream accepts WebSockets on HTTP/2 streams (RFC 8441 section 3). `false` until its settings arrive.
  var acceptsWebSockets: Bool { streams?.session.acceptsExtendedConnect ?? false }

  /// Whether the upstream's settings have arrived. `false` with HTTP/1.
  var hasSettings: Bool { streams?.hasSettings ?? false }

  package var hasCarriedCredential: Bool { lifecycle.hasCarriedCredential }

  var isClosed: Bool { lifecycle.phase == .closed }

  /// Why the upstream may have ended the connection, for the log; `nil` if nothing is known.
  package var tlsAdvice: String? { verified?.advice ?? handshake?.advice }

  private var isUsable: Bool { lifecycle.isUsable(isWritable: stream.isWritable, queuedBytes: stream.queuedBytes) }

  /// Bytes that wait for the socket.
  var queuedBytes: Int { stream.queuedBytes }

  /// Bytes of a run's request that wait for the upstream.
  package func queuedBytes(of run: any UpstreamRunDelegate) -> Int {
    if let streams { streams.queuedBytes(of: run) } else { stream.queuedBytes }
  }

  /// Whether bytes of a run's request wait for the upstream, at a time when the run has sent nothing in this turn of the loop.
  package func isBlocked(_ run: any UpstreamRunDelegate) -> Bool {
    if let streams { streams.isBlocked(run) } else { stream.queuedBytes > 0 }
  }

  package var applicationProtocol: ApplicationProtocol { streams == nil ? .http1 : .http2 }
}
