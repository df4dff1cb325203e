package import HTTP1
internal import Primitives

/// HTTP/2 on one stream of a connection to an upstream (RFC 9113 section 8): reads the response, and ends the body of the
/// request. The connection reads and writes the frames.
///
/// A head becomes HTTP/1 text, so that the same checks and repairs apply to it. The functions are not inlined, because that would
/// make the code for HTTP/1 slower.
struct HTTP2UpstreamEdge: Sendable {
  private let limits: HeadLimits
  private let repairs: Bool
  private var head: HeaderBlock?
  private var trailers: HeaderBlock?
  private var body = HTTP2BodyReader()
  /// Whether the request has a body that was not ended yet.
  private(set) var owesEnd: Bool
  var received = HTTP1UpstreamEdge.Received.nothing
  /// The lines to add to the head of a response that accepts a WebSocket. `nil` if the request opens none.
  var switchLines: [UInt8]?

  /// - Parameter repairs: whether to repair malformed heads whose meaning is unambiguous.
  init(_ limits: HeadLimits, repairs: Bool, hasBody: Bool) {
    (self.limits, self.repairs, owesEnd) = (limits, repairs, hasBody)
  }

  // MARK: requests

  /// Writes a part of the request's body, which is `range` of the input.
  @inline(never)
  func writeBody(_ input: Span<UInt8>, _ range: Range<Int>, to output: inout Output) {
    output.actions.insert(.sendBody)
    let body = output.results.upstreamBody
    if body.isEmpty {
      output.results.upstreamBody = range
    } else if body.upperBound == range.lowerBound {
      output.results.upstreamBody = body.lowerBound..<range.upperBound
    } else {
      output.toUpstream.append(input.extracting(body))
      output.results.upstreamBody = range
    }
  }

  /// Ends the request's body.
  @inline(never)
  mutating func writeEnd(_ trailers: [Field], of bytes: [UInt8], to output: inout Output) {
    owesEnd = false
    for trailer in trailers { FieldWriter.field(trailer, of: bytes, to: &output.requestTrailers) }
    output.actions.insert(.endRequest)
  }

  // MARK: responses

  mutating func receive(_ message: StreamMessage) {
    if received == .nothing { received = .bytes }
    switch message {
    case .head(let block): head = block
    case .trailers(let block): trailers = block
    case .end: body.end()
    }
  }

  /// Reads the head that has arrived. Returns its size in bytes, or `nil` if there is none.
  /// - Parameter text: memory for the text of the head.
  @inline(never)
  mutating func readHead(
    into head: inout ResponseHead, text: inout ByteBuffer
  ) throws(MessageError) -> Int? {
    guard let block = self.head.take() else { return nil }
    text.removeAll()
    // The text may have tokens (T50).
    defer { text.wipe() }
    try block.writeResponse(switching: switchLines, to: &text)
    var reader = HeadReader(limits: limits, repairs: repairs)
    let bytes = text.storage.span.extracting(first: text.count)
    guard let size = try reader.readResponse(bytes, into: &head), size == bytes.count else {
      throw MessageError(.badFieldName)
    }
    // The stream ends with the response, and not the connection.
    head.isKeepAlive = true
    if case .untilClose = head.declaredLength { head.declaredLength = .chunked }
    return size
  }

  var isBodyComplete: Bool { body.isComplete }

  /// - Parameter length: the length of the body.
  mutating func beginBody(_ length: BodyLength) { body.begin(length) }

  /// Returns the rest of the input as data of the body, or its end. Throws if the length is not as declared.
  @inline(never)
  mutating func readBody(_ input: Span<UInt8>, position: inout Int) throws(MessageError) -> BodyReader.Step {
    try body.read(input, position: &position)
  }

  /// Ends the body although more of it may arrive, which is not read.
  mutating func abandonBody() {
    received = .surplus
    body.complete()
  }

  /// Returns the trailers of a complete body, once. `nil` if there are none. Throws if they are malformed, because the whole
  /// response then is (RFC 9113 section 8.1.1).
  @inline(never)
  mutating func takeTrailers() throws(MessageError) -> Trailers? {
    guard let block = trailers.take() else { return nil }
    return try block.trailers(limits: limits)
  }

  @inline(never)
  func preview(_ input: Span<UInt8>, limit: Int) -> BodyPreview {
    if input.count > limit { return .unreadable }
    guard body.hasEnded else { return .incomplete }
    var bytes: [UInt8] = []
    bytes.append(input)
    return .whole(bytes)
  }
}

extension Trailers {
  /// Reads the trailers in a block. If they are malformed, there are none, and `hasDropped` is `true`.
  init(_ block: HeaderBlock, _ limits: HeadLimits) {
    do throws(MessageError) {
      self = try block.trailers(limits: limits)
    } catch {
      self.init()
      hasDropped = true
    }
  }
}

/// What has arrived on one stream of an HTTP/2 connection, except for data.
package enum StreamMessage: Sendable {
  /// The head of a request, or of a response, also of an interim one (1xx).
  case head(HeaderBlock)
  case trailers(HeaderBlock)
  /// The peer has ended its message.
  case end
}
