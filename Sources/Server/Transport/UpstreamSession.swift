package import Credentials
package import EventLoop
internal import Gateway
internal import HTTP1
internal import Log
package import Policy
internal import System
package import TLS

/// One connection to an upstream: a TCP stream with TLS above it, or without for a plain loopback upstream.
package final class UpstreamSession: Timed, StreamDelegate {
  let destination: UpstreamPool
  private let epoch: UInt64
  let stream: EventLoop.Stream
  /// Let go when the session is, and when its exchange ends.
  private(set) var owner: (any UpstreamSessionOwner)?
  let context: WorkerContext
  private var handshake: Handshake?
  private var isShakingHands = false
  private var verified: VerifiedSession?
  private var isVerified = false
  /// What the handshake came to; nil: there was none.
  private(set) var proof: SessionProof?
  private(set) var isClosed = false
  private var isReading = false
  /// The upstream has said that it is done.
  var isEnding = false
  /// Somebody has logged in on it, who alone may go on with it.
  private var isOfOneClient = false
  /// A credential has gone out on it.
  private(set) var hasCarriedCredential = false
  private var writeFailed = false
  /// Its buffers go and come by themselves, or are kept.
  private var hasRested = false

  /// Only answers to a flood of TLS messages grow like this.
  private static let maximumQueue = 4 << 20
  private static let nothing: [UInt8] = []
  /// As long as a worker has no more of them their buffers are kept: half a megabyte saves a fortieth of each request's steps.
  private static let fewSessions = 16

  /// `stream` is connected.
  init(stream: EventLoop.Stream, destination: UpstreamPool, context: WorkerContext) {
    self.stream = stream
    self.destination = destination
    self.context = context
    epoch = destination.epoch
    super.init()
    stream.delegate = self
    stream.readsOnAfterFailedWrite = true
    destination.opened()
    context.upstreamFlood.rise()
  }

  /// TLS, if it is asked for; the owner hears how it went.
  func begin(timeout: UInt64) {
    setReading(true)
    guard let client = destination.context else {
      stream.step = .upstream
      owner?.sessionIsReady(self)
      return
    }
    context.deadlines.schedule(self, at: context.loop.now + timeout)
    do throws(TLSError) {
      hasRested = context.upstreamFlood.count <= UpstreamSession.fewSessions
      handshake = try client.handshake(
        sink: StreamSink(stream), now: context.moment(), keepsBuffers: hasRested)
      isShakingHands = true
      stream.step = .handshake
    } catch {
      return fail(error)
    }
    advance(UpstreamSession.nothing.span)
  }

  package override func deadlinePassed() {
    if isShakingHands {
      fail(.handshakeTimeout, detail: "no end of the handshake")
    } else {
      // Idle for too long.
      destination.forget(self)
      close()
    }
  }

  private func advance(_ input: Span<UInt8>) {
    do throws(TLSError) {
      guard try handshake!.advance(input) == .finished else { return }
      context.deadlines.cancel(self)
      isShakingHands = false
      stream.step = .upstream
      guard let finished = handshake.take() else { return }
      let session = try finished.verified(now: context.moment())
      // A mismatch that is only reported is an event each time; advice is given once.
      if let remark = session.proof.remark, session.proof.pins == .reported || !destination.hasAdvised {
        destination.hasAdvised = true
        context.journal.event(
          .warning, "pin", ("upstream", destination.upstream.origin.description), ("detail", remark))
      }
      proof = session.proof
      verified = consume session
      isVerified = true
      // What came with the end of the handshake: tickets, if anything. Nobody has asked for a byte yet (T26).
      var plaintext: [UInt8] = []
      if try verified!.decrypt(UpstreamSession.nothing.span, into: &plaintext) == .closed { isEnding = true }
      guard plaintext.isEmpty, !isEnding else {
        // RFC 9113 section 3.4: a server's SETTINGS come first.
        let isHTTP2 = plaintext.count > 3 && plaintext[0] == 0 && plaintext[3] == 4
        return fail(
          .handshakeFailed,
          detail: isHTTP2
            ? "the upstream speaks HTTP/2 without being asked, and bearerd speaks HTTP/1.1 to upstreams"
            : "the upstream spoke, or closed, before it was asked")
      }
    } catch {
      return fail(error)
    }
    owner?.sessionIsReady(self)
  }

  /// The head with the credential of `grant` (`isAsked`: as the upstream wants), or with none; then what of the body fits.
  package func send(
    head: Span<UInt8>, grant: Int?, cookies: JarTicket?, caller: Caller?, isAsked: Bool, body: Span<UInt8>,
    keyring: Keyring
  ) throws(Denied) -> ChallengeAttempt? {
    if let grant {
      guard isVerified, let caller else { throw Denied.noProof }
      let attempt = try keyring.authorize(
        grant: grant, head: head, body: body, caller: caller, now: Clock.now.seconds, isAsked: isAsked,
        cookies: cookies, over: &verified!)
      if attempt?.isBare != true { hasCarriedCredential = true }
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

  /// For what brings a door of its own.
  package func withVerified(_ write: (inout VerifiedSession) throws(Denied) -> Void) throws(Denied) {
    guard isVerified else { throw Denied.noProof }
    try write(&verified!)
  }

  package func send(_ bytes: Span<UInt8>) {
    guard !isClosed, !writeFailed, bytes.count > 0 else { return }
    if isVerified {
      do throws(TLSError) { try verified!.write(bytes) } catch { writeFailed = true }
    } else if destination.context == nil {
      stream.write(bytes)
    }
  }

  package func setReading(_ wanted: Bool) {
    guard wanted != isReading, !isClosed else { return }
    isReading = wanted
    if wanted { stream.startReading() } else { stream.stopReading() }
  }

  var isOfUse: Bool { !isEnding && !isClosed && !writeFailed && stream.isWritable && stream.queuedBytes == 0 }

  /// Back to the others of its identity, or closed if it is of no further use.
  package func release() {
    owner = nil
    guard isOfUse, epoch == destination.epoch else { return close() }
    let time = destination.keep(self, limit: context.idleConnections.count, time: context.idleConnections.time)
    guard let time else { return close() }
    // Whatever comes with a handshake has come by now.
    if !hasRested, isVerified { verified!.rest() }
    hasRested = true
    setReading(true)
    context.deadlines.schedule(self, at: context.loop.now + time)
  }

  package var isDedicated: Bool { isOfOneClient }
  package func dedicate() { isOfOneClient = true }

  /// `owner` hears of it from now on.
  package func hand(to owner: any UpstreamSessionOwner) { self.owner = owner }

  /// Taken from the idle ones.
  package func taken(by owner: any UpstreamSessionOwner) {
    self.owner = owner
    context.deadlines.schedule(self, at: .max)
  }

  /// Nothing more goes up. Over TLS close_notify says so, and the stream stays open for what comes down.
  package func shutdown() {
    if isVerified { verified!.close() } else { stream.shutdown() }
  }

  package func close() {
    guard !isClosed else { return }
    if isVerified { verified!.close() }
    leave()
    stream.close()
  }

  /// Without close_notify: what was sent is not the whole.
  package func reset() {
    guard !isClosed else { return }
    leave()
    stream.reset()
  }

  private func leave() {
    isClosed = true
    destination.closed()
    context.upstreamFlood.fall()
    owner = nil
    context.deadlines.cancel(self)
    verified = nil
    isVerified = false
    handshake = nil
    isShakingHands = false
  }

  // MARK: what the stream says

  package func streamDidConnect(_ stream: EventLoop.Stream) {}

  package func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    if isShakingHands { return advance(bytes) }
    // Nothing counts that comes behind its end (RFC 8446 section 6.1).
    if isEnding { return }
    guard isVerified else {
      if let owner { owner.session(self, didReceive: bytes) } else { discard() }
      return
    }
    var plaintext = context.takePlaintext()
    do throws(TLSError) {
      if try verified!.decrypt(bytes, into: &plaintext) == .closed { isEnding = true }
    } catch {
      context.giveBack(&plaintext, wiped: destination.answersSecrets)
      return fail(.upstreamClosed, detail: error.description)
    }
    take(plaintext.span)
    context.giveBack(&plaintext, wiped: destination.answersSecrets)
    if isEnding, !isClosed { end(isClean: true) }
  }

  private func take(_ plaintext: Span<UInt8>) {
    if stream.queuedBytes > UpstreamSession.maximumQueue {
      fail(.upstreamMalformed, detail: "the upstream makes us answer and does not read")
    } else if !plaintext.isEmpty {
      if let owner { owner.session(self, didReceive: plaintext) } else { discard() }
    }
  }

  package func streamDidEnd(_ stream: EventLoop.Stream) {
    if isShakingHands {
      fail(handshake!.inputEnded())
    } else if !isEnding {
      // Without TLS the end of the stream is all that there is to say.
      end(isClean: destination.context == nil)
    }
  }

  package func streamDidDrain(_ stream: EventLoop.Stream) { owner?.sessionDidDrain(self) }

  package func stream(_ stream: EventLoop.Stream, didFail error: UVError) {
    if isShakingHands { return fail(.handshakeFailed, detail: error.description) }
    fail(.upstreamClosed, detail: error.description)
  }
}
