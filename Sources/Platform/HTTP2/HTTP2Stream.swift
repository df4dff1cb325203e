/// One stream, and the body that waits to be sent.
final class HTTP2Stream {
  /// Whether the owner knows the stream: a client has sent the head, a server has received it.
  var isKnown: Bool
  var hasFinalHead = false
  var hasReceivedEnd = false
  var hasSentHead = false
  var hasSentEnd = false
  /// Whether this end has reset the stream, because of what the peer sent.
  var isViolated = false

  /// Whether nghttp2 waits for `nghttp2_session_resume_data`.
  var isDeferred = false
  /// Whether the owner has ended the body.
  private(set) var isEnded = false
  /// Names and values of the trailers, one after the other.
  private(set) var trailers: [UInt8] = []
  /// The lengths of each trailer.
  private(set) var trailerLengths: [(name: Int, value: Int)] = []
  private var queue: [UInt8] = []
  /// Number of bytes at the beginning of `queue` that were sent.
  private var sent = 0

  init(isKnown: Bool) { self.isKnown = isKnown }

  var queuedBytes: Int { queue.count - sent }

  func write(_ bytes: Span<UInt8>) {
    if sent > 0, sent >= queue.count / 2 {
      queue.removeFirst(sent)
      sent = 0
    }
    bytes.withUnsafeBufferPointer { queue.append(contentsOf: $0) }
  }

  func end(trailers: [HTTP2Field]) {
    isEnded = true
    if trailers.isEmpty { return }
    self.trailers.reserveCapacity(trailers.reduce(0) { $0 &+ $1.name.count &+ $1.value.count })
    for field in trailers {
      self.trailers += field.name
      self.trailers += field.value
      trailerLengths.append((field.name.count, field.value.count))
    }
  }

  /// Moves queued bytes to `buffer`, and returns their number.
  func take(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(buffer.count, queuedBytes)
    queue.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[sent..<sent + count])) }
    sent += count
    if sent == queue.count {
      // A stream that waits for its user keeps a small buffer only.
      queue.removeAll(keepingCapacity: queue.capacity <= 16_384)
      sent = 0
    }
    return count
  }
}
