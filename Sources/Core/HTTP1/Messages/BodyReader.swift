/// Parses a message body as it arrives. Do not use a reader again after an error.
package struct BodyReader: Sendable {
  package enum Step: Equatable, Sendable {
    /// The input is consumed, and more of the body must follow.
    case needsMore
    /// This range of the input contains body data. The range is never empty.
    case data(Range<Int>)
    /// The body ended. The input from `position` on belongs to the next message.
    case end
  }

  /// Whether the body has ended.
  package private(set) var isComplete: Bool

  /// Returns the trailers of a complete body, and keeps no copy. `nil` if there are none.
  package mutating func takeTrailers() -> Trailers? { trailerSection.take()?.trailers }

  private enum State: Sendable {
    case length(UInt64)
    case untilClose
    case chunkLine
    case chunkData(UInt64)
    /// The CR LF after a chunk's data is expected. The value is `true` once the CR was read.
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

  // Stored, because callers read it more often than it changes.
  private var state: State { didSet { isComplete = state.isComplete } }
  private let limits: HeadLimits
  private var chunkLine = ChunkLine()
  /// `nil` until trailers arrive.
  private var trailerSection: TrailerSection?

  package init(_ length: BodyLength, limits: HeadLimits = HeadLimits()) {
    self.limits = limits
    state = State(length)
    isComplete = state.isComplete
  }

  package mutating func begin(_ length: BodyLength) {
    state = State(length)
    chunkLine = ChunkLine()
    if trailerSection != nil { trailerSection = nil }
  }

  /// Parses the input from `position` on, and advances `position`. Do not call this again after `.end`.
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
        guard let data = Self.piece(remaining, input.count, &position) else { return .needsMore }
        state = .length(remaining &- UInt64(data.count))
        return .data(data)

      case .chunkData(let remaining):
        guard let data = Self.piece(remaining, input.count, &position) else { return .needsMore }
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

  /// Ends the body after the peer has closed the connection. Throws `closedInBody` if the body is incomplete.
  package mutating func inputEnded() throws(MessageError) {
    switch state {
    case .length(0), .untilClose, .ended: state = .ended
    case .length, .chunkLine, .chunkData, .chunkEnd, .trailersStart, .trailersEnd, .trailers:
      throw MessageError(.closedInBody)
    }
  }

  /// Returns the next range of body data, with at most `remaining` bytes; `nil` at the end of the input.
  @inline(__always)
  private static func piece(_ remaining: UInt64, _ count: Int, _ position: inout Int) -> Range<Int>? {
    guard position < count else { return nil }
    let start = position
    let taken = Swift.min(remaining, UInt64(truncatingIfNeeded: count &- start))
    position = start &+ Int(truncatingIfNeeded: taken)
    return start..<position
  }
}
