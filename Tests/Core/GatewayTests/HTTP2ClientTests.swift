@testable import Gateway
import HTTP1
import Policy
import Testing

/// Requests whose client speaks HTTP/2.
@Suite struct HTTP2ClientTests {
  private func request(
    _ fields: (String, String)..., method: String = "GET", path: String = "/api/x",
    authority: String = "localhost:7070",
    endsStream: Bool = true, upstream: ApplicationProtocol = .http1, caller: Caller? = nil
  ) throws -> Conversation {
    var played = Conversation(try GatewayTests.snapshot())
    played.applicationProtocol = upstream
    let start: [(String, String)] = [
      (":method", method), (":scheme", "http"), (":path", path), (":authority", authority),
    ]
    played.clientHead(start + fields, endsStream: endsStream)
    return played
  }

  private func lines(_ played: Conversation) -> [String] { head(played.clientHeads) }

  @Test func `a response has a head without framing, a raw body and an end`() throws {
    var played = try request()
    #expect(played.request.hasPrefix("GET /base/x HTTP/1.1\r\n"))
    played.upstream("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n3\r\none\r\n")
    #expect(lines(played)[0] == "HTTP/1.1 200 " && lines(played).contains("X-A: b"))
    #expect(!played.clientHeads.lowercased().contains("transfer-encoding"))
    #expect(!played.clientHeads.lowercased().contains("connection"))
    #expect(played.response == "one" && !played.log.contains("end of response"))
    played.upstream("3\r\ntwo\r\n0\r\nT: 1\r\n\r\n")
    #expect(played.response == "onetwo" && played.responseTrailers == "T: 1\r\n")
    #expect(played.log == ["open", "end of response", "release", "record"])
  }

  @Test func `a declared length is passed on`() throws {
    var played = try request()
    played.upstream(ok(body: "hello"))
    #expect(value("Content-Length", played.clientHeads) == "5" && played.response == "hello")
    #expect(played.log == ["open", "end of response", "release", "record"])
  }

  @Test(arguments: [("HEAD", "200 OK"), ("GET", "204 No Content"), ("GET", "304 Not Modified")])
  func `a response without a body ends with its head`(method: String, status: String) throws {
    var played = try request(method: method)
    played.upstream("HTTP/1.1 \(status)\r\n\(method == "HEAD" ? "Content-Length: 5\r\n" : "")\r\n")
    #expect(played.log == ["open", "end of response", "release", "record"] && played.response.isEmpty)
  }

  @Test func `a response that ends with its connection ends the stream`() throws {
    var played = try request()
    played.upstream("HTTP/1.0 200 OK\r\n\r\nhello")
    played.upstreamEnded()
    #expect(played.response == "hello" && played.log == ["open", "end of response", "drop", "record"])
  }

  @Test func `a response that is cut resets the stream`() throws {
    var played = try request()
    played.upstream("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
    played.upstreamEnded()
    #expect(played.log.contains("reset") && !played.log.contains("end of response"))
  }

  @Test func `interim responses precede the response`() throws {
    var played = try request(("expect", "100-continue"), method: "POST", endsStream: false)
    played.upstream("HTTP/1.1 100 Continue\r\n\r\n")
    played.client("hi")
    played.clientMessage(.end)
    played.upstream(ok())
    #expect(played.clientHeads.hasPrefix("HTTP/1.1 100 \r\n\r\nHTTP/1.1 200 \r\n"))
  }

  @Test func `a body of unknown length is sent in chunks, with its trailers`() throws {
    var played = try request(("te", "trailers"), method: "POST", endsStream: false)
    played.client("one")
    played.client("two")
    #expect(!played.request.hasSuffix("0\r\n\r\n"))
    played.clientMessage(.trailers(headerBlock([("x-sum", "1")])), isLast: true)
    #expect(played.request.contains("3\r\none\r\n3\r\ntwo\r\n0\r\nx-sum: 1\r\n\r\n"))
    played.upstream(ok())
    #expect(played.log == ["open", "end of response", "release", "record"])
  }

  @Test func `both sides may speak HTTP/2`() throws {
    var played = try request(method: "POST", endsStream: false, upstream: .http2)
    played.client("one")
    #expect(played.request.hasSuffix("\r\n\r\none"))
    played.clientMessage(.end)
    #expect(played.log == ["open", "end of request"])
    played.stream(200, ("content-type", "application/grpc"), data: "two", trailers: [("grpc-status", "0")])
    #expect(played.response == "two" && played.responseTrailers == "grpc-status: 0\r\n")
    #expect(played.log == ["open", "end of request", "end of response", "release", "record"])
  }

  @Test func `a body must have its declared length`() throws {
    var played = try request(("content-length", "3"), method: "POST", endsStream: false)
    played.client("one")
    played.clientMessage(.end)
    #expect(played.request.hasSuffix("\r\n\r\none"))
    played.upstream(ok())
    #expect(played.log == ["open", "end of response", "release", "record"])
    var longer = try request(("content-length", "3"), method: "POST", endsStream: false)
    longer.client("four")
    #expect(lines(longer)[0] == "HTTP/1.1 400 ")
    var shorter = try request(("content-length", "3"), method: "POST", endsStream: false)
    shorter.client("on")
    shorter.clientMessage(.end)
    #expect(lines(shorter)[0] == "HTTP/1.1 400 ")
  }

  @Test func `a response before the end of the request ends the stream`() throws {
    var played = try request(("content-length", "3"), method: "POST", endsStream: false)
    played.upstream(ok())
    #expect(played.log == ["open", "end of response", "drop", "record", "shutdown client"])
  }

  @Test func `a refusal has a head, a body and an end`() throws {
    let played = try request(path: "/unknown")
    #expect(lines(played)[0].hasPrefix("HTTP/1.1 4") && value("Content-Type", played.clientHeads) != nil)
    #expect(!played.response.isEmpty && played.log == ["end of response", "record"])
    #expect(!played.clientHeads.contains("Connection"))
  }

  @Test func `a refusal of HEAD has no body`() throws {
    let played = try request(method: "HEAD", path: "/unknown")
    #expect(played.response.isEmpty && played.log == ["end of response", "record"])
  }

  @Test(arguments: [
    RefusedHead(status: "400", authority: nil),
    RefusedHead(status: "421", authority: "evil.example"),
    RefusedHead(status: "4", scheme: "https"),
    RefusedHead(status: "4", method: "CONNECT", path: nil, scheme: nil),
    RefusedHead(status: "400", field: ("host", "evil.example")),
    RefusedHead(status: "400", field: ("connection", "close")),
    RefusedHead(status: "400", path: "/api/x HTTP/1.1\r\nX: y"),
  ])
  func `requests that HTTP/1 would refuse are refused`(row: RefusedHead) throws {
    var played = Conversation(try GatewayTests.snapshot())
    played.clientHead(row.fields)
    #expect(lines(played)[0].hasPrefix("HTTP/1.1 \(row.status)"), "\(played.clientHeads)")
    #expect(played.sessions.isEmpty && played.log.contains("end of response"))
  }

  @Test func `an extended CONNECT becomes a tunnel`() throws {
    var played = Conversation(try GatewayTests.snapshot())
    let fields: [(String, String)] = [
      (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/api/x"),
      (":authority", "localhost:7070"), ("sec-websocket-version", "13"),
      ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]
    played.clientHead(fields, endsStream: false)
    #expect(played.request.hasPrefix("GET ") && value("Upgrade", played.request) == "websocket")
    played.upstream(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
    #expect(lines(played)[0] == "HTTP/1.1 200 " && played.phase == .upgraded)
    #expect(!played.clientHeads.lowercased().contains("upgrade"))
    played.client("up")
    #expect(played.request.hasSuffix("\r\n\r\nup"))
    played.upstream("down")
    #expect(played.response == "down" && !played.log.contains("end of response"))
  }

  @Test func `a response that does not switch protocols is no tunnel`() throws {
    var played = Conversation(try GatewayTests.snapshot())
    let fields: [(String, String)] = [
      (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/api/x"),
      (":authority", "localhost:7070"),
    ]
    played.clientHead(fields, endsStream: false)
    played.upstream(ok())
    #expect(lines(played)[0] == "HTTP/1.1 502 ")
    played.clientHead(fields, endsStream: false)
    played.upstream(ok(status: "403 Forbidden"))
    #expect(played.clientHeads.contains("HTTP/1.1 403 "))
  }

  @Test func `a refusal of a malformed HEAD has no body`() throws {
    let played = try request(method: "HEAD", path: "/api/x#a")
    #expect(lines(played)[0] == "HTTP/1.1 400 " && played.response.isEmpty)
  }

  @Test func `a machine serves HTTP/1 after HTTP/2`() throws {
    var played = try request()
    played.upstream(ok())
    played.recycle(for: caller)
    played.client(get())
    played.upstream(ok())
    #expect(played.response.hasPrefix("HTTP/1.1 200 OK\r\n") && played.clientHeads.isEmpty)
  }
}

/// The head of a request that is refused, and the beginning of its status.
struct RefusedHead {
  let status: String
  var method = "GET"
  var path: String? = "/api/x"
  var scheme: String? = "http"
  var authority: String? = "localhost:7070"
  var field: (String, String)?

  var fields: [(String, String)] {
    var fields: [(String, String)] = [(":method", method)]
    if let scheme { fields.append((":scheme", scheme)) }
    if let path { fields.append((":path", path)) }
    if let authority { fields.append((":authority", authority)) }
    if let field { fields.append(field) }
    return fields
  }
}
