struct StreamInput {
  /// The loop's round in which the stream was last read.
  var round: UInt64 = 0
  var isReading = false
  var hasEnded = false
}

struct StreamOutput {
  enum Phase: Equatable {
    case open
    /// The output ends after all bytes are written (half-close).
    case shutDown
    /// The stream is closed after all bytes are written.
    case closing
    /// A write has failed, and reading continues.
    case failed
  }

  var phase = Phase.open
  var isWriting = false
}
