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

/// The writing side of a stream: how far it is open. Copyable, so that a look at it is no access that has to be checked.
struct StreamOutput {
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
  var isWriting = false
  /// See `Stream.readsOnAfterFailedWrite`.
  var outlivesFailedWrite = false
}
