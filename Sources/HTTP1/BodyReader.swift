/// Takes a body apart, piece by piece, restartable at every byte. Holds no body bytes; of trailers it keeps the bytes.
package struct BodyReader: Sendable {
  package enum Step: Equatable, Sendable {
    /// All of the input is consumed; the body goes on.
    case needsMore
    /// These bytes of the input are body.
    case data(Range<Int>)
    /// The body ended; the rest of the input, from `position`, belongs to what follows.
    case end
  }

  package private(set) var isComplete = false
  /// Trailer fields, once complete: ranges into `trailerBytes`. Framing, routing and credential names are refused.
  package private(set) var trailers: [Field] = []
  package private(set) var trailerBytes: [UInt8] = []

  package init(_ length: BodyLength) {}

  /// Advances `position` within `input`. After `.end` it is not called again.
  package mutating func next(
    _ input: Span<UInt8>, position: inout Int
  ) throws(MessageError) -> Step { fatalError() }

  /// The peer closed. Fine when complete or `untilClose`, else `closedInBody`.
  package mutating func inputEnded() throws(MessageError) { fatalError() }
}
