internal import CLibuv
internal import Glibc

/// A connected TCP or unix stream. To be closed.
///
/// `Stream+Writing.swift` holds its output, `Stream+Reading.swift` its input.
package final class Stream {
  enum State {
    case connecting, open
    /// The delegate has heard of it, or will on the next turn of the loop.
    case failed
    case closed
  }

  /// Kept alive until the stream is closed: the stream's handle keeps the stream, and the stream its owner, so that
  /// a callback finds both without asking a weak reference.
  package var delegate: (any StreamDelegate)? {
    get { listener }
    set { listener = newValue }
  }
  package let isUnix: Bool

  // Visible here alone, so that the compiler can prove each access to it alone.
  var listener: (any StreamDelegate)?
  let memory: HandleMemory<uv_stream_t>
  unowned let loop: Loop
  private(set) var state = State.open
  var input = StreamInput()
  var output = StreamOutput()
  /// Bytes for the next write.
  var pending = WriteBuffer()
  /// Bytes of the write that is under way.
  var inFlight = WriteBuffer()
  /// The one request of libuv's that all writes use, one after the other; nil: there was none.
  var writeRequest: UnsafeMutablePointer<uv_write_t>?
  /// Known from the start; nil: to be asked for.
  private var known: (peer: SocketAddress?, local: SocketAddress?)

  /// The name of its work in the log, when that takes long.
  package var step: LoopStep {
    get { loopStep }
    set { loopStep = newValue }
  }
  var loopStep = LoopStep.connection
  /// Bytes that come are a secret: nothing of them stays in the loop's buffer.
  package var wipesInput: Bool {
    get { input.isSecret }
    set { input.isSecret = newValue }
  }
  /// After a failed write, what the peer sent before is still read, and its end or a read's failure is what the delegate
  /// hears of: a server that refuses an upload answers, closes, and resets what is still on its way to it.
  package var readsOnAfterFailedWrite: Bool {
    get { output.outlivesFailedWrite }
    set { output.outlivesFailedWrite = newValue }
  }

  /// Begins to connect; the delegate hears of it. What fails at once (no route, no descriptor left) is heard of too,
  /// on a later turn of the loop.
  package init(loop: Loop, connectingTo address: SocketAddress, delegate: any StreamDelegate) throws(UVError) {
    self.loop = loop
    listener = delegate
    isUnix = false
    memory = try Self.handle(on: loop, isUnix: false)
    memory.retain(self)
    state = .connecting
    uv_tcp_nodelay(tcp, 1)  // noted by libuv, set as soon as there is a socket
    connect(to: address)
  }

  /// Takes over a connected socket. If this throws, the descriptor is still the caller's.
  package init(loop: Loop, adopting descriptor: Int32, isUnix: Bool) throws(UVError) {
    self.loop = loop
    self.isUnix = isUnix
    memory = try Self.handle(on: loop, isUnix: isUnix)
    memory.retain(self)
    let status = isUnix ? uv_pipe_open(pipe, descriptor) : uv_tcp_open(tcp, descriptor)
    guard status == 0 else {
      close()
      throw UVError(operation: isUnix ? "uv_pipe_open" : "uv_tcp_open", status: status)
    }
  }

  deinit { writeRequest?.deallocate() }

  /// Drops what is queued. Idempotent. No delegate call follows.
  package func close() {
    guard !isClosed else { return }
    end()
    memory.close()
  }

  /// Closes with RST. Idempotent. No delegate call follows.
  package func reset() {
    guard !isClosed else { return }
    end()
    if isUnix { memory.close() } else { memory.closeWithReset() }
  }

  /// Closes once everything queued is out, or failed. Reading stops and no delegate call follows. A peer that takes
  /// nothing delays this for ever, so the caller keeps the stream, and a deadline for `close()`.
  ///
  /// Unread bytes of the peer's turn the end of a TCP connection into a reset, which may overtake what was
  /// just written (RFC 9112 section 9.6). Where that can be, `shutdown()`, read on for a while and close then.
  package func closeAfterFlush() {
    guard !isClosed else { return }
    guard hasQueue, state != .failed else { return close() }
    stopReading()
    delegate = nil
    output.phase = .closing
  }

  /// True from `close()`, `reset()`, or the end of `closeAfterFlush()`.
  package var isOver: Bool { isClosed }

  var isClosed: Bool { state == .closed }

  /// Neither failed nor closed.
  var isUsable: Bool { state == .connecting || state == .open }

  /// TCP only.
  package var localAddress: SocketAddress? {
    guard !isUnix, !isClosed else { return nil }
    return known.local ?? SocketAddress { uv_tcp_getsockname(tcp, $0, $1) }
  }

  /// TCP only; nil once the peer has reset the connection, unless it was accepted.
  package var peerAddress: SocketAddress? {
    guard !isUnix, !isClosed else { return nil }
    return known.peer ?? SocketAddress { uv_tcp_getpeername(tcp, $0, $1) }
  }

  /// Addresses that accept(2) and the listener know need not be asked of each connection.
  func setKnownAddresses(peer: SocketAddress?, local: SocketAddress?) {
    known = (peer, local)
  }

  /// For `SO_PEERCRED` and the like; not to be closed. -1 while there is none.
  package var descriptor: Int32 {
    var descriptor: CInt = -1
    guard !isClosed, uv_fileno(memory.base, &descriptor) == 0 else { return -1 }
    return descriptor
  }
}

// MARK: - Failing

extension Stream {
  /// For calls of the owner's: the delegate hears of it when they are over.
  func failLater(_ error: UVError) {
    guard markFailed() else { return }
    loop.onNextTurn { self.report(error) }
  }

  /// For callbacks of libuv's.
  func failNow(_ error: UVError) {
    guard markFailed() else { return }
    report(error)
  }

  private func markFailed() -> Bool {
    guard isUsable else { return false }
    stopReading()
    state = .failed
    pending.removeAll()
    return true
  }

  private func report(_ error: UVError) {
    guard !isClosed else { return }
    if output.phase == .closing { return close() }
    delegate?.stream(self, didFail: error)
  }
}

// MARK: - The handle

extension Stream {
  private static func handle(on loop: Loop, isUnix: Bool) throws(UVError) -> HandleMemory<uv_stream_t> {
    let memory = HandleMemory<uv_stream_t>(
      byteCount: isUnix ? MemoryLayout<uv_pipe_t>.size : MemoryLayout<uv_tcp_t>.size)
    let raw = UnsafeMutableRawPointer(memory.raw)
    let status =
      isUnix
      ? uv_pipe_init(loop.raw, raw.assumingMemoryBound(to: uv_pipe_t.self), 0)
      : uv_tcp_init(loop.raw, raw.assumingMemoryBound(to: uv_tcp_t.self))
    guard status == 0 else {
      memory.discard()
      throw UVError(operation: isUnix ? "uv_pipe_init" : "uv_tcp_init", status: status)
    }
    return memory
  }

  private var tcp: UnsafeMutablePointer<uv_tcp_t> {
    UnsafeMutableRawPointer(memory.raw).assumingMemoryBound(to: uv_tcp_t.self)
  }

  private var pipe: UnsafeMutablePointer<uv_pipe_t> {
    UnsafeMutableRawPointer(memory.raw).assumingMemoryBound(to: uv_pipe_t.self)
  }

  private func connect(to address: SocketAddress) {
    let request = UnsafeMutablePointer<uv_connect_t>.allocate(capacity: 1)
    request.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    let status = address.withSockaddr { sockaddr, _ in
      uv_tcp_connect(request, tcp, sockaddr) { request, status in
        let stream = request?.pointee.data
        request?.deallocate()
        withOwner(stream, as: Stream.self) { $0.didConnect(status) }
      }
    }
    if status != 0 {
      request.deallocate()
      failLater(UVError(operation: "uv_tcp_connect", status: status))
    }
  }

  private func didConnect(_ status: CInt) {
    guard !isClosed else { return }  // ECANCELED: closed while connecting
    loop.turn.begin(step)
    if state == .connecting { state = .open }
    guard status == 0 else { return failNow(UVError(operation: "uv_tcp_connect", status: status)) }
    writePending()
    delegate?.streamDidConnect(self)
  }

  private func end() {
    state = .closed
    input.isReading = false
    listener = nil
    pending.removeAll()
  }
}
