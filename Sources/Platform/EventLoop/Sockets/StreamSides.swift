internal import CLibuv

/// The reading side of a stream.
struct StreamInput {
  /// The round of the loop in which the stream was read the last time.
  var round: UInt64 = 0
  var isReading = false
  /// Bytes that come are a secret: nothing of them stays in the loop's buffer.
  var isSecret = false
  /// The peer has said that it sends nothing more.
  var hasEnded = false
}

/// The writing side of a stream: bytes that the kernel has not taken, and how far the side is open.
struct StreamOutput: ~Copyable {
  enum Phase: Equatable {
    case open
    /// Half-closed once all is out.
    case shutDown
    /// The stream is closed once all is out.
    case closing
    /// A write has failed; the peer's bytes are still read.
    case failed
  }

  var phase = Phase.open
  /// Bytes for the next write.
  var pending = WriteBuffer()
  /// Bytes of the write that is under way.
  private var inFlight = WriteBuffer()
  private(set) var isWriting = false
  /// See `Stream.readsOnAfterFailedWrite`.
  var outlivesFailedWrite = false
  private var memory: UnsafeMutablePointer<uv_write_t>?

  /// The one request of libuv's that all writes use, one after the other. Allocated with the first.
  var request: UnsafeMutablePointer<uv_write_t> {
    mutating get {
      let request = memory ?? .allocate(capacity: 1)
      memory = request
      return request
    }
  }

  /// What is pending is under way. Returns its bytes, which stay until `endWrite`.
  mutating func beginWrite() -> UnsafeRawBufferPointer {
    swap(&pending, &inFlight)
    isWriting = true
    return inFlight.bytes
  }

  mutating func endWrite() {
    isWriting = false
    inFlight.removeAll()
  }

  deinit { memory?.deallocate() }
}
