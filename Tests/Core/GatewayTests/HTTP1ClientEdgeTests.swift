@testable import Gateway
import HTTP1
import Policy
import Primitives
import Testing

/// HTTP/1 on a client connection, without an exchange.
@Suite struct HTTP1ClientEdgeTests {
  private func head(of text: String) throws -> (HTTP1ClientEdge, RequestHead, rest: [UInt8]) {
    var edge = HTTP1ClientEdge(limits: HeadLimits())
    edge.beginHead(HeadLimits())
    var head = RequestHead()
    let bytes = Array(text.utf8)
    var position = 0
    #expect(try edge.readHead(bytes.span, position: &position, into: &head))
    return (edge, head, Array(bytes[position...]))
  }

  private func request(_ version: String = "1.1", _ fields: String = "") -> String {
    "POST / HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n"
  }

  /// Writes the head of a response, and returns its lines after the status line.
  private func written(
    _ length: BodyLength, to text: String, isEarly: Bool = false, isLast: Bool = false
  ) throws -> (lines: [String], edge: HTTP1ClientEdge) {
    var (edge, head, _) = try head(of: text)
    var response = OutgoingResponse()
    response.begin(200, reason: "Fine")
    response.fields.append("A: b\r\n")
    response.length = length
    var bytes = ByteBuffer()
    edge.writeHead(response, to: head, isEarly: isEarly, isLast: isLast, into: &bytes)
    var lines = String(decoding: bytes.contents, as: UTF8.self).split(
      separator: "\r\n", omittingEmptySubsequences: false
    ).map(String.init)
    #expect(lines.prefix(2) == ["HTTP/1.1 200 Fine", "A: b"] && lines.suffix(2) == ["", ""])
    lines.removeFirst(2)
    lines.removeLast(2)
    return (lines, edge)
  }

  @Test(arguments: [BodyLength.none, .length(0), .length(7)], [("1.0", true), ("1.0", false), ("1.1", false)])
  func `the connection stays open after a response of known length if the client wants it`(
    length: BodyLength, client: (version: String, saysKeepAlive: Bool)
  ) throws {
    let (version, fields) = (client.version, client.saysKeepAlive ? "Connection: keep-alive\r\n" : "")
    let (lines, edge) = try written(length, to: request(version, fields))
    let keeps = version == "1.1" || !fields.isEmpty
    var expected: [String] = []
    if case .length(let count) = length { expected.append("Content-Length: \(count)") }
    if version == "1.0" { expected.append(keeps ? "Connection: keep-alive" : "Connection: close") }
    #expect(lines == expected)
    #expect(edge.closesAfterResponse == !keeps)
  }

  @Test(arguments: [BodyLength.chunked, .untilClose])
  func `a body of unknown length is chunked for HTTP/1.1, and ends with the connection for HTTP/1.0`(
    length: BodyLength
  ) throws {
    let new = try written(length, to: request())
    #expect(new.lines == ["Transfer-Encoding: chunked"] && !new.edge.closesAfterResponse && new.edge.takesTrailers)
    let old = try written(length, to: request("1.0", "Connection: keep-alive\r\n"))
    #expect(old.lines == ["Connection: close"] && old.edge.closesAfterResponse && !old.edge.takesTrailers)
  }

  @Test func `T17: an early response and a last response close the connection`() throws {
    for (isEarly, isLast) in [(true, false), (false, true), (true, true)] {
      let (lines, edge) = try written(.length(1), to: request(), isEarly: isEarly, isLast: isLast)
      #expect(lines == ["Content-Length: 1", "Connection: close"] && edge.closesAfterResponse)
    }
    #expect(try written(.length(1), to: request("1.1", "Connection: close\r\n")).edge.closesAfterResponse)
  }

  @Test func `a switch of protocols is announced, and the connection stays`() throws {
    var (edge, head, _) = try head(of: request())
    var response = OutgoingResponse()
    response.begin(101, reason: "Switching Protocols")
    response.upgrade = .websocket
    var bytes = ByteBuffer()
    edge.writeHead(response, to: head, isEarly: false, isLast: true, into: &bytes)
    let text = String(decoding: bytes.contents, as: UTF8.self)
    #expect(text.contains("\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n") && !edge.closesAfterResponse)
  }

  @Test func `a response to HEAD has the length and no body`() {
    var response = OutgoingResponse()
    response.begin(404, reason: "Not Found")
    response.append(content: Array("gone".utf8)[...])
    for (method, body) in [(HTTP1.Method.get, "gone"), (.head, "")] {
      var bytes = ByteBuffer()
      HTTP1ClientEdge.writeLocal(response, to: method, closes: true, into: &bytes)
      #expect(
        String(decoding: bytes.contents, as: UTF8.self)
          == "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nConnection: close\r\n\r\n\(body)")
    }
  }

  @Test func `a body of known length is passed on as a range of the input, without a copy`() throws {
    let (_, edge) = try written(.length(6), to: request())
    let input = Array("xxabcdef".utf8)
    var output = Output()
    output.results.unchanged = 2..<5
    edge.writeBody(input.span, to: &output)
    output.results.unchanged = 5..<8
    edge.writeBody(input.span, to: &output)
    #expect(output.results.clientBody == 2..<8 && output.toClient.isEmpty && output.results.actions == .sendToClient)
    // After changed bytes, the order must stay.
    output.changed = Array("**".utf8)
    output.results.unchanged = 7..<8
    edge.writeBody(input.span, to: &output)
    #expect(Array(output.toClient.contents) == Array("abcdef**".utf8) && output.results.clientBody == 7..<8)
  }

  @Test func `chunks carry changed and unchanged bytes, and trailers follow the last chunk`() throws {
    let (_, edge) = try written(.chunked, to: request())
    let input = Array("abcdef".utf8)
    var output = Output()
    output.changed = Array("**".utf8)
    output.results.unchanged = 1..<3
    edge.writeBody(input.span, to: &output)
    output.trailers.append("T: 1\r\n")
    edge.writeEnd(trailers: output.trailers, to: &output)
    #expect(
      String(decoding: output.toClient.contents, as: UTF8.self) == "4\r\n**bc\r\n0\r\nT: 1\r\n\r\n"
        && output.results.clientBody.isEmpty)
    // An empty piece would end the body.
    output.begin()
    edge.writeBody(input.span, to: &output)
    #expect(output.results.actions.isEmpty && output.toClient.isEmpty)
  }

  @Test func `pipelined requests are read one after the other, each with its body and trailers`() throws {
    var (edge, _, rest) = try head(
      of: request("1.1", "Transfer-Encoding: chunked\r\n") + "2\r\nab\r\n0\r\nT: 1\r\n\r\n" + request())
    var position = 0
    #expect(try edge.readBody(rest.span, position: &position) == .data(3..<5))
    #expect(try edge.readBody(rest.span, position: &position) == .end)
    let trailers = edge.takeTrailers()
    #expect(trailers?.fields.count == 1)
    #expect(try edge.readBody(rest.span, position: &position) == .end)
    edge.renew()
    #expect(!edge.hasBegun)
    edge.beginHead(HeadLimits())
    var next = RequestHead()
    #expect(try edge.readHead(rest.span, position: &position, into: &next) && position == rest.count)
    let others = edge.takeTrailers()
    #expect(others == nil)
  }

  @Test func `after a malformed head, the next head is read from its beginning`() throws {
    var edge = HTTP1ClientEdge(limits: HeadLimits())
    edge.beginHead(HeadLimits())
    var head = RequestHead()
    var position = 0
    let bad = Array("GET / HTTP/1.1\r\nbad\r\n\r\n".utf8)
    #expect(throws: MessageError.self) { try edge.readHead(bad.span, position: &position, into: &head) }
    edge.renew()
    edge.beginHead(HeadLimits())
    let good = Array("GET /good HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    #expect(try edge.readHead(good.span, position: &position, into: &head) && position == good.count)
  }
}
