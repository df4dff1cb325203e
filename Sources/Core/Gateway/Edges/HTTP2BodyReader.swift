internal import HTTP1

/// Reads the body of a message on one stream of HTTP/2, and checks its length (RFC 9113 section 8.1.1). The connection has
/// already removed the frames.
struct HTTP2BodyReader: Sendable {
  /// Whether the peer has ended its message.
  private(set) var hasEnded = false
  private(set) var isComplete = false
  /// How many bytes of a body with Content-Length have not arrived yet. `nil` for other bodies.
  private var missing: UInt64?

  /// Call this when the stream has ended, after the last data.
  @inline(__always)
  mutating func end() { hasEnded = true }

  @inline(__always)
  mutating func begin(_ length: BodyLength) {
    isComplete = length == .none
    missing = if case .length(let count) = length { count } else { nil }
  }

  /// Ends the body, also if more of it may arrive.
  @inline(__always)
  mutating func complete() { isComplete = true }

  /// Returns the rest of the input as data of the body, or its end. Throws if the length is not as declared.
  @inline(__always)
  mutating func read(_ input: Span<UInt8>, position: inout Int) throws(MessageError) -> BodyReader.Step {
    let range = position..<input.count
    guard range.isEmpty else {
      if let missing {
        guard UInt64(range.count) <= missing else { throw MessageError(.badContentLength) }
        self.missing = missing &- UInt64(range.count)
      }
      position = input.count
      return .data(range)
    }
    guard hasEnded else { return .needsMore }
    guard missing ?? 0 == 0 else { throw MessageError(.closedInBody) }
    isComplete = true
    return .end
  }
}
