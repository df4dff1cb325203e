internal import HTTP1
internal import HTTP2

extension UpstreamServer {
  /// Returns a handler that speaks HTTP/2 and runs the steps of each complete request.
  /// - Parameters:
  ///   - http1: handles the connections for which the client did not select `h2`. Connections without TLS use HTTP/2.
  ///   - respond: returns the steps for a request. Without steps, the request gets no response.
  package static func http2Handler(
    _ options: HTTP2Options = HTTP2Options(), http1: (@Sendable (AcceptedConnection) -> Void)? = nil,
    respond: @escaping @Sendable (HTTP2Request) -> [HTTP2Step]
  ) -> @Sendable (AcceptedConnection) -> Void {
    http2EventHandler(options, http1: http1) { $0.event == .end ? respond($0) : [] }
  }

  /// Returns a handler that speaks HTTP/2 and runs the steps of each event of a request.
  package static func http2EventHandler(
    _ options: HTTP2Options = HTTP2Options(), http1: (@Sendable (AcceptedConnection) -> Void)? = nil,
    onEvent: @escaping @Sendable (HTTP2Request) -> [HTTP2Step]
  ) -> @Sendable (AcceptedConnection) -> Void {
    { connection in
      if let http1, connection.isTLS, connection.applicationProtocol != "h2" { return http1(connection) }
      var limits = HTTP2Limits()
      (limits.streams, limits.streamWindow) = (options.streams, options.streamWindow)
      limits.acceptsExtendedConnect = options.acceptsWebSockets
      connection.usesHTTP2 = true
      guard let session = try? HTTP2Session(.server, limits: limits) else { return }
      let server = HTTP2Connection(connection, session, opensWindows: options.opensWindows, onEvent)
      try? server.run()
    }
  }
}

// Shares `HTTP2Session` with the daemon. The tests of this server use curl.
/// Serves the streams of one connection, on the connection's thread.
private final class HTTP2Connection {
  private let connection: AcceptedConnection
  private let session: HTTP2Session
  private let opensWindows: Bool
  private let onEvent: (HTTP2Request) -> [HTTP2Step]
  private var requests: [Int32: HTTP2Request] = [:]
  /// The steps that wait, each with its gate.
  private var waiting: [(stream: Int32, gate: HTTP2Gate, steps: ArraySlice<HTTP2Step>)] = []
  private var isClosing = false

  init(
    _ connection: AcceptedConnection, _ session: HTTP2Session, opensWindows: Bool,
    _ onEvent: @escaping (HTTP2Request) -> [HTTP2Step]
  ) {
    (self.connection, self.session, self.opensWindows, self.onEvent) = (connection, session, opensWindows, onEvent)
  }

  func run() throws {
    // As some servers do, sends nothing before the client's preface.
    guard connection.hasInput(within: 10_000) else { return }
    while true {
      try flush()
      // Each gate is asked once, because a test may open it at any time.
      if let index = waiting.firstIndex(where: \.gate.isOpen) {
        let entry = waiting.remove(at: index)
        try run(entry.steps, on: entry.stream)
        continue
      }
      if isClosing || session.isOver { return }
      if !waiting.isEmpty, !connection.hasInput(within: 5) { continue }
      let bytes = try connection.read()
      if bytes.isEmpty { return }
      do {
        try session.receive(bytes.span)
      } catch {
        connection.record { $0.http2.error = "\(error)" }
        // Tells the client the code.
        try? flush()
        return
      }
      while let event = session.nextEvent() { try handle(event, bytes) }
    }
  }

  private func handle(_ event: HTTP2Event, _ bytes: [UInt8]) throws {
    switch event {
    case .head(let stream, let block):
      let request = HTTP2Request(connection: connection.number, stream: stream, fields: Self.fields(of: block))
      requests[stream] = request
      connection.record { $0.bytes += request.head }
      try handle(.head, on: stream)
    case .data(let stream, let range):
      if opensWindows { session.consumed(range.count, of: stream) }
      let data = Array(bytes[range])
      requests[stream]?.body += data
      connection.record { $0.bytes += data }
      try handle(.data(data), on: stream)
    case .trailers(let stream, let block):
      let trailers = Self.fields(of: block)
      requests[stream]?.trailers = trailers
      connection.record { $0.bytes += Array(HTTP2Request.lines(trailers).utf8) }
    case .end(let stream):
      try handle(.end, on: stream)
    case .failed(let stream, let code, _):
      connection.record { $0.http2.failures.append((stream, code.rawValue)) }
      waiting.removeAll { $0.stream == stream }
      try handle(.failed(code.rawValue), on: stream)
      requests[stream] = nil
    case .goAway(_, let code):
      connection.record { $0.http2.goAway = code.rawValue }
    case .refused, .drained, .settings, .pong: break
    }
  }

  private func handle(_ event: HTTP2Request.Event, on stream: Int32) throws {
    requests[stream]?.event = event
    guard let request = requests[stream] else { return }
    if event == .end { connection.record { $0.http2.requests.append(request) } }
    try run(onEvent(request)[...], on: stream)
  }

  private func run(_ steps: ArraySlice<HTTP2Step>, on stream: Int32) throws {
    for (index, step) in zip(steps.indices, steps) {
      if case .wait(let gate) = step, !gate.isOpen {
        waiting.append((stream, gate, steps[(index + 1)...]))
        return
      }
      try run(step, on: stream)
    }
  }

  private func run(_ step: HTTP2Step, on stream: Int32) throws {
    switch step {
    case .head(let status, let fields, let ends):
      try flush { output in
        // The client may have reset the stream.
        try? withFields([(":status", "\(status)")] + fields) { fields throws(HTTP2Error) in
          try session.sendResponse(fields, on: stream, endsStream: ends) { output += $0 }
        }
      }
    case .data(let bytes): session.write(bytes.span, on: stream)
    case .trailers(let fields):
      try? withFields(fields) { fields throws(HTTP2Error) in session.end(stream, trailers: fields) }
    case .end: session.end(stream)
    case .reset(let code): session.reset(stream, HTTP2Code(rawValue: code.rawValue))
    case .goAway(let code, nil): session.goAway(HTTP2Code(rawValue: code.rawValue))
    case .goAway(let code, let last?): try write(Self.goAway(code, last: last))
    case .raw(let bytes): try write(bytes)
    case .wait: break
    case .close: isClosing = true
    }
  }

  /// Sends bytes after the frames that are queued.
  private func write(_ bytes: [UInt8]) throws {
    try flush { $0 += bytes }
  }

  /// Sends the queued frames, and then the bytes that `more` appends.
  private func flush(_ more: (inout [UInt8]) throws -> Void = { _ in }) throws {
    var output: [UInt8] = []
    do { try session.send { output += $0 } } catch { isClosing = true }
    try more(&output)
    if !output.isEmpty { try connection.write(output) }
  }

  private static func goAway(_ code: HTTP2Reset, last: Int32) -> [UInt8] {
    let numbers = [UInt32(bitPattern: last), code.rawValue].flatMap { number in
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
    return [0, 0, 8, 7, 0, 0, 0, 0, 0] + numbers
  }

  private static func fields(of block: HeaderBlock) -> HTTP2Fields {
    block.lines.map {
      (String(decoding: block.bytes[$0.name], as: UTF8.self), String(decoding: block.bytes[$0.value], as: UTF8.self))
    }
  }

  private func withFields(
    _ fields: HTTP2Fields, _ body: ([HTTP2Field]) throws(HTTP2Error) -> Void
  ) throws(HTTP2Error) {
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
    try body(stride(from: 0, to: ranges.count, by: 2).map { HTTP2Field(name: ranges[$0], value: ranges[$0 + 1]) })
  }
}
