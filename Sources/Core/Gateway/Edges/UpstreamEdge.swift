internal import HTTP1
internal import Policy
internal import Primitives

/// The edge to the upstream, in the protocol of its connection.
///
/// The `Relay` calls it with the bytes of the connection, and passes what it reads to the `Exchange`.
struct UpstreamEdge: Sendable {
  private var http1: HTTP1UpstreamEdge
  /// `nil` if the connection uses HTTP/1.
  private var http2: HTTP2UpstreamEdge?

  init(_ limits: HeadLimits) { http1 = HTTP1UpstreamEdge(limits) }

  /// Prepares for another request.
  mutating func renew() {
    http1.renew()
    if http2 != nil { http2 = nil }
  }

  /// Prepares for an attempt to send the request.
  /// - Parameters:
  ///   - repairs: whether to repair malformed heads whose meaning is unambiguous.
  ///   - length: the length of the request's body.
  mutating func begin(
    _ limits: HeadLimits, repairs: Bool, length: BodyLength, over applicationProtocol: ApplicationProtocol
  ) {
    switch applicationProtocol {
    case .http1:
      if http2 != nil { http2 = nil }
      http1.begin(limits, repairs: repairs, sendsChunks: length == .chunked)
    case .http2:
      http2 = HTTP2UpstreamEdge(limits, repairs: repairs, hasBody: length != .none && length != .length(0))
    }
  }

  var received: HTTP1UpstreamEdge.Received {
    @inline(__always) get { if let http2 { http2.received } else { http1.received } }
    @inline(__always) set { if http2 == nil { http1.received = newValue } else { http2?.received = newValue } }
  }

  // MARK: requests

  /// Whether the end of the request's body has to be sent.
  @inline(__always) var owesEnd: Bool { if let http2 { http2.owesEnd } else { http1.sendsChunks } }

  /// Writes a part of the request's body, which is `range` of the input.
  @inline(__always)
  func writeBody(_ input: Span<UInt8>, _ range: Range<Int>, to output: inout Output) {
    if let http2 { http2.writeBody(input, range, to: &output) } else { http1.writeBody(input, range, to: &output) }
  }

  /// Ends the request's body. Call this only if `owesEnd` is `true`.
  @inline(__always)
  mutating func writeEnd(_ trailers: [Field], of bytes: [UInt8], to output: inout Output) {
    if http2 == nil {
      http1.writeEnd(trailers, of: bytes, to: &output)
    } else {
      http2?.writeEnd(trailers, of: bytes, to: &output)
    }
  }

  /// Writes a whole request body that was kept.
  mutating func writeWhole(_ kept: [UInt8], to output: inout Output) {
    writeKept(kept, to: &output)
    if owesEnd { writeEnd([], of: [], to: &output) }
  }

  /// Writes the beginning of a request body, which was kept.
  @inline(never)
  func writeKept(_ kept: [UInt8], to output: inout Output) {
    if kept.isEmpty { return }
    output.actions.insert(.sendBody)
    if http2 == nil { http1.writeKept(kept, to: &output) } else { output.toUpstream.append(kept.span) }
  }

  // MARK: responses

  /// Prepares for the response to a request that opens a WebSocket over HTTP/2.
  /// - Parameter lines: become part of the head.
  mutating func expectSwitch(_ lines: [UInt8]) { http2?.switchLines = lines }

  /// Receives what the HTTP/2 connection has read on the request's stream. Data follows as input.
  mutating func receive(_ message: StreamMessage) { http2?.receive(message) }

  /// Reads the head of a response. Returns its length in bytes, or `nil` if it is incomplete.
  /// - Parameter text: memory for the text of the head. Only for HTTP/2.
  @inline(__always)
  mutating func readHead(
    _ input: Span<UInt8>, position: inout Int, into head: inout ResponseHead, text: inout ByteBuffer
  ) throws(MessageError) -> Int? {
    if http2 != nil { return try http2?.readHead(into: &head, text: &text) }
    guard position < input.count else { return nil }
    return try http1.readHead(input, position: &position, into: &head)
  }

  @inline(__always)
  mutating func beginBody(_ length: BodyLength) {
    if http2 == nil { http1.beginBody(length) } else { http2?.beginBody(length) }
  }

  @inline(__always) var isBodyComplete: Bool { if let http2 { http2.isBodyComplete } else { http1.isBodyComplete } }

  @inline(__always)
  mutating func readBody(_ input: Span<UInt8>, position: inout Int) throws(MessageError) -> BodyReader.Step {
    if http2 == nil { return try http1.readBody(input, position: &position) }
    return try http2?.readBody(input, position: &position) ?? .needsMore
  }

  /// Ends a body that is delimited by the end of the connection. Returns `false` if the body is incomplete.
  mutating func endBodyAtClose() -> Bool { http2 == nil && http1.endBodyAtClose() }

  /// Ends the body although more of it may arrive, which is not read.
  mutating func abandonBody() { if http2 == nil { http1.abandonBody() } else { http2?.abandonBody() } }

  /// Returns the trailers of a complete body, once. `nil` if there are none. Throws if those of HTTP/2 are malformed.
  @inline(__always)
  mutating func takeTrailers() throws(MessageError) -> Trailers? {
    http2 == nil ? http1.takeTrailers() : try http2?.takeTrailers()
  }

  /// Reads the beginning of a response's body without consuming it.
  /// - Parameter limit: maximum length in bytes.
  func preview(_ input: Span<UInt8>, _ length: BodyLength, limit: Int) -> BodyPreview {
    if let http2 { return http2.preview(input, limit: limit) }
    return HTTP1UpstreamEdge.preview(input, length, limit: limit)
  }

  /// Whether another response can follow on the connection, if the rest of this one is `input` and is not read.
  func allowsReuse(after input: Span<UInt8>, _ length: BodyLength) -> Bool {
    http2 != nil || HTTP1UpstreamEdge.isWhole(input, length)
  }
}
