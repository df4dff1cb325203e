internal import HTTP1
internal import Primitives

/// HTTP/2 on one stream of a client's connection (RFC 9113 section 8): reads one request, and writes its response. The connection
/// reads and writes the frames.
///
/// A head becomes HTTP/1 text, so that the same checks apply to it. The functions are not inlined, because that would make the
/// code for HTTP/1 slower.
struct HTTP2ClientEdge: Sendable {
  /// Whether the client is connected to a Unix socket.
  private let isLocalSocket: Bool
  private var head: HeaderBlock?
  private var trailers: HeaderBlock?
  private var body = HTTP2BodyReader()
  private var asksForTunnel = false
  /// Whether the response can have a body.
  private(set) var takesTrailers = false

  init(isLocalSocket: Bool) { self.isLocalSocket = isLocalSocket }

  /// Whether the request is not complete. Then its rest is not read after the response (RFC 9113 section 8.1).
  var isIncomplete: Bool { !body.isComplete && !body.hasEnded }

  // MARK: requests

  mutating func receive(_ message: StreamMessage) {
    switch message {
    case .head(let block): head = block
    case .trailers(let block): trailers = block
    case .end: body.end()
    }
  }

  /// Whether the method of the head that has arrived is HEAD.
  @inline(never)
  func isHead() -> Bool { head?.hasMethod("HEAD") ?? false }

  /// Writes the head that has arrived as the text of an HTTP/1.1 head, once. Returns `false` if there is none.
  @inline(never)
  mutating func takeHead(to text: inout ByteBuffer) throws(MessageError) -> Bool {
    guard let block = head.take() else { return false }
    asksForTunnel = block.hasMethod("CONNECT")
    try block.writeRequest(hasBody: !body.hasEnded, isLocalSocket: isLocalSocket, to: &text)
    return true
  }

  /// Whether a client would take a response with this status for the beginning of the tunnel that it asked for (RFC 8441
  /// section 5), although the upstream did not switch protocols.
  func isMistakable(_ status: Int) -> Bool { asksForTunnel && status / 100 == 2 }

  mutating func beginBody(_ length: BodyLength) {
    body.begin(length)
    if length == .length(0) { body.complete() }
  }

  /// Returns the rest of the input as data of the body, or its end. Throws if the length is not as declared.
  @inline(never)
  mutating func readBody(_ input: Span<UInt8>, position: inout Int) throws(MessageError) -> BodyReader.Step {
    if body.isComplete { return .end }
    return try body.read(input, position: &position)
  }

  /// Returns the trailers of a complete body, once. `nil` if there are none, or if they are malformed.
  @inline(never)
  mutating func takeTrailers(_ limits: HeadLimits) -> Trailers? { trailers.take().map { Trailers($0, limits) } }

  // MARK: responses

  /// Writes an interim response (1xx).
  @inline(never)
  func writeInterim(_ response: OutgoingResponse, to output: inout Output) { writeHead(response, .none, to: &output) }

  /// Writes the head of a response, and its body if it is one of bearerd itself.
  /// - Parameter length: the length of the body. `none` if the response cannot have one.
  @inline(never)
  mutating func writeResponse(_ response: OutgoingResponse, _ length: BodyLength, to output: inout Output) {
    takesTrailers = length != .none
    writeHead(response, response.length, to: &output)
    if length != .none, !response.content.isEmpty {
      output.toClient.append(contentsOf: response.content.contents)
      output.actions.insert(.sendToClient)
    }
  }

  private func writeHead(_ response: OutgoingResponse, _ length: BodyLength, to output: inout Output) {
    // HTTP/2 does not have 101: the stream of a request that was accepted by 200 is the tunnel (RFC 8441 section 5).
    let status = response.upgrade == nil ? response.status : 200
    MessageWriter.statusLine(status, reason: Span(), to: &output.clientHeads)
    output.clientHeads.append(contentsOf: response.fields.contents)
    if case .length = length { MessageWriter.framing(length, to: &output.clientHeads) }
    FieldWriter.lineEnd(to: &output.clientHeads)
    output.actions.insert(.sendHeads)
  }

  /// Writes `output.changed` and then the range `output.results.unchanged` of the input, as a part of the response's body.
  @inline(never)
  func writeBody(_ input: Span<UInt8>, to output: inout Output) {
    if output.results.unchanged.isEmpty, output.changed.isEmpty { return }
    output.actions.insert(.sendToClient)
    output.appendUnframed(input)
  }

  /// Ends the response's body, with the trailers `output.trailers`.
  @inline(never)
  func writeEnd(to output: inout Output) { output.actions.insert(.endResponse) }
}
