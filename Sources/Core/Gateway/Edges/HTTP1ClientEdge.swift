package import HTTP1
internal import Policy
package import Primitives

/// HTTP/1 on a client's connection: reads one request, and writes its response (RFC 9112).
///
/// `ClientEdge` calls it with the bytes of the connection.
package struct HTTP1ClientEdge: Sendable {
  private enum Progress { case nothing, head, body }
  private var progress = Progress.nothing
  private(set) var limits: HeadLimits
  private var headReader: HeadReader
  private var body: BodyReader
  private var response = ResponseState()

  private struct ResponseState {
    /// How the end of the response's body is shown to the client.
    var framing = BodyLength.none
    var closes = false
  }

  init(limits: HeadLimits) {
    self.limits = limits
    headReader = HeadReader(limits: limits)
    body = BodyReader(.none, limits: limits)
  }

  /// Prepares for another request.
  mutating func renew() {
    // A reader is ready for another head only after a whole one.
    if case .head = progress { headReader = HeadReader(limits: limits) }
    progress = .nothing
    if !body.isComplete { body = BodyReader(.none, limits: limits) }
    response = ResponseState()
  }

  /// Whether a byte of the request has arrived.
  var hasBegun: Bool { progress != .nothing }
  /// Whether the connection closes after the current response.
  var closesAfterResponse: Bool { response.closes }

  // MARK: requests

  mutating func beginHead(_ limits: HeadLimits) {
    progress = .head
    guard limits != self.limits else { return }
    self.limits = limits
    headReader = HeadReader(limits: limits)
    body = BodyReader(.none, limits: limits)
  }

  /// Reads the head of a request. Returns `false` if it is incomplete.
  @inline(__always)
  mutating func readHead(
    _ input: Span<UInt8>, position: inout Int, into head: inout RequestHead
  ) throws(MessageError) -> Bool {
    guard let length = try headReader.readRequest(input.extracting(position...), into: &head) else { return false }
    position += length
    progress = .body
    body.begin(head.bodyLength)
    return true
  }

  /// Reads the next part of the request's body. Returns `end` again and again after its end.
  @inline(__always)
  mutating func readBody(_ input: Span<UInt8>, position: inout Int) throws(MessageError) -> BodyReader.Step {
    body.isComplete ? .end : try body.next(input, position: &position)
  }

  /// Returns the trailers of a complete request body, once. `nil` if there are none.
  mutating func takeTrailers() -> Trailers? { body.takeTrailers() }

  // MARK: responses

  /// Writes an interim response (1xx).
  func writeInterim(_ response: OutgoingResponse, to bytes: inout ByteBuffer) {
    HTTP1ClientEdge.writeHead(response, framing: .none, to: &bytes)
    FieldWriter.lineEnd(to: &bytes)
  }

  /// Writes the head of a response that an upstream sent.
  /// - Parameters:
  ///   - request: the head of the request.
  ///   - isEarly: whether the request is not complete yet.
  ///   - isLast: whether the connection ends with this response.
  @inline(__always)
  mutating func writeHead(
    _ response: OutgoingResponse, to request: RequestHead, isEarly: Bool, isLast: Bool, into bytes: inout ByteBuffer
  ) {
    self.response.framing = HTTP1ClientEdge.framing(response.length, for: request)
    // If the request is not complete, the rest is read, but no further request is possible (T17).
    self.response.closes = isEarly || isLast || !request.isKeepAlive || self.response.framing == .untilClose
    HTTP1ClientEdge.writeHead(response, framing: self.response.framing, to: &bytes)
    if let upgrade = response.upgrade {
      self.response.closes = false
      MessageWriter.upgrade(upgrade.text) { bytes.append($0) }
    } else if closesAfterResponse {
      bytes.append("Connection: close\r\n")
    } else if case .http10 = request.version {
      bytes.append("Connection: keep-alive\r\n")
    }
    FieldWriter.lineEnd(to: &bytes)
    if !response.content.isEmpty { bytes.append(contentsOf: response.content.contents) }
  }

  /// Writes a response of bearerd itself, with its body.
  mutating func writeLocal(
    _ response: OutgoingResponse, to method: Method, closes: Bool, into bytes: inout ByteBuffer
  ) {
    self.response.closes = closes
    HTTP1ClientEdge.writeLocal(response, to: method, closes: closes, into: &bytes)
  }

  /// Writes a response of bearerd itself, with its body. A response to HEAD has none.
  package static func writeLocal(
    _ response: OutgoingResponse, to method: Method, closes: Bool, into bytes: inout ByteBuffer
  ) {
    writeHead(response, framing: response.length, to: &bytes)
    if closes { bytes.append("Connection: close\r\n") }
    FieldWriter.lineEnd(to: &bytes)
    if method != .head { bytes.append(contentsOf: response.content.contents) }
  }

  /// Marks the connection as closing after a response of bearerd itself that is written later.
  mutating func prepareLocal(closes: Bool) { response.closes = closes }

  /// Writes `output.changed` and then the range `output.results.unchanged` of the input, as a part of the response's body.
  @inline(__always)
  func writeBody(_ input: Span<UInt8>, to output: inout Output) {
    let range = output.results.unchanged
    if range.isEmpty, output.changed.isEmpty { return }
    output.actions.insert(.sendToClient)
    switch response.framing {
    case .chunked:
      let changed = output.changed
      MessageWriter.chunk(changed.span, input.extracting(range), to: &output.toClient)
    case .none, .length, .untilClose: output.appendUnframed(input)
    }
  }

  /// Whether trailers can be written after the response's body.
  var takesTrailers: Bool { if case .chunked = response.framing { true } else { false } }

  /// Ends the response's body.
  /// - Parameter trailers: whole lines. Ignored if `takesTrailers` is `false`.
  @inline(__always)
  func writeEnd(trailers: ByteBuffer, to output: inout Output) {
    guard takesTrailers else { return }
    MessageWriter.lastChunk(trailers: trailers.storage.span.extracting(first: trailers.count), to: &output.toClient)
    output.actions.insert(.sendToClient)
  }

  private static func framing(_ length: BodyLength, for request: RequestHead) -> BodyLength {
    switch length {
    case .none, .length: length
    case .chunked, .untilClose: request.version == .http11 ? .chunked : .untilClose
    }
  }

  @inline(__always)
  private static func writeHead(_ response: OutgoingResponse, framing: BodyLength, to bytes: inout ByteBuffer) {
    bytes.reserve(bytes.count &+ response.fields.count &+ response.content.count &+ 256)
    MessageWriter.statusLine(response.status, reason: response.reason.contents.span, to: &bytes)
    bytes.append(contentsOf: response.fields.contents)
    MessageWriter.framing(framing, to: &bytes)
  }
}

extension Output {
  /// Appends `changed` and then the range `results.unchanged` of the input to what the client gets, without framing.
  @inline(__always)
  mutating func appendUnframed(_ input: Span<UInt8>) {
    let (changed, range) = (changed, results.unchanged)
    if !changed.isEmpty {
      toClient.append(input.extracting(results.clientBody))
      toClient.append(changed.span)
      results.clientBody = range
    } else if results.clientBody.isEmpty {
      results.clientBody = range
    } else if results.clientBody.upperBound == range.lowerBound {
      results.clientBody = results.clientBody.lowerBound..<range.upperBound
    } else {
      toClient.append(input.extracting(results.clientBody))
      results.clientBody = range
    }
  }
}
