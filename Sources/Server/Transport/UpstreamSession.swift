package import Credentials
package import EventLoop
internal import Gateway
package import HTTP1
internal import Log
package import Policy
internal import Primitives
internal import StatusModel
internal import System
package import TLS

/// A connection to an upstream: TLS over TCP, or plain TCP for a loopback upstream.
package final class UpstreamSession: DeadlineOwner, StreamDelegate {
  let pool: UpstreamPool
  private let epoch: UInt64
  let stream: EventLoop.Stream
  /// Receives the session's events. `nil` while the session is idle in its pool, and after `close`.
  private(set) var owner: (any UpstreamSessionOwner)?
  let context: WorkerContext
  private var lifecycle: UpstreamLifecycle
  private var handshake: Handshake?
  private var verified: VerifiedSession?
  /// What the TLS handshake verified. `nil` before the handshake ends, and without TLS.
  private(set) var proof: SessionProof?
  /// Gets the certificates if verification fails. `nil` if bearerd does not report the failure.
  private(set) var evidence: EvidenceRecorder?
  private var isReading = false
  /// Whether `release` need not free the TLS record buffers.
  private var buffersAreSettled = false
  /// The idle timeout that the upstream's last response announced, in milliseconds. `nil` if it announced none.
  package var announcedIdle: UInt64?

  private static let nothing: [UInt8] = []
  /// Maximum number of idle sessions per worker that keep their TLS record buffers.
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
  ///   - timeout: milliseconds.
  ///   - evidence: gets the certificates if verification fails.
  func begin(timeout: UInt64, evidence: EvidenceRecorder?) {
    self.evidence = evidence
    setReading(true)
    guard let client = pool.context else {
      stream.step = .upstream
      owner?.sessionIsReady(self)
      return
    }
    context.deadlines.schedule(self, at: context.loop.now + timeout)
    do throws(TLSError) {
      buffersAreSettled = context.upstreamSpikes.count <= UpstreamSession.maximumWithBuffers
      handshake = try client.handshake(
        sink: StreamSink(stream), now: context.moment(), keepsBuffers: buffersAreSettled, evidence: evidence)
      stream.step = .handshake
    } catch {
      return fail(error)
    }
    advance(UpstreamSession.nothing.span)
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
      proof = session.proof
      verified = consume session
      // The last handshake bytes can be followed by session tickets. Plaintext is an error here (T26).
      var plaintext: [UInt8] = []
      let isEnd = try verified!.decrypt(UpstreamSession.nothing.span, into: &plaintext) == .closed
      perform(change { $0.handshakeFinished(early: plaintext.span, isEnd: isEnd) })
    } catch {
      fail(error)
    }
  }

  /// Sends the head of `request`, with the credential of `grant` if there is one, and then `body`.
  /// - Parameters:
  ///   - isChallenged: whether the upstream has asked for the credential.
  /// - Returns: how the credential was sent. `nil` if the credential does not depend on challenges.
  package func send(
    _ request: borrowing OutgoingRequest, grant: Int?, cookies: JarTicket?, caller: Caller?, isChallenged: Bool,
    body: Span<UInt8>, keyring: Keyring
  ) throws(AuthorizationError) -> ChallengeAttempt? {
    if let grant {
      guard lifecycle.isVerified, let caller else { throw AuthorizationError.noProof }
      let attempt = try keyring.authorize(
        grant: grant, request: request, body: body, caller: caller, now: Clock.now.seconds,
        isChallenged: isChallenged, cookies: cookies, over: &verified!)
      if attempt?.isBare != true { change { $0.carriedCredential() } }
      return attempt
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

  package func send(_ bytes: Span<UInt8>) {
    guard lifecycle.mayWrite, bytes.count > 0 else { return }
    if lifecycle.isVerified {
      do throws(TLSError) { try verified!.write(bytes) } catch { change { $0.writeFailed() } }
    } else if pool.context == nil {
      stream.write(bytes)
    }
  }

  package func setReading(_ wanted: Bool) {
    guard wanted != isReading, !isClosed else { return }
    isReading = wanted
    if wanted { stream.startReading() } else { stream.stopReading() }
  }

  /// Maximum milliseconds for which the session may be idle.
  fileprivate var idleTime: UInt64 {
    guard let announcedIdle else { return context.idleConnections.time }
    let margin = UpstreamSession.idleMargin
    return min(context.idleConnections.time, announcedIdle > margin ? announcedIdle - margin : 0)
  }

  private static let idleMargin: UInt64 = 1_000

  /// Returns the session to its pool, or closes the session if it cannot be reused.
  package func release() {
    owner = nil
    change { $0.release() }
    guard isUsable else { return close() }
    guard idleTime > 0, let time = pool.keep(self, of: epoch, limit: context.idleConnections.count, time: idleTime)
    else { return close() }
    // Session tickets, which follow the handshake, have arrived by now.
    if !buffersAreSettled, lifecycle.isVerified { verified!.releaseBuffers() }
    buffersAreSettled = true
    setReading(true)
    context.deadlines.schedule(self, at: context.loop.now + time)
  }

  package var isDedicated: Bool { lifecycle.use == .login }
  package func dedicate() { change { $0.dedicate() } }

  package func attach(to owner: any UpstreamSessionOwner) { self.owner = owner }

  /// Puts an idle session into use for `owner`.
  package func activate(for owner: any UpstreamSessionOwner) {
    self.owner = owner
    change { $0.acquire() }
    context.deadlines.schedule(self, at: .max)
  }

  /// Ends the sending direction, with close_notify over TLS. The receiving direction stays open.
  package func shutdown() {
    if lifecycle.isVerified { verified!.close() } else { stream.shutdown() }
  }

  package func close() {
    if lifecycle.isVerified { verified!.close() }
    if detach() { stream.close() }
  }

  /// Closes the connection without close_notify, so that the upstream notices the interruption.
  package func reset() {
    if detach() { stream.reset() }
  }

  /// Frees the TLS state. Returns `false` if the session was already closed.
  private func detach() -> Bool {
    guard change({ $0.close() }) else { return false }
    pool.closed()
    context.upstreamSpikes.decrement()
    owner = nil
    context.deadlines.cancel(self)
    verified = nil
    handshake = nil
    return true
  }

  // MARK: events of the stream and the clock

  package func streamDidConnect(_ stream: EventLoop.Stream) {}

  package func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    perform(change { $0.received() }, bytes)
  }

  package func streamDidEnd(_ stream: EventLoop.Stream) { perform(change { $0.streamEnded() }) }

  package func streamDidDrain(_ stream: EventLoop.Stream) { owner?.sessionDidDrain(self) }

  package func stream(_ stream: EventLoop.Stream, didFail error: UVError) {
    perform(lifecycle.streamFailed(error.description))
  }

  package override func deadlinePassed() { perform(lifecycle.deadlinePassed()) }

  // MARK: carrying out steps of the state machine

  /// Applies `event` to a copy of `lifecycle`, and then stores the copy.
  @inline(__always)
  private func change<Result>(_ event: (inout UpstreamLifecycle) -> Result) -> Result {
    // A change in place would cost an exclusivity check at each access.
    var changed = lifecycle
    defer { lifecycle = changed }
    return event(&changed)
  }

  private func perform(_ step: UpstreamLifecycle.Step) { perform(step, UpstreamSession.nothing.span) }

  private func perform(_ step: UpstreamLifecycle.Step, _ bytes: Span<UInt8>) {
    switch step {
    case .nothing: break
    case .advanceHandshake: advance(bytes)
    case .failHandshake: fail(handshake!.inputEnded())
    case .ready: owner?.sessionIsReady(self)
    case .decrypt: decrypt(bytes)
    case .deliver: owner?.session(self, didReceive: bytes)
    case .discard: discard()
    case .reportEnd(let isClean): owner?.sessionEnded(self, isClean: isClean)
    case .fail(let refusal, let detail): fail(refusal, detail: detail + (tlsAdvice.map { " (\($0))" } ?? ""))
    }
  }

  private func decrypt(_ bytes: Span<UInt8>) {
    var plaintext = context.borrowPlaintext()
    do throws(TLSError) {
      let isEnd = try verified!.decrypt(bytes, into: &plaintext) == .closed
      let (count, queued) = (plaintext.count, stream.queuedBytes)
      let step = change { $0.decrypted(count: count, isEnd: isEnd, queuedBytes: queued) }
      perform(step, plaintext.span)
    } catch {
      context.returnPlaintext(&plaintext, wiped: pool.responsesAreSecret)
      return fail(.upstreamClosed, detail: error.description)
    }
    context.returnPlaintext(&plaintext, wiped: pool.responsesAreSecret)
    perform(change { $0.delivered() })
  }

  /// Closes an idle session (T26).
  private func discard() {
    pool.remove(self)
    close()
  }

  private func fail(_ error: TLSError) { fail(error.kind.refusal, detail: error.description) }

  private func fail(_ refusal: RefusalCode, detail: String) {
    let owner = owner
    pool.remove(self)
    close()
    owner?.session(self, didFail: refusal, detail: detail)
  }
}

extension UpstreamSession {
  /// Whether what the handshake verified is still valid. Always `true` without TLS.
  /// - Parameter now: seconds since 1970.
  func isProofValid(at now: Int64) -> Bool { entry.isValid(at: now) }

  var isClosed: Bool { lifecycle.phase == .closed }

  /// Why the upstream may have ended the connection, for the log; `nil` if nothing is known.
  package var tlsAdvice: String? { verified?.advice ?? handshake?.advice }

  private var isUsable: Bool { lifecycle.isUsable(isWritable: stream.isWritable, queuedBytes: stream.queuedBytes) }

  package var queuedBytes: Int { stream.queuedBytes }

  var entry: IdlePool<UpstreamSession>.Entry {
    let validity = proof?.validity
    return IdlePool.Entry(
      self, hasCarriedCredential: lifecycle.hasCarriedCredential, validFrom: validity?.begins ?? .min,
      validUntil: validity?.ends ?? .max)
  }

  /// Keeps an idle session outside its pool for `owner`. Returns `false` if it cannot be reused.
  func park(with owner: any UpstreamSessionOwner) -> Bool {
    guard isUsable, !pool.isRetired, idleTime > 0 else { return false }
    attach(to: owner)
    setReading(true)
    context.deadlines.schedule(self, at: context.loop.now + idleTime)
    return true
  }
}
