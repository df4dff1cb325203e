internal import HTTP1
internal import Primitives

/// HTTP/1 on a connection to an upstream: reads the responses, and writes the body of the request (RFC 9112). The keyring's
/// encoder writes the head of the request, because it has the credential.
///
/// The `Relay` calls it with the bytes of the connection, and passes what it reads to the `Exchange`.
struct HTTP1UpstreamEdge: Sendable {
  enum Received {
    case nothing, bytes
    /// The connection has ended, or has bytes that are not part of the response that was read.
    case surplus
  }

  private var limits: HeadLimits
  private var repairs = true
  private var headReader: HeadReader
  private var body: BodyReader
  /// Whether the reader is within a head that the upstream has not finished.
  private var isWithinHead = false
  /// Whether the request's body is chunked, and its last chunk still has to be sent.
  private(set) var sendsChunks = false
  /// What has arrived since the current request was begun.
  var received = Received.nothing
  /// Whether a malformed response head was repaired. The connection then serves no other request.
  private var isRepaired = false

  init(_ limits: HeadLimits) {
    self.limits = limits
    headReader = HeadReader(limits: limits, repairs: repairs)
    body = BodyReader(.none, limits: limits)
  }

  /// Prepares for another request.
  mutating func renew() { if !body.isComplete { body = BodyReader(.none, limits: limits) } }

  /// Prepares for an attempt to send the request.
  /// - Parameter repairs: whether to repair malformed heads whose meaning is unambiguous.
  mutating func begin(_ limits: HeadLimits, repairs: Bool, sendsChunks: Bool) {
    (self.sendsChunks, received, isRepaired) = (sendsChunks, .nothing, false)
    guard isWithinHead || limits != self.limits || repairs != self.repairs else { return }
    if limits != self.limits { body = BodyReader(.none, limits: limits) }
    (self.limits, self.repairs) = (limits, repairs)
    headReader = HeadReader(limits: limits, repairs: repairs)
    isWithinHead = false
  }

  // MARK: requests

  /// Writes a part of the request's body, which is `range` of the input.
  @inline(__always)
  func writeBody(_ input: Span<UInt8>, _ range: Range<Int>, to output: inout Output) {
    output.actions.insert(.sendBody)
    if sendsChunks {
      MessageWriter.chunk(input.extracting(range), to: &output.toUpstream)
    } else {
      output.results.upstreamBody =
        output.results.upstreamBody.isEmpty ? range : output.results.upstreamBody.lowerBound..<range.upperBound
    }
  }

  /// Ends the request's body. Call this only if `sendsChunks` is `true`.
  @inline(__always)
  mutating func writeEnd(_ trailers: [Field], of bytes: [UInt8], to output: inout Output) {
    sendsChunks = false
    MessageWriter.lastChunk(trailers: trailers, of: bytes, to: &output.toUpstream)
    output.actions.insert(.sendBody)
  }

  /// Writes a part of the request's body that was kept. It must not be empty.
  func writeKept(_ kept: [UInt8], to output: inout Output) {
    if sendsChunks {
      MessageWriter.chunk(kept.span, to: &output.toUpstream)
    } else {
      output.toUpstream.append(kept.span)
    }
  }

  // MARK: responses

  /// Reads the head of a response. Returns its length in bytes, or `nil` if it is incomplete.
  @inline(__always)
  mutating func readHead(
    _ input: Span<UInt8>, position: inout Int, into head: inout ResponseHead
  ) throws(MessageError) -> Int? {
    isWithinHead = true
    guard let length = try headReader.readResponse(input.extracting(position...), into: &head) else { return nil }
    isWithinHead = false
    position += length
    if !head.repairs.isEmpty { isRepaired = true }
    if isRepaired { head.isKeepAlive = false }
    return length
  }

  mutating func beginBody(_ length: BodyLength) { body.begin(length) }

  var isBodyComplete: Bool { body.isComplete }

  @inline(__always)
  mutating func readBody(_ input: Span<UInt8>, position: inout Int) throws(MessageError) -> BodyReader.Step {
    try body.next(input, position: &position)
  }

  /// Ends a body that is delimited by the end of the connection. Returns `false` if the body is incomplete.
  mutating func endBodyAtClose() -> Bool { (try? body.inputEnded()) != nil }

  /// Ends the body although more of it may arrive, which is not read.
  mutating func abandonBody() {
    received = .surplus
    body.begin(.none)
  }

  /// Returns the trailers of a complete body, once. `nil` if there are none.
  mutating func takeTrailers() -> Trailers? { body.takeTrailers() }

  /// Reads the beginning of a response's body without consuming it.
  /// - Parameter limit: maximum length in bytes.
  static func preview(_ input: Span<UInt8>, _ length: BodyLength, limit: Int) -> BodyPreview {
    var reader = BodyReader(length)
    var (bytes, position): ([UInt8], Int) = ([], 0)
    do throws(MessageError) {
      while !reader.isComplete {
        switch try reader.next(input, position: &position) {
        case .data(let range):
          bytes.append(input.extracting(range))
          if bytes.count > limit { return .unreadable }
        case .end: break
        case .needsMore: return input.count < limit ? .incomplete : .unreadable
        }
      }
    } catch {
      return .unreadable
    }
    return .whole(bytes)
  }

  /// Whether `input` is exactly one body of this length, so that the next response can follow.
  static func isWhole(_ input: Span<UInt8>, _ length: BodyLength) -> Bool {
    var reader = BodyReader(length)
    var position = 0
    do throws(MessageError) {
      while !reader.isComplete {
        if case .needsMore = try reader.next(input, position: &position) { return false }
      }
    } catch {
      return false
    }
    return position == input.count
  }
}
