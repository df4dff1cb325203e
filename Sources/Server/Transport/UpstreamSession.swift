package import Credentials
package import EventLoop
internal import Gateway
internal import HTTP1
internal import Log
package import Policy
internal import Primitives
internal import System
package import TLS

/// One connection to an upstream: a TCP stream with TLS above it, or without for a plain loopback upstream.
package final class UpstreamSession: Timed, StreamDelegate {
  let pool: UpstreamPool
  private let epoch: UInt64
  let stream: EventLoop.Stream
  /// Let go when the session is, and when its exchange ends.
  private(set) var owner: (any UpstreamSessionOwner)?
  let context: WorkerContext
  private var lifecycle: UpstreamLifecycle
  private var handshake: Handshake?
  private var verified: VerifiedSession?
  /// The verdict of the handshake; nil: there was none.
  private(set) var proof: SessionProof?
  private var isReading = false
  /// Its buffers go and come by themselves, or are kept.
  private var hasRested = false
  /// Milliseconds for which the upstream keeps an idle connection, as it said last; `nil` if it did not say.
  package var announcedIdle: UInt64?

  private static let nothing: [UInt8] = []
  /// As long as a worker has no more of them their buffers are kept: half a megabyte saves a fortieth of each request's steps.
  private static let fewSessions = 16

  /// `stream` is connected.
  init(stream: EventLoop.Stream, pool: UpstreamPool, context: WorkerContext) {
    self.stream = stream
    self.pool = pool
    self.context = context
    epoch = pool.opened()
    lifecycle = UpstreamLifecycle(isTLS: pool.context != nil)
    super.init()
    stream.delegate = self
    stream.readsOnAfterFailedWrite = true
    stream.setKeepalive(context.keepalive)
    context.upstreamFlood.rise()
  }

  /// TLS, if it is asked for; the owner hears how it went.
  func begin(timeout: UInt64) {
    setReading(true)
    guard let client = pool.context else {
      stream.step = .upstream
      owner?.sessionIsReady(self)
      return
    }
    context.deadlines.schedule(self, at: context.loop.now + timeout)
    do throws(TLSError) {
      hasRested = context.upstreamFlood.count <= UpstreamSession.fewSessions
      handshake = try client.handshake(
        sink: StreamSink(stream), now: context.moment(), keepsBuffers: hasRested)
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
      // A mismatch that is only reported is an event each time; advice is given once.
      if let remark = session.proof.remark, session.proof.pins == .reported || !pool.hasAdvised {
        pool.hasAdvised = true
        context.log.event(.pin, ("upstream", pool.upstream.origin.description), ("detail", remark))
      }
      proof = session.proof
      verified = consume session
      // Bytes that came with the end of the handshake: tickets, if anything.
      var plaintext: [UInt8] = []
      let isEnd = try verified!.decrypt(UpstreamSession.nothing.span, into: &plaintext) == .closed
      perform(change { $0.handshakeFinished(early: plaintext.span, isEnd: isEnd) })
    } catch {
      fail(error)
    }
  }

  /// The head with the credential of `grant` (`isAsked`: as the upstream wants), or with none; then what of the body fits.
  package func send(
    head: Span<UInt8>, grant: Int?, cookies: JarTicket?, caller: Caller?, isAsked: Bool, body: Span<UInt8>,
    keyring: Keyring
  ) throws(AuthorizationError) -> ChallengeAttempt? {
    if let grant {
      guard lifecycle.isVerified, let caller else { throw AuthorizationError.noProof }
      let attempt = try keyring.authorize(
        grant: grant, head: head, body: body, caller: caller, now: Clock.now.seconds, isAsked: isAsked,
        cookies: cookies, over: &verified!)
      if attempt?.isBare != true { change { $0.carriedCredential() } }
      return attempt
    } else {
      var bytes = ByteBuffer()
      bytes.reserve(head.count &+ body.count &+ 2)
      bytes.append(head)
      MessageWriter.endOfHead(to: &bytes)
      bytes.append(body)
      let contents = bytes.contents
      send(contents.span)
      return nil
    }
  }

  /// For a use that sends its secret by itself.
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

  /// Milliseconds for which it is kept while no request uses it. The upstream may close a moment earlier than it said.
  fileprivate var idleTime: UInt64 {
    guard let announcedIdle else { return context.idleConnections.time }
    let margin = UpstreamSession.idleMargin
    return min(context.idleConnections.time, announcedIdle > margin ? announcedIdle - margin : 0)
  }

  private static let idleMargin: UInt64 = 1_000

  /// Back to the others of its identity, or closed if it is of no further use.
  package func release() {
    owner = nil
    change { $0.release() }
    guard isUsable else { return close() }
    guard idleTime > 0, let time = pool.keep(self, of: epoch, limit: context.idleConnections.count, time: idleTime)
    else { return close() }
    // Whatever comes with a handshake has come by now.
    if !hasRested, lifecycle.isVerified { verified!.rest() }
    hasRested = true
    setReading(true)
    context.deadlines.schedule(self, at: context.loop.now + time)
  }

  package var isDedicated: Bool { lifecycle.use == .login }
  package func dedicate() { change { $0.dedicate() } }

  /// `owner` hears of it from now on.
  package func hand(to owner: any UpstreamSessionOwner) { self.owner = owner }

  /// Taken from the idle ones.
  package func taken(by owner: any UpstreamSessionOwner) {
    self.owner = owner
    change { $0.take() }
    context.deadlines.schedule(self, at: .max)
  }

  /// Nothing more goes up. Over TLS close_notify says so, and the stream stays open for what comes down.
  package func shutdown() {
    if lifecycle.isVerified { verified!.close() } else { stream.shutdown() }
  }

  package func close() {
    if lifecycle.isVerified { verified!.close() }
    if leave() { stream.close() }
  }

  /// Without close_notify: what was sent is not the whole.
  package func reset() {
    if leave() { stream.reset() }
  }

  /// False: it was closed before.
  private func leave() -> Bool {
    guard change({ $0.close() }) else { return false }
    pool.closed()
    context.upstreamFlood.fall()
    owner = nil
    context.deadlines.cancel(self)
    verified = nil
    handshake = nil
    return true
  }

  // MARK: what the stream and the clock say

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

  // MARK: what the machine wants done

  /// A copy is changed: to change it where it is would be checked, each time, for another change at the same time.
  @inline(__always)
  private func change<Result>(_ event: (inout UpstreamLifecycle) -> Result) -> Result {
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
    case .fail(let refusal, let detail): fail(refusal, detail: detail)
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
      context.giveBack(&plaintext, wiped: pool.answersSecrets)
      return fail(.upstreamClosed, detail: error.description)
    }
    context.giveBack(&plaintext, wiped: pool.answersSecrets)
    perform(change { $0.delivered() })
  }

  /// Bytes that were not asked for (T26), or the end of an idle session.
  private func discard() {
    pool.forget(self)
    close()
  }

  private func fail(_ error: TLSError) { fail(error.kind.refusal, detail: error.description) }

  private func fail(_ refusal: RefusalCode, detail: String) {
    let owner = owner
    pool.forget(self)
    close()
    owner?.session(self, didFail: refusal, detail: detail)
  }
}

/// How the session stands just now.
extension UpstreamSession {
  /// Whether what the handshake proved still holds; seconds since 1970. Where nothing had to be proved: always.
  func isProved(at now: Int64) -> Bool { entry.holds(at: now) }

  var isClosed: Bool { lifecycle.phase == .closed }

  private var isUsable: Bool { lifecycle.isUsable(isWritable: stream.isWritable, queuedBytes: stream.queuedBytes) }

  package var queuedBytes: Int { stream.queuedBytes }

  /// As one of the idle ones.
  var entry: IdlePool<UpstreamSession>.Entry {
    let validity = proof?.validity
    return IdlePool.Entry(
      self, hasCarriedCredential: lifecycle.hasCarriedCredential, validFrom: validity?.begins ?? .min,
      validUntil: validity?.ends ?? .max)
  }

  /// Between requests, but not among the idle ones. False: it is of no further use.
  func rest(with owner: any UpstreamSessionOwner) -> Bool {
    guard isUsable, !pool.isRetired, idleTime > 0 else { return false }
    hand(to: owner)
    setReading(true)
    context.deadlines.schedule(self, at: context.loop.now + idleTime)
    return true
  }
}
