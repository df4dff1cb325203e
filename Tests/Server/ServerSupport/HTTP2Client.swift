import HTTP1
package import HTTP2
package import TestServer
import TestSupport

/// A client that speaks HTTP/2 by prior knowledge. All calls block until bytes were sent or have arrived.
package final class HTTP2Client {
  /// What has arrived on one stream.
  package struct Response: Sendable {
    /// The status codes of the interim responses (1xx).
    package internal(set) var interim: [Int] = []
    /// `nil` before the head has arrived.
    package internal(set) var status: Int?
    package internal(set) var fields: HTTP2Fields = []
    package internal(set) var body: [UInt8] = []
    package internal(set) var trailers: HTTP2Fields = []
    package internal(set) var isComplete = false
    /// Whether the frame of the head has ended the stream.
    package internal(set) var hasEndedWithHead = false
    /// The code of RST_STREAM. `nil` if there was none.
    package internal(set) var failure: HTTP2Code?

    package var text: String { String(decoding: body, as: UTF8.self) }
    /// The value of the first field with this name.
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
  }

  package let session: HTTP2Session
  package let socket: RawClient
  private let authority: String
  private var responses: [HTTP2Session.StreamID: Response] = [:]
  /// Streams whose windows are not opened.
  package var unread: Set<HTTP2Session.StreamID> = []
  /// The server's GOAWAY frame. `nil` if there was none.
  package private(set) var goAway: (last: HTTP2Session.StreamID, code: HTTP2Code)?
  /// Whether the server has closed the connection.
  package private(set) var isClosed = false
  package private(set) var pongs = 0

  package init(_ socket: RawClient, authority: String, limits: HTTP2Limits = HTTP2Limits()) throws {
    (self.socket, self.authority) = (socket, authority)
    session = try HTTP2Session(.client, limits: limits)
    try flush()
  }

  // MARK: sending

  /// Sends the head of a request with the usual pseudo-header fields, which `fields` can replace.
  package func begin(
    _ method: String, _ path: String = "/api/x", fields: HTTP2Fields = [], endsStream: Bool = false
  ) throws -> HTTP2Session.StreamID {
    let start = [(":method", method), (":scheme", "http"), (":authority", authority), (":path", path)]
    let own = start.filter { field in !fields.contains { $0.name == field.0 } }
    let pseudo = fields.filter { $0.name.hasPrefix(":") && !$0.value.isEmpty }
    return try send(own + pseudo + fields.filter { !$0.name.hasPrefix(":") }, endsStream: endsStream)
  }

  /// Sends these fields as the head of a request.
  package func send(_ fields: HTTP2Fields, endsStream: Bool) throws -> HTTP2Session.StreamID {
    var bytes: [UInt8] = []
    let stream = try withHTTP2Fields(fields) { fields throws(HTTP2Error) in
      try session.sendRequest(fields, endsStream: endsStream) { bytes += $0 }
    }
    responses[stream] = Response()
    try socket.send(bytes)
    try flush()
    return stream
  }

  package func write(_ bytes: [UInt8], on stream: HTTP2Session.StreamID) throws {
    session.write(bytes.span, on: stream)
    try flush()
  }

  package func end(_ stream: HTTP2Session.StreamID, trailers: HTTP2Fields = []) throws {
    try withHTTP2Fields(trailers) { fields throws(HTTP2Error) in session.end(stream, trailers: fields) }
    try flush()
  }

  package func reset(_ stream: HTTP2Session.StreamID, _ code: HTTP2Code = .cancel) throws {
    session.reset(stream, code)
    try flush()
  }

  package func ping() throws {
    session.ping()
    try flush()
  }

  /// Sends what is queued, as far as the server's windows allow.
  private func flush() throws {
    var bytes: [UInt8] = []
    try session.send { bytes += $0 }
    if !bytes.isEmpty { try socket.send(bytes) }
  }

  // MARK: receiving

  package subscript(stream: HTTP2Session.StreamID) -> Response { responses[stream] ?? Response() }

  /// Opens the window of a stream that was not read.
  package func read(_ stream: HTTP2Session.StreamID) throws {
    unread.remove(stream)
    session.consumed(self[stream].body.count, of: stream)
    try flush()
  }

  /// Waits for the whole response. Throws if the stream or the connection fails.
  package func response(_ stream: HTTP2Session.StreamID) throws -> Response {
    let response = try wait(for: stream) { $0.isComplete }
    guard response.isComplete else { throw TestFailure("the stream failed: \(response)") }
    return response
  }

  /// Waits until the response meets the condition, or its stream fails.
  @discardableResult
  package func wait(for stream: HTTP2Session.StreamID, until isMet: (Response) -> Bool) throws -> Response {
    while !isMet(self[stream]), self[stream].failure == nil {
      guard try receive() else { throw TestFailure("closed before the end of a response: \(self[stream])") }
    }
    return self[stream]
  }

  /// Waits for the end of the connection.
  package func waitForEnd() throws { while try receive() {} }

  /// Waits for bytes. Returns `false` at the end of the connection.
  package func receive() throws -> Bool {
    if isClosed { return false }
    let bytes = try socket.read()
    guard !bytes.isEmpty else {
      isClosed = true
      return false
    }
    try session.receive(bytes.span)
    while let event = session.nextEvent() { handle(event, bytes) }
    try flush()
    while let event = session.nextEvent() { handle(event, []) }
    return true
  }

  private func handle(_ event: HTTP2Event, _ bytes: [UInt8]) {
    switch event {
    case .head(let stream, let block):
      let fields = Self.fields(of: block)
      let status = fields.first.flatMap { Int($0.value) } ?? 0
      if status < 200 {
        responses[stream]?.interim.append(status)
      } else {
        responses[stream]?.status = status
        responses[stream]?.fields = Array(fields.dropFirst())
        responses[stream]?.hasEndedWithHead = session.isEndNext(of: stream)
      }
    case .data(let stream, let range):
      responses[stream]?.body += bytes[range]
      if !unread.contains(stream) { session.consumed(range.count, of: stream) }
    case .trailers(let stream, let block): responses[stream]?.trailers = Self.fields(of: block)
    case .end(let stream): responses[stream]?.isComplete = true
    case .failed(let stream, let code, _): responses[stream]?.failure = code
    case .goAway(let last, let code): goAway = (last, code)
    case .refused: break
    case .pong: pongs += 1
    case .drained, .settings: break
    }
  }

  private static func fields(of block: HeaderBlock) -> HTTP2Fields {
    block.lines.map {
      (String(decoding: block.bytes[$0.name], as: UTF8.self), String(decoding: block.bytes[$0.value], as: UTF8.self))
    }
  }
}

extension Stage {
  /// Returns a client that speaks HTTP/2 to the listener.
  package func http2(_ listener: String = "main", limits: HTTP2Limits = HTTP2Limits()) throws -> HTTP2Client {
    try HTTP2Client(raw(listener), authority: "localhost:\(try daemon!.port(listener))", limits: limits)
  }
}

/// Calls `body` with these fields. Their memory is valid only during the call.
package func withHTTP2Fields<Result>(
  _ fields: HTTP2Fields, _ body: ([HTTP2Field]) throws(HTTP2Error) -> Result
) throws(HTTP2Error) -> Result {
  let texts = fields.flatMap { [Array($0.name.utf8), Array($0.value.utf8)] }
  let bytes = texts.flatMap { $0 }
  let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
  defer { copy.deallocate() }
  copy.copyBytes(from: bytes)
  var start = 0
  let ranges = texts.map { text in
    defer { start += text.count }
    return UnsafeRawBufferPointer(rebasing: copy[start..<start + text.count])
  }
  return try body(stride(from: 0, to: ranges.count, by: 2).map { HTTP2Field(name: ranges[$0], value: ranges[$0 + 1]) })
}
