internal import Console
internal import HTTP1
internal import HTTP2
internal import TestServer

/// Calls methods of gRPC over HTTP/2 without TLS, as programs do whose target is bearerd.
struct GRPCDemoClient {
  let port: UInt16

  /// The fields that the program sends.
  func fields(_ path: String) -> HTTP2Fields {
    [
      (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost:\(port)"),
      ("content-type", "application/grpc"), ("te", "trailers"), ("user-agent", "some-program/1.0"),
    ]
  }

  /// Calls a method with one message, and waits for its status.
  func call(_ path: String, _ text: String) throws -> GRPCReply {
    do {
      let socket = try BlockingSocket(host: "127.0.0.1", port: port, seconds: 15)
      let session = try HTTP2Session(.client)
      var output: [UInt8] = []
      let stream = try GRPCDemoClient.withFields(fields(path)) { fields throws(HTTP2Error) in
        try session.sendRequest(fields, endsStream: false) { output += $0 }
      }
      session.write(GRPCMessage.encode(text).span, on: stream)
      session.end(stream)
      var reply = GRPCReply()
      while !reply.isComplete {
        try session.send { output += $0 }
        try socket.send(output)
        output = []
        let input = try socket.receive()
        if input.isEmpty { break }
        try session.receive(input.span)
        while let event = session.nextEvent() { reply.receive(event, input) }
      }
      return reply
    } catch let error as SocketError {
      throw Failure(Failure.no, "bearerd does not respond: \(error.message)")
    } catch let error as HTTP2Error {
      throw Failure(Failure.no, "bearerd violates HTTP/2: \(error.description)")
    }
  }

  private static func withFields<Result>(
    _ fields: HTTP2Fields, _ body: ([HTTP2Field]) throws(HTTP2Error) -> Result
  ) throws(HTTP2Error) -> Result {
    let texts = fields.flatMap { [Array($0.name.utf8), Array($0.value.utf8)] }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: texts.reduce(1) { $0 + $1.count }, alignment: 1)
    defer { copy.deallocate() }
    var start = 0
    let ranges = texts.map { text in
      let range = UnsafeMutableRawBufferPointer(rebasing: copy[start..<start + text.count])
      range.copyBytes(from: text)
      start += text.count
      return UnsafeRawBufferPointer(range)
    }
    return try body(
      stride(from: 0, to: ranges.count, by: 2).map { HTTP2Field(name: ranges[$0], value: ranges[$0 + 1]) })
  }
}

/// What the program got for a call.
struct GRPCReply {
  private var fields: [String: String] = [:]
  private var body: [UInt8] = []
  private(set) var isComplete = false

  mutating func receive(_ event: HTTP2Event, _ input: [UInt8]) {
    switch event {
    case .head(_, let block), .trailers(_, let block):
      for line in block.lines {
        fields[String(decoding: block.bytes[line.name], as: UTF8.self)] = String(
          decoding: block.bytes[line.value], as: UTF8.self)
      }
    case .data(_, let range): body += input[range]
    case .end, .failed, .goAway: isComplete = true
    case .refused, .drained, .settings, .pong: break
    }
  }

  /// The text of the message. Empty if there is none.
  var text: String { (GRPCMessage.decode(body) ?? "").harmless }
  /// The number of the status. `nil` if there is none.
  var status: Int? { fields["grpc-status"].flatMap { Int($0) } }
  /// The error code if bearerd itself made the response.
  var code: String? {
    guard let status = fields["proxy-status"], status.hasPrefix("bearerd; error=") else { return nil }
    return status.split(separator: "details=\"").last.map { String($0.prefix { $0 != "\"" }).harmless }
  }
  /// Everything that the program got, to search it for the token.
  var everything: String {
    fields.map { "\($0)\n\($1)\n" }.joined() + String(decoding: body, as: UTF8.self)
  }

  var statusName: String {
    switch status {
    case nil: "no status"
    case 0: "OK"
    case 7: "PERMISSION_DENIED"
    case 14: "UNAVAILABLE"
    case 16: "UNAUTHENTICATED"
    case let other?: "status \(other)"
    }
  }
}
