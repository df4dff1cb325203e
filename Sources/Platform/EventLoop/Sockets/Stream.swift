internal import CLibuv
internal import Glibc

/// A connected TCP or Unix stream. Must be closed.
package final class Stream {
  enum State {
    case connecting, open
    /// A failure has occurred, and the delegate knows of it or will be notified on the next turn.
    case failed
    case closed
  }

  /// The receiver of events, retained until the stream is closed.
  package var delegate: (any StreamDelegate)?
  package let isUnix: Bool

  let memory: HandleMemory<uv_stream_t>
  unowned let loop: Loop
  private(set) var state = State.open
  var input = StreamInput()
  var output = StreamOutput()
  /// Bytes that wait until the connection is open and no other write is in progress.
  var pending = WriteBuffer()
  var inFlight = WriteBuffer()
  /// The libuv request of all writes; `nil` before the first one.
  var writeRequest: UnsafeMutablePointer<uv_write_t>?
  /// The addresses that accept(2) and the listener have reported; `nil` if the kernel must be asked.
  var knownAddresses: (peer: SocketAddress?, local: SocketAddress?)

  /// The kind of work that the log names if this stream blocks the loop for long.
  package var step = LoopStep.connection
  /// Whether the input is secret. If so, the loop's read buffer is wiped after each read.
  package var wipesInput = false
  /// Whether reading continues after a failed write, so that the delegate receives the remaining input.
  package var keepsReadingAfterFailedWrite = false

  /// Begins to connect. The delegate is notified on a later turn of the loop, even of an immediate failure.
  package init(loop: Loop, connectingTo address: SocketAddress, delegate: any StreamDelegate) throws(UVError) {
    self.loop = loop
    self.delegate = delegate
    isUnix = false
    memory = try Self.handle(on: loop, isUnix: false)
    memory.retain(self)
    state = .connecting
    uv_tcp_nodelay(tcp, 1)  // libuv applies this once the socket exists
    connect(to: address)
  }

  /// Adopts a connected socket. If this throws, the caller still owns the descriptor.
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

  /// Closes the stream and discards queued bytes. Idempotent. No delegate call follows.
  package func close() {
    guard !isClosed else { return }
    end()
    memory.close()
  }

  /// Closes a TCP stream with RST. Idempotent. No delegate call follows.
  package func reset() {
    guard !isClosed else { return }
    end()
    if isUnix { memory.close() } else { memory.closeWithReset() }
  }

  /// Closes the stream after all queued bytes are written, or when a write fails. No delegate call follows. Call
  /// `close()` at a deadline, because a peer that does not read delays the close forever.
  package func closeAfterFlush() {
    // Unread input turns the close of a TCP connection into a reset, which may overtake the last bytes written (RFC
    // 9112 section 9.6). To prevent that, callers use `shutdown()`, continue to read for a while, and then close.
    guard !isClosed else { return }
    guard hasQueue, state != .failed else { return close() }
    stopReading()
    delegate = nil
    output.phase = .closing
  }

  var isClosed: Bool { state == .closed }

  var isUsable: Bool { state == .connecting || state == .open }

  /// The local address. `nil` for a Unix stream or a closed stream.
  package var localAddress: SocketAddress? {
    guard !isUnix, !isClosed else { return nil }
    return knownAddresses.local ?? SocketAddress { uv_tcp_getsockname(tcp, $0, $1) }
  }

  /// The address of the peer; `nil` for a Unix or closed stream, or an outgoing connection that the peer has reset.
  package var peerAddress: SocketAddress? {
    guard !isUnix, !isClosed else { return nil }
    return knownAddresses.peer ?? SocketAddress { uv_tcp_getpeername(tcp, $0, $1) }
  }

  /// The descriptor, for socket options such as `SO_PEERCRED`. Do not close it. -1 if there is none.
  package var descriptor: Int32 {
    var descriptor: CInt = -1
    guard !isClosed, uv_fileno(memory.base, &descriptor) == 0 else { return -1 }
    return descriptor
  }

  // MARK: failing

  /// Marks the stream as failed, and notifies the delegate on a later turn.
  func failLater(_ error: UVError) {
    // For failures during a call on the stream.
    if markFailed() { loop.onNextTurn { self.report(error) } }
  }

  /// Marks the stream as failed, and notifies the delegate immediately.
  func failNow(_ error: UVError) {
    // For failures during a libuv callback.
    if markFailed() { report(error) }
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

  // MARK: the handle

  private static func handle(on loop: Loop, isUnix: Bool) throws(UVError) -> HandleMemory<uv_stream_t> {
    let memory = HandleMemory<uv_stream_t>(
      byteCount: isUnix ? MemoryLayout<uv_pipe_t>.size : MemoryLayout<uv_tcp_t>.size)
    let raw = UnsafeMutableRawPointer(memory.raw)
    let status =
      isUnix
      ? uv_pipe_init(loop.raw, raw.assumingMemoryBound(to: uv_pipe_t.self), 0)
      : uv_tcp_init(loop.raw, raw.assumingMemoryBound(to: uv_tcp_t.self))
    try memory.check(status, isUnix ? "uv_pipe_init" : "uv_tcp_init")
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
    delegate = nil
    pending.removeAll()
  }
}
