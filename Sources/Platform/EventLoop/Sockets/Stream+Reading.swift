internal import CLibuv
internal import Glibc

extension Stream {
  package func startReading() {
    guard !input.isReading, isUsable, !input.hasEnded else { return }
    let status = uv_read_start(
      memory.raw,
      { handle, _, buffer in
        // The loop's only read buffer, see `readBufferSize`.
        guard let readBuffer = handle?.pointee.loop.pointee.data else { return }
        // Without a buffer, libuv does not read. The socket stays readable, and the next turn tries again.
        var mayRead = false
        withOwner(handle?.pointee.data, as: Stream.self) {
          mayRead = $0.beginRead(LoopTurn.memory(behind: readBuffer))
        }
        buffer?.pointee =
          mayRead
          ? uv_buf_t(base: readBuffer.assumingMemoryBound(to: CChar.self), len: readBufferSize)
          : uv_buf_t(base: nil, len: 0)
      },
      { handle, count, buffer in
        withOwner(handle?.pointee.data, as: Stream.self) { $0.didRead(count, buffer?.pointee.base) }
      })
    if status == 0 {
      input.isReading = true
    } else {
      failLater(UVError(operation: "uv_read_start", status: status))
    }
  }

  /// Stops reading. Unread bytes wait in the kernel. Idempotent.
  package func stopReading() {
    guard input.isReading else { return }
    input.isReading = false
    uv_read_stop(memory.raw)
  }

  /// Begins this stream's step of the loop, and returns whether the stream may read now.
  @inline(__always)
  private func beginRead(_ turn: UnsafeMutablePointer<LoopTurn>) -> Bool {
    turn.pointee.begin(step)
    var served = input.round
    defer { input.round = served }
    return turn.pointee.admits(&served)
  }

  @inline(__always)
  private func didRead(_ count: Int, _ base: UnsafeMutablePointer<CChar>?) {
    if count > 0, let base {
      let bytes = UnsafeBufferPointer(
        start: UnsafeRawPointer(base).assumingMemoryBound(to: UInt8.self), count: count)
      delegate?.stream(self, didRead: bytes.span)
      if wipesInput { explicit_bzero(base, count) }
    } else if count < 0, count != Int(UV_ENOBUFS.rawValue) {
      didStopReading(CInt(truncatingIfNeeded: count))
    }  // 0 means EAGAIN; ENOBUFS means that `beginRead` refused
  }

  private func didStopReading(_ status: CInt) {
    guard status == UV_EOF.rawValue else { return failNow(UVError(operation: "read", status: status)) }
    stopReading()
    input.hasEnded = true
    delegate?.streamDidEnd(self)
  }
}
