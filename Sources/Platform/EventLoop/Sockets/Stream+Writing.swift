internal import CLibuv
internal import Glibc

extension Stream {
  /// Writes immediately as far as possible, and queues a copy of the rest. Does nothing if the stream has failed, is
  /// shut down or is closed.
  package func write(_ bytes: Span<UInt8>) {
    bytes.withUnsafeBytes { write($0, UnsafeRawBufferPointer(start: nil, count: 0)) }
  }

  /// Writes two pieces with one system call.
  package func write(_ first: Span<UInt8>, _ second: Span<UInt8>) {
    first.withUnsafeBytes { first in
      second.withUnsafeBytes { second in
        if first.isEmpty { write(second, first) } else { write(first, second) }
      }
    }
  }

  /// Collects bytes for `writeGathered`. Call `writeGathered` within the same callback of the loop. Until then, no
  /// other stream may write.
  package func gather(_ bytes: Span<UInt8>) {
    bytes.withUnsafeBytes { bytes in
      if loop.gather(bytes) { return }
      writeGathered()
      if !loop.gather(bytes) { write(bytes, UnsafeRawBufferPointer(start: nil, count: 0)) }
    }
  }

  package func writeGathered() {
    write(loop.gathered, UnsafeRawBufferPointer(start: nil, count: 0))
    loop.discardGathered()
  }

  /// Number of bytes that the kernel has not accepted yet.
  package var queuedBytes: Int {
    guard !isClosed, hasQueue else { return 0 }
    return pending.count + (output.isWriting ? uv_stream_get_write_queue_size(memory.raw) : 0)
  }

  /// Ends the output after all queued bytes are written (half-close). Idempotent.
  package func shutdown() {
    guard isWritable else { return }
    output.phase = .shutDown
    if !hasQueue { halfClose() }
  }

  /// Whether output waits: bytes, or a `shutdown()` before the stream is connected.
  var hasQueue: Bool {
    output.isWriting || state == .connecting && (output.phase == .shutDown || !pending.isEmpty)
  }

  /// `false` if `write` would do nothing.
  package var isWritable: Bool { isUsable && output.phase == .open }

  private func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) {
    guard isWritable, !first.isEmpty else { return }
    var sent = 0
    if !hasQueue, state == .open {
      let status = tryWrite(first, second)
      if status >= 0 {
        sent = Int(status)
      } else if status != UV_EAGAIN.rawValue {
        return failWriting(UVError(operation: "write", status: status), isCallback: false)
      }
      if sent == first.count + second.count { return }
    }
    pending.append(UnsafeRawBufferPointer(rebasing: first.dropFirst(sent)))
    pending.append(UnsafeRawBufferPointer(rebasing: second.dropFirst(max(0, sent - first.count))))
    writePending()
  }

  /// Writes as much as the kernel accepts now, and returns the number of bytes, or a negative libuv status.
  private func tryWrite(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> CInt {
    // Cheaper than uv_write, which costs an allocation and two more epoll_ctl calls.
    var pieces = (uv_buf_t(first), uv_buf_t(second))
    return withUnsafePointer(to: &pieces) { pieces in
      uv_try_write(
        memory.raw, UnsafeRawPointer(pieces).assumingMemoryBound(to: uv_buf_t.self), second.isEmpty ? 1 : 2)
    }
  }

  /// Begins to write `pending`, unless a write is in progress.
  func writePending() {
    guard !output.isWriting, state == .open, output.phase != .failed else { return }
    guard !pending.isEmpty else { return didDrain(notifies: false) }
    let request = writeRequest ?? .allocate(capacity: 1)
    writeRequest = request
    request.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    swap(&pending, &inFlight)
    output.isWriting = true
    var piece = uv_buf_t(inFlight.bytes)
    let status = uv_write(request, memory.raw, &piece, 1) { request, status in
      withOwner(request?.pointee.data, as: Stream.self) { $0.didWrite(status) }
    }
    if status != 0 {
      didFinishWriting()
      failWriting(UVError(operation: "uv_write", status: status), isCallback: false)
    }
  }

  private func didWrite(_ status: CInt) {
    didFinishWriting()
    guard !isClosed else { return }  // ECANCELED
    loop.turn.begin(step)
    if status != 0 { return failWriting(UVError(operation: "write", status: status), isCallback: true) }
    if pending.isEmpty { didDrain(notifies: true) } else { writePending() }
  }

  private func failWriting(_ error: UVError, isCallback: Bool) {
    if keepsReadingAfterFailedWrite, !input.hasEnded, output.phase != .closing {
      output.phase = .failed
      pending.removeAll()
    } else if isCallback {
      failNow(error)
    } else {
      failLater(error)
    }
  }

  private func didFinishWriting() {
    output.isWriting = false
    inFlight.removeAll()
  }

  private func didDrain(notifies: Bool) {
    if output.phase == .shutDown { halfClose() }
    if output.phase == .closing { return close() }
    if notifies, state != .failed { delegate?.streamDidDrain(self) }
  }

  private func halfClose() {
    // uv_shutdown would wait until the socket is writable on a later turn.
    if Glibc.shutdown(descriptor, CInt(SHUT_WR)) != 0 {
      failLater(UVError(operation: "shutdown", status: -errno))
    }
  }
}

extension uv_buf_t {
  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    // Mutable only in type: libuv does not write to the memory.
    self.init(
      base: UnsafeMutableRawPointer(mutating: bytes.baseAddress)?.assumingMemoryBound(to: CChar.self),
      len: bytes.count)
  }
}
