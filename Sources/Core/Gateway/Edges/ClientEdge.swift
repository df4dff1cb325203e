internal import HTTP1
internal import Policy
internal import Primitives

/// The edge to the client, in the protocol of its connection.
///
/// The `Relay` calls it with the bytes of the connection, and passes what it reads to the `Exchange`.
package struct ClientEdge: Sendable {
  private var http1: HTTP1ClientEdge
  /// `nil` if the connection uses HTTP/1.
  private var http2: HTTP2ClientEdge?

  init(limits: HeadLimits) { http1 = HTTP1ClientEdge(limits: limits) }

  /// Prepares for another request.
  mutating func renew() {
    http1.renew()
    if http2 != nil { http2 = nil }
  }

  /// Prepares for a request in another protocol than HTTP/1.
  /// - Parameter isLocalSocket: whether the client is connected to a Unix socket.
  mutating func begin(over applicationProtocol: ApplicationProtocol, isLocalSocket: Bool) {
    if case .http2 = applicationProtocol { http2 = HTTP2ClientEdge(isLocalSocket: isLocalSocket) }
  }

  package var isHTTP2: Bool { http2 != nil }
  /// Whether a byte of the request has arrived.
  var hasBegun: Bool { http1.hasBegun }

  /// Whether the connection, or the stream of HTTP/2, closes after the current response.
  var closesAfterResponse: Bool {
    @inline(__always) get { if let http2 { http2.isIncomplete } else { http1.closesAfterResponse } }
  }

  // MARK: requests

  /// Receives what an HTTP/2 connection has read on the request's stream. Data follows as input.
  mutating func receive(_ message: StreamMessage) { http2?.receive(message) }

  mutating func beginHead(_ limits: HeadLimits) { http1.beginHead(limits) }

  /// Whether the head is one of HTTP/2 with the method HEAD. It need not be read yet.
  var isHTTP2Head: Bool { http2?.isHead() ?? false }

  /// Reads the head of a request. Returns `false` if it is incomplete.
  /// - Parameter text: memory for the text of a head in HTTP/2.
  @inline(__always)
  mutating func readHead(
    _ input: Span<UInt8>, position: inout Int, into head: inout RequestHead, text: inout ByteBuffer
  ) throws(MessageError) -> Bool {
    if http2 != nil { return try readHTTP2Head(into: &head, text: &text) }
    return try http1.readHead(input, position: &position, into: &head)
  }

  @inline(never)
  private mutating func readHTTP2Head(
    into head: inout RequestHead, text: inout ByteBuffer
  ) throws(MessageError) -> Bool {
    text.removeAll()
    // The text may have tokens (T50).
    defer { text.wipe() }
    guard try http2?.takeHead(to: &text) == true else { return false }
    var position = 0
    let bytes = text.storage.span.extracting(first: text.count)
    guard try http1.readHead(bytes, position: &position, into: &head), position == bytes.count else {
      throw MessageError(.badFieldName)
    }
    http2?.beginBody(head.bodyLength)
    return true
  }

  /// Reads the next part of the request's body. Returns `end` again and again after its end.
  @inline(__always)
  mutating func readBody(_ input: Span<UInt8>, position: inout Int) throws(MessageError) -> BodyReader.Step {
    if http2 == nil { return try http1.readBody(input, position: &position) }
    return try http2?.readBody(input, position: &position) ?? .needsMore
  }

  /// Returns the trailers of a complete request body, once. `nil` if there are none.
  @inline(__always)
  mutating func takeTrailers() -> Trailers? { http2 == nil ? http1.takeTrailers() : http2?.takeTrailers(http1.limits) }

  // MARK: responses

  /// Whether the client would take a response with this status for another one.
  @inline(__always)
  func isMistakable(_ status: Int) -> Bool { if let http2 { http2.isMistakable(status) } else { false } }

  /// Writes an interim response (1xx).
  func writeInterim(_ response: OutgoingResponse, to output: inout Output) {
    if let http2 { return http2.writeInterim(response, to: &output) }
    http1.writeInterim(response, to: &output.toClient)
    output.actions.insert(.sendToClient)
  }

  /// Writes the head of a response that an upstream sent.
  /// - Parameters:
  ///   - request: the head of the request.
  ///   - isEarly: whether the request is not complete yet.
  ///   - isLast: whether the connection ends with this response.
  @inline(__always)
  mutating func writeHead(
    to request: RequestHead, isEarly: Bool, isLast: Bool, output: inout Output
  ) {
    if http2 != nil {
      http2?.writeResponse(output.response, output.response.length, to: &output)
    } else {
      http1.writeHead(output.response, to: request, isEarly: isEarly, isLast: isLast, into: &output.toClient)
      output.actions.insert(.sendToClient)
    }
  }

  /// Writes the response `output.response` of bearerd itself, with its body. A response to HEAD has none.
  mutating func writeLocal(to method: Method, closes: Bool, output: inout Output) {
    if http2 != nil {
      http2?.writeResponse(output.response, method == .head ? .none : output.response.length, to: &output)
      http2?.writeEnd(to: &output)
    } else {
      http1.writeLocal(output.response, to: method, closes: closes, into: &output.toClient)
      output.actions.insert(.sendToClient)
    }
  }

  /// Marks the connection as closing after a response of bearerd itself that is written later.
  mutating func prepareLocal(closes: Bool) { http1.prepareLocal(closes: closes) }

  /// Writes `output.changed` and then the range `output.results.unchanged` of the input, as a part of the response's body.
  @inline(__always)
  func writeBody(_ input: Span<UInt8>, to output: inout Output) {
    if let http2 { http2.writeBody(input, to: &output) } else { http1.writeBody(input, to: &output) }
  }

  /// Whether trailers can be written after the response's body.
  var takesTrailers: Bool {
    @inline(__always) get { if let http2 { http2.takesTrailers } else { http1.takesTrailers } }
  }

  /// Ends the response's body, with the trailers `output.trailers`. They are ignored if `takesTrailers` is `false`.
  @inline(__always)
  func writeEnd(to output: inout Output) {
    if let http2 { http2.writeEnd(to: &output) } else { http1.writeEnd(trailers: output.trailers, to: &output) }
  }
}
