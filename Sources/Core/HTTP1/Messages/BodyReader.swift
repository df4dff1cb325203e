/// Takes a body apart, piece by piece, restartable at every byte. Holds no body bytes; of trailers it keeps the bytes.
/// After an error it is done.
package struct BodyReader: Sendable {
  package enum Step: Equatable, Sendable {
    /// All of the input is consumed; the body goes on.
    case needsMore
    /// These bytes of the input are body. Never empty.
    case data(Range<Int>)
    /// The body ended; the rest of the input, from `position`, belongs to what follows.
    case end
  }

  /// Whether the body has ended; true with its last bytes where its length is known, and for an empty body from the
  /// start.
  package private(set) var isComplete: Bool

  /// Trailer fields, once complete: ranges into `trailerBytes`. Those that may not be any, as they frame, route or
  /// authenticate, are not among them.
  package var trailers: [Field] { trailerSection?.fields ?? [] }
  package var trailerBytes: [UInt8] { trailerSection?.bytes ?? [] }
  /// `true` if some fields of the trailers were left out.
  package var hasDroppedTrailers: Bool { trailerSection?.hasDropped ?? false }

  /// Bytes of the trailers may be written over once the body is complete; what is read of `trailers` has been judged before.
  /// In their own place: a copy would leave behind what it was made to hide.
  package mutating func overwriteTrailers(_ body: (inout [UInt8]) -> Bool) -> Bool {
    guard var section = trailerSection.take() else { return true }
    defer { trailerSection = section }
    return body(&section.bytes)
  }

  private enum State: Sendable {
    case length(UInt64)
    case untilClose
    case chunkLine
    case chunkData(UInt64)
    /// The line end behind the data; `true` when its CR came.
    case chunkEnd(Bool)
    case trailersStart
    case trailersEnd
    case trailers
    case ended

    init(_ length: BodyLength) {
      switch length {
      case .none: self = .length(0)
      case .length(let count): self = .length(count)
      case .chunked: self = .chunkLine
      case .untilClose: self = .untilClose
      }
    }

    var isComplete: Bool {
      switch self {
      case .length(0), .ended: true
      case .length, .untilClose, .chunkLine, .chunkData, .chunkEnd, .trailersStart, .trailersEnd, .trailers: false
      }
    }
  }

  // The answer is asked for more often than there is another, and by those to whom the state is closed.
  private var state: State { didSet { isComplete = state.isComplete } }
  /// Limits of the trailers.
  private let limits: HeadLimits
  private var chunkLine = ChunkLine()
  /// nil as long as there are none, so that bodies without trailers allocate nothing.
  private var trailerSection: TrailerSection?

  package init(_ length: BodyLength, limits: HeadLimits = HeadLimits()) {
    self.limits = limits
    state = State(length)
    isComplete = state.isComplete
  }

  /// Begins in place, for the next body: nothing is left of the last one.
  package mutating func begin(_ length: BodyLength) {
    state = State(length)
    chunkLine = ChunkLine()
    if trailerSection != nil { trailerSection = nil }
  }

  /// Advances `position` within `input`. After `.end` it is not called again.
  package mutating func next(
    _ input: Span<UInt8>, position: inout Int
  ) throws(MessageError) -> Step {
    while true {
      switch state {
      case .length(0), .ended:
        state = .ended
        return .end

      case .untilClose:
        guard position < input.count else { return .needsMore }
        let start = position
        position = input.count
        return .data(start..<position)

      case .length(let remaining):
        guard let data = Self.take(remaining, input.count, &position) else { return .needsMore }
        state = .length(remaining &- UInt64(data.count))
        return .data(data)

      case .chunkData(let remaining):
        guard let data = Self.take(remaining, input.count, &position) else { return .needsMore }
        let rest = remaining &- UInt64(data.count)
        state = rest == 0 ? .chunkEnd(false) : .chunkData(rest)
        return .data(data)

      case .chunkEnd(let hasReturn):
        guard position < input.count else { return .needsMore }
        guard input[position] == (hasReturn ? Byte.lineFeed : Byte.carriageReturn) else {
          throw MessageError(.badChunkEnd)
        }
        position &+= 1
        state = hasReturn ? .chunkLine : .chunkEnd(true)

      case .chunkLine:
        guard let size = try chunkLine.next(input, &position) else { return .needsMore }
        state = size == 0 ? .trailersStart : .chunkData(size)

      case .trailersStart:
        guard position < input.count else { return .needsMore }
        if input[position] == Byte.carriageReturn {
          position &+= 1
          state = .trailersEnd
        } else {
          trailerSection = TrailerSection(limits: limits)
          state = .trailers
        }

      case .trailersEnd:
        guard position < input.count else { return .needsMore }
        guard input[position] == Byte.lineFeed else { throw MessageError(.bareCarriageReturn) }
        position &+= 1
        state = .ended

      case .trailers:
        guard try trailerSection?.next(input, &position) ?? true else { return .needsMore }
        state = .ended
      }
    }
  }

  /// The peer closed. Fine when complete or `untilClose`, else `closedInBody`.
  package mutating func inputEnded() throws(MessageError) {
    switch state {
    case .length(0), .untilClose, .ended: state = .ended
    case .length, .chunkLine, .chunkData, .chunkEnd, .trailersStart, .trailersEnd, .trailers:
      throw MessageError(.closedInBody)
    }
  }

  /// - Returns: as many bytes as there are and belong to the body; nil for none.
  @inline(__always)
  private static func take(_ remaining: UInt64, _ count: Int, _ position: inout Int) -> Range<Int>? {
    guard position < count else { return nil }
    let start = position
    let taken = Swift.min(remaining, UInt64(truncatingIfNeeded: count &- start))
    position = start &+ Int(truncatingIfNeeded: taken)
    return start..<position
  }
}
