import HTTP2
package import TestServer
import TestSupport

/// The HTTP versions of the two connections of a request.
package struct Wire: Sendable, CustomStringConvertible {
  package enum Version: String, Sendable, CaseIterable { case http1, http2 }

  package let client: Version
  package let upstream: Version

  package init(client: Version, upstream: Version) { (self.client, self.upstream) = (client, upstream) }

  package static let all = Version.allCases.flatMap { client in
    Version.allCases.map { Wire(client: client, upstream: $0) }
  }

  package var description: String { "\(client) to \(upstream)" }

  /// The options of an upstream that speaks this version. A handler of `handler` fits both.
  package var options: UpstreamServer.Options {
    var options = UpstreamServer.Options()
    options.protocols = upstream == .http2 ? ["h2"] : ["http/1.1"]
    return options
  }

  /// Returns a handler that runs the same steps in both versions, for the events `head` and `end` of each request.
  package static func handler(
    onEvent: @escaping @Sendable (HTTP2Request) -> [HTTP2Step]
  ) -> @Sendable (AcceptedConnection) -> Void {
    UpstreamServer.http2EventHandler(
      http1: { connection in try? UpstreamServer.serveHTTP1(connection, onEvent) },
      onEvent: { $0.event == .head || $0.event == .end ? onEvent($0) : [] })
  }
}

/// One connection of a client, in either version of HTTP. With HTTP/1, one request at a time.
package final class WireClient {
  /// How the length of a request's body is announced.
  package enum Body { case none, length(Int), unknown }

  package struct Response {
    package var interim: [Int] = []
    package var status = 0
    /// With names in lower case.
    package var fields: HTTP2Fields = []
    package var body: [UInt8] = []
    package var trailers: [String] = []

    package var text: String { String(decoding: body, as: UTF8.self) }
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
  }

  private let authority: String
  /// `nil` for HTTP/1.
  package let http2: HTTP2Client?
  package let socket: RawClient
  private var isChunked = false
  private var isHead = false

  package init(_ version: Wire.Version, _ stage: Stage, _ listener: String = "main", receiveBuffer: Int32? = nil) throws
  {
    socket = try stage.raw(listener, receiveBuffer: receiveBuffer)
    authority = "localhost:\(try stage.daemon!.port(listener))"
    http2 = version == .http2 ? try HTTP2Client(socket, authority: authority) : nil
  }

  /// Sends the head of a request, and returns its stream.
  package func begin(
    _ method: String, _ path: String = "/api/x", fields: HTTP2Fields = [], body: Body = .none
  ) throws -> Int32 {
    var fields = fields
    if case .length(let count) = body { fields.append(("content-length", "\(count)")) }
    if let http2 {
      let endsStream = if case .none = body { true } else { false }
      return try http2.begin(method, path, fields: fields, endsStream: endsStream)
    }
    isHead = method == "HEAD"
    isChunked = if case .unknown = body { true } else { false }
    if isChunked { fields.append(("transfer-encoding", "chunked")) }
    var text = "\(method) \(path) HTTP/1.1\r\n"
    let host = fields.first { $0.name == ":authority" }?.value ?? authority
    text += "Host: \(host)\r\n"
    for field in fields where !field.name.hasPrefix(":") { text += "\(field.name): \(field.value)\r\n" }
    try socket.send(text + "\r\n")
    return 0
  }

  package func send(_ bytes: [UInt8], on stream: Int32) throws {
    if let http2 { return try http2.write(bytes, on: stream) }
    if !isChunked { return try socket.send(bytes) }
    try socket.send(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8))
  }

  package func end(_ stream: Int32, trailers: HTTP2Fields = []) throws {
    if let http2 { return try http2.end(stream, trailers: trailers) }
    if isChunked { try socket.send("0\r\n" + trailers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n") }
  }

  /// Cancels the request. With HTTP/1, closes the connection.
  package func cancel(_ stream: Int32) throws {
    if let http2 { try http2.reset(stream) } else { socket.reset() }
  }

  /// Sends a request without a body, and returns its response.
  package func get(_ path: String = "/api/x", fields: HTTP2Fields = [], method: String = "GET") throws -> Response {
    try response(begin(method, path, fields: fields))
  }

  /// Waits for the head of the response.
  package func head(_ stream: Int32) throws -> Response {
    var response = Response()
    if let http2 {
      let arrived = try http2.wait(for: stream) { $0.status != nil }
      guard let status = arrived.status else { throw TestFailure("the stream failed: \(arrived)") }
      (response.interim, response.status, response.fields) = (arrived.interim, status, arrived.fields)
      return response
    }
    while response.status < 200 {
      if response.status > 0 { response.interim.append(response.status) }
      let lines = try socket.head().split(separator: "\r\n")
      response.status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      guard response.status > 0 else { throw TestFailure("no status line") }
      response.fields = lines.dropFirst().map { line in
        let parts = line.split(separator: ":", maxSplits: 1)
        return (parts[0].lowercased(), String((parts.count > 1 ? parts[1] : "").drop { $0 == " " }))
      }
    }
    return response
  }

  /// Waits for the rest of the response. Throws if the response is not complete.
  package func rest(_ response: Response, _ stream: Int32) throws -> Response {
    var response = response
    if let http2 {
      let whole = try http2.response(stream)
      (response.interim, response.body) = (whole.interim, whole.body)
      response.trailers = whole.trailers.map { "\($0.name): \($0.value)" }
      return response
    }
    if isHead || response.status == 204 || response.status == 304 { return response }
    if let length = response["content-length"].flatMap({ Int($0) }) {
      response.body = try socket.exactly(length)
    } else if response["transfer-encoding"] == "chunked" {
      response.trailers = try socket.chunks { response.body += $0 }.map { $0.lowercased() }
    } else {
      let rest = socket.rest()
      guard rest.ending == .clean else { throw TestFailure("the connection was reset") }
      response.body = rest.bytes
    }
    return response
  }

  package func response(_ stream: Int32) throws -> Response { try rest(head(stream), stream) }
}

extension UpstreamServer {
  /// Serves HTTP/1 requests with the steps of HTTP/2.
  fileprivate static func serveHTTP1(
    _ connection: AcceptedConnection, _ onEvent: (HTTP2Request) -> [HTTP2Step]
  ) throws {
    while true {
      var early: [HTTP2Step] = []
      var request = HTTP2Request(connection: connection.number, stream: 0, fields: [])
      let whole = try connection.readRequest { head in
        request = HTTP2Request(connection: connection.number, stream: 0, fields: fields(of: head))
        early = onEvent(request)
        if !early.isEmpty, try run(early, on: connection, isHead: request.method == "HEAD") { throw Ended() }
      }
      guard let whole else { return }
      request.complete(with: whole.body)
      if try run(onEvent(request), on: connection, isHead: request.method == "HEAD") { return }
    }
  }

  private struct Ended: Error {}

  private static func fields(of head: [UInt8]) -> HTTP2Fields {
    let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
    let words = lines[0].split(separator: " ").map(String.init)
    let fields = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return (name: parts[0].lowercased(), value: String((parts.count > 1 ? parts[1] : "").drop { $0 == " " }))
    }
    let authority = fields.first { $0.name == "host" }?.value ?? ""
    return [(":method", words[0]), (":path", words[1]), (":authority", authority)] + fields
  }

  /// Returns whether the connection ends.
  private static func run(_ steps: [HTTP2Step], on connection: AcceptedConnection, isHead: Bool) throws -> Bool {
    var isChunked = false
    for step in steps {
      switch step {
      case .head(let status, let fields, let ends):
        var text = "HTTP/1.1 \(status) Status\r\n" + fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        if status >= 200, status != 204, !isHead, !fields.contains(where: { $0.name == "content-length" }) {
          isChunked = !ends
          text += ends ? "content-length: 0\r\n" : "transfer-encoding: chunked\r\n"
        }
        try connection.write(Array((text + "\r\n").utf8))
      case .data(let bytes):
        if isChunked { try connection.write(Array("\(String(bytes.count, radix: 16))\r\n".utf8)) }
        try connection.write(bytes)
        if isChunked { try connection.write(Array("\r\n".utf8)) }
      case .trailers(let fields):
        try connection.write(Array(("0\r\n" + fields.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n").utf8))
      case .end: if isChunked { try connection.write(Array("0\r\n\r\n".utf8)) }
      case .wait(let gate): guard eventually({ gate.isOpen }) else { return true }
      case .reset:
        connection.reset()
        return true
      case .goAway, .raw, .close: return true
      }
    }
    return false
  }
}
