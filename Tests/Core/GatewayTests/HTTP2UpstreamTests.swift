@testable import Gateway
import HTTP1
import Policy
import Testing

/// Requests whose upstream speaks HTTP/2. The client speaks HTTP/1.
@Suite struct HTTP2UpstreamTests {
  private func conversation(
    _ request: String? = get(), _ snapshot: Snapshot? = nil, isReused: Bool = false
  ) throws -> Conversation {
    var played = Conversation(try snapshot ?? GatewayTests.snapshot())
    played.applicationProtocol = .http2
    played.isReused = isReused
    if let request { played.client(request) }
    return played
  }

  private func body(_ text: String) -> String {
    text.firstRange(of: "\r\n\r\n").map { String(text[$0.upperBound...]) } ?? ""
  }

  @Test func `a response of unknown length is sent in chunks, and the connection is kept`() throws {
    var played = try conversation()
    played.stream(200, ("content-type", "text/plain"), data: "one", "two")
    #expect(status(played.response) == "200" && value("content-type", played.response) == "text/plain")
    #expect(value("Transfer-Encoding", played.response) == "chunked")
    #expect(unchunked(body(played.response)) == "onetwo")
    #expect(played.log == ["open", "release", "record"] && played.phase == .awaitingHead)
    played.client(get())
    played.stream(200, data: "again")
    #expect(played.records.count == 2 && played.sessions.count == 2)
  }

  @Test func `a declared length is passed on`() throws {
    var played = try conversation()
    played.stream(200, ("content-length", "6"), data: "one", "two")
    #expect(value("Content-Length", played.response) == "6" && body(played.response) == "onetwo")
  }

  @Test(arguments: [("HEAD", 200), ("GET", 204), ("GET", 304)])
  func `a response without a body is complete with its head`(method: String, status: Int) throws {
    var played = try conversation(get(method: method))
    played.stream(.head(headerBlock([(":status", "\(status)"), ("content-type", "text/plain")])))
    #expect(played.log == ["open", "release", "record"])
    #expect(GatewayTests.status(played.response) == "\(status)" && body(played.response).isEmpty)
  }

  @Test func `trailers of a response follow its last chunk`() throws {
    var played = try conversation(get("TE: trailers"))
    played.stream(200, data: "hi", trailers: [("grpc-status", "0"), ("set-cookie", "a=b")])
    #expect(played.response.hasSuffix("0\r\ngrpc-status: 0\r\n\r\n"))
    #expect(played.records[0].dropped.contains(.trailer))
  }

  /// nghttp2 accepts the last two.
  private static let malformedTrailers = [
    [(":status", "200"), ("grpc-status", "0")], [("grpc-status", "0\r\na: b")],
    [("grpc-status", "0"), ("te", "trailers")],
    [("grpc-status", "0"), ("x", String(repeating: "a", count: 300_000))],
  ]

  @Test(arguments: malformedTrailers.indices)
  func `RFC 9113 8.1.1: a response with malformed trailers is not complete`(_ index: Int) throws {
    let trailers = Self.malformedTrailers[index]
    var played = try conversation(get("TE: trailers"))
    played.stream(200, data: "hi", trailers: trailers)
    #expect(played.response.hasSuffix("2\r\nhi\r\n") && played.log == ["open", "drop", "record", "reset"])
    #expect(played.records[0].isAborted && played.records[0].refusal == .plain(.upstreamMalformed))
    // A client over HTTP/2 gets RST_STREAM.
    played = try conversation(nil)
    played.clientHead(Self.call)
    played.stream(200, data: "hi", trailers: trailers)
    #expect(played.log == ["open", "drop", "record", "reset"] && played.responseTrailers.isEmpty)
  }

  private static let call = [
    (":method", "GET"), (":scheme", "http"), (":authority", "localhost:7070"), (":path", "/api/x"), ("te", "trailers"),
  ]

  @Test func `interim responses are passed on`() throws {
    var played = try conversation(get("Expect: 100-continue", "Content-Length: 2", method: "POST"))
    played.stream(.head(headerBlock([(":status", "100")])))
    played.stream(.head(headerBlock([(":status", "103"), ("link", "</a>; rel=preload")])))
    played.client("hi")
    played.stream(201, data: "")
    #expect(played.response.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n"))
    #expect(played.response.contains("HTTP/1.1 201 Created\r\n"))
  }

  @Test func `a body of known length is sent without framing, and its end once`() throws {
    var played = try conversation(get("Content-Length: 6", method: "POST"))
    played.client("one")
    #expect(!played.log.contains("end of request"))
    played.client("two")
    #expect(played.log == ["open", "end of request"] && played.request.hasSuffix("\r\n\r\nonetwo"))
    played.stream(200, data: "")
    #expect(played.log == ["open", "end of request", "release", "record"])
  }

  @Test func `a chunked body is sent without chunks, with its trailers`() throws {
    var played = try conversation(get("Transfer-Encoding: chunked", method: "POST"))
    played.client("3\r\none\r\n3\r\ntwo\r\n0\r\nX-Sum: 7\r\n\r\n")
    #expect(played.request.hasSuffix("\r\n\r\nonetwo") && played.requestTrailers == "X-Sum: 7\r\n")
    #expect(played.log == ["open", "end of request"])
  }

  @Test func `a request without a body ends with its head`() throws {
    let requests = [get(), get("Content-Length: 0", method: "POST")]
    for request in requests {
      let played = try conversation(request)
      #expect(played.log == ["open"])
    }
  }

  @Test func `a response that begins before the end of the request is passed on, and the stream is reset`() throws {
    var played = try conversation(get("Content-Length: 6", method: "POST"))
    played.client("one")
    played.stream(413, data: "too long")
    #expect(status(played.response) == "413" && played.log.contains("drop") && !played.log.contains("release"))
  }

  @Test(arguments: [
    [(":status", "20")], [(":status", "200"), ("Name", "a")], [(":status", "200"), ("a", "b\r\nc: d")],
    [(":status", "200"), ("transfer-encoding", "chunked")], [(":status", "101")], [("a", "b")],
    [(":status", "200"), ("content-length", "1"), ("content-length", "2")],
  ])
  func `a malformed head is refused`(fields: [(String, String)]) throws {
    var played = try conversation()
    played.stream(.head(headerBlock(fields)))
    #expect(status(played.response) == "502" && played.log.contains("drop"))
    #expect(played.records[0].refusal == .plain(.upstreamMalformed))
  }

  @Test(arguments: [["onetwo", "x"], ["one"]])
  func `a body that is not as long as declared is no whole response`(pieces: [String]) throws {
    var played = try conversation()
    played.stream(.head(headerBlock([(":status", "200"), ("content-length", "6")])))
    for piece in pieces { played.upstream(piece) }
    played.stream(.end)
    #expect(played.log.contains("reset") && played.records[0].isAborted)
  }

  @Test func `data of a stream whose connection has ended is no whole response`() throws {
    var played = try conversation()
    played.stream(.head(headerBlock([(":status", "200")])))
    played.upstream("half")
    played.upstreamEnded()
    #expect(played.log.contains("reset") && played.records[0].isAborted)
  }

  @Test(arguments: ["GET", "POST"])
  func `a request that the upstream did not process is sent again, once`(method: String) throws {
    var played = try conversation(get(method: method))
    played.apply { $0.upstreamUnprocessed(output: &$1) }
    #expect(played.log == ["open", "drop", "open fresh"] && played.sessions.count == 2)
    #expect(played.sessions[0] == played.sessions[1])
    var other = played
    played.stream(200, data: "hi")
    #expect(status(played.response) == "200" && played.records[0].isRetried)
    other = try conversation(get(method: method))
    other.apply { $0.upstreamUnprocessed(output: &$1) }
    other.apply { $0.upstreamUnprocessed(output: &$1) }
    #expect(status(other.response) == "502" && other.sessions.count == 2)
  }

  @Test func `a request whose body was sent is not sent again`() throws {
    var played = try conversation(get("Content-Length: 2", method: "POST"))
    played.client("hi")
    played.apply { $0.upstreamUnprocessed(output: &$1) }
    #expect(status(played.response) == "502" && played.sessions.count == 1)
  }

  @Test(arguments: [false, true])
  func `a request whose body is kept is sent again with its body`(isRetriable: Bool) throws {
    // Kept for a renewed credential, or for `retry`.
    let snapshot =
      isRetriable
      ? try GatewayTests.snapshot { $0.retry = RetryPolicy() } : try GatewayTests.snapshot(replayBuffer: 1_024)
    var played = try conversation(get("Transfer-Encoding: chunked", method: "PUT"), snapshot)
    played.client("2\r\nhi\r\n0\r\nX-Sum: 7\r\n\r\n")
    played.apply { $0.upstreamUnprocessed(output: &$1) }
    #expect(played.sessions.count == 2 && played.sessions[0] == played.sessions[1])
    #expect(played.request.hasSuffix("\r\n\r\nhi") && played.requestTrailers.hasSuffix("X-Sum: 7\r\n"))
    #expect(played.log.filter { $0 == "end of request" }.count == 2)
    played.apply { $0.upstreamUnprocessed(output: &$1) }
    #expect(status(played.response) == "502" && played.sessions.count == 2)
  }

  @Test(arguments: [ApplicationProtocol.http1, .http2], [true, false])
  func `a body of which a part was sent is sent again from its beginning`(
    other: ApplicationProtocol, isChunked: Bool
  ) throws {
    let snapshot = try GatewayTests.snapshot(replayBuffer: 6)
    let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 6"
    func piece(_ text: String) -> String { isChunked ? "\(text.utf8.count)\r\n\(text)\r\n" : text }
    var played = try conversation(get(framing, method: "POST"), snapshot)
    played.client(piece("one"))
    played.opensImmediately = false
    played.applicationProtocol = other
    played.apply { $0.upstreamUnprocessed(output: &$1) }
    // Waits for the connection.
    played.client(piece("t"))
    played.ready()
    played.client(piece("wo") + (isChunked ? "0\r\n\r\n" : ""))
    let expected =
      other == .http2 || !isChunked ? "onetwo" : piece("one") + piece("t") + piece("wo") + "0\r\n\r\n"
    #expect(played.request.hasSuffix("\r\n\r\n\(expected)") && played.sessions.count == 2)
    // The whole body is kept for a renewed credential.
    if other == .http1 { return }
    played.stream(401, ("www-authenticate", "Bearer error=\"invalid_token\""), data: "no")
    #expect(played.log.last == "renew")
    played.apply { $0.credentialRenewed(output: &$1) }
    played.ready()
    #expect(played.request.hasSuffix("\r\n\r\nonetwo") && played.sessions.count == 3)
  }

  @Test func `a body longer than the buffer is not sent again`() throws {
    let snapshot = try GatewayTests.snapshot(replayBuffer: 5)
    var played = try conversation(get("Content-Length: 6", method: "POST"), snapshot)
    played.client("onetwo")
    played.apply { $0.upstreamUnprocessed(output: &$1) }
    #expect(status(played.response) == "502" && played.sessions.count == 1)
  }

  @Test func `a second attempt with a renewed credential is sent again with its body`() throws {
    var played = try conversation(
      get("Content-Length: 2", method: "POST"), GatewayTests.snapshot(replayBuffer: 1_024))
    played.client("hi")
    played.stream(401, ("www-authenticate", "Bearer error=\"invalid_token\""), data: "no")
    played.apply { $0.credentialRenewed(output: &$1) }
    played.apply { $0.upstreamUnprocessed(output: &$1) }
    #expect(played.sessions.count == 3 && played.request.hasSuffix("\r\n\r\nhi"))
  }

  @Test func `a request that the upstream may have processed is sent again only if it is idempotent`() throws {
    for (method, isSentAgain) in [("GET", true), ("DELETE", true), ("POST", false), ("PATCH", false)] {
      var played = try conversation(get(method: method))
      played.apply { $0.upstreamUnprocessed(isCertain: false, output: &$1) }
      #expect(played.sessions.count == (isSentAgain ? 2 : 1), "\(method)")
      #expect(isSentAgain || status(played.response) == "502")
    }
  }

  // MARK: WebSockets (RFC 8441)

  private func webSocket(_ snapshot: Snapshot? = nil) throws -> Conversation {
    try conversation(
      get("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="), snapshot)
  }

  @Test func `a WebSocket that the upstream accepts is a switch of protocols for the client`() throws {
    var played = try webSocket()
    #expect(played.log == ["open"])
    played.stream(.head(headerBlock([(":status", "200"), ("content-length", "0"), ("x-a", "1")])))
    #expect(played.phase == .upgraded && status(played.response) == "101" && value("x-a", played.response) == "1")
    #expect(value("Upgrade", played.response) == "websocket" && value("Connection", played.response) == "upgrade")
    #expect(value("Content-Length", played.response) == nil)
    played.client("up")
    played.upstream("down")
    #expect(played.request.hasSuffix("\r\n\r\nup") && played.response.hasSuffix("\r\n\r\ndown"))
    played.upstreamEnded()
    played.client("last")
    #expect(played.log == ["open", "shutdown client"] && played.request.hasSuffix("uplast"))
    played.apply { $0.clientEnded(output: &$1) }
    #expect(played.log.suffix(3) == ["drop", "record", "close"] && played.records[0].status == 101)
  }

  @Test func `a client that ends its half of a WebSocket ends the stream's half`() throws {
    var played = try webSocket()
    played.stream(.head(headerBlock([(":status", "200")])))
    played.apply { $0.clientEnded(output: &$1) }
    #expect(played.log == ["open", "shutdown upstream"] && played.phase == .upgraded)
    played.upstream("rest")
    #expect(played.response.hasSuffix("\r\n\r\nrest"))
  }

  @Test func `a WebSocket that the upstream refuses gets its response`() throws {
    var played = try webSocket()
    played.stream(403, ("content-length", "2"), data: "no")
    #expect(status(played.response) == "403" && body(played.response) == "no")
    // The other half of the stream is open.
    #expect(played.log.contains("drop") && !played.log.contains("release"))
  }

  @Test func `a WebSocket with a subprotocol that was not offered is refused`() throws {
    var played = try webSocket()
    played.stream(.head(headerBlock([(":status", "200"), ("sec-websocket-protocol", "x")])))
    #expect(status(played.response) == "502" && played.records[0].refusal == .plain(.unrequestedUpgrade))
  }

  @Test func `a response to a request for no WebSocket switches no protocol`() throws {
    var played = try conversation(get("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
    played.stream(200, data: "hi")
    #expect(status(played.response) == "200")
  }

  @Test func `a client that speaks HTTP/1.0 gets the body until the connection ends`() throws {
    var played = try conversation(get(version: "1.0"))
    played.stream(200, data: "one", "two")
    #expect(body(played.response) == "onetwo" && played.isOver)
  }

  @Test func `masked bytes and held bytes reach the client in order`() throws {
    var played = try conversation()
    played.stream(400, data: "a^b", "c~", "d")
    #expect(unchunked(body(played.response)) == "a*bc~d")
  }

  @Test func `a status that is retried is not passed on, and the connection is kept`() throws {
    var played = try conversation(get(), GatewayTests.snapshot { $0.retry = RetryPolicy() })
    played.stream(503, data: "no")
    #expect(played.phase == .awaitingRetry && played.log == ["open", "release", "wait"])
  }

  @Test func `a rejected credential is renewed, and the request sent again with its body`() throws {
    var played = try conversation(
      get("Content-Length: 2", method: "POST"), GatewayTests.snapshot(replayBuffer: 1_024))
    played.client("hi")
    played.stream(401, ("www-authenticate", "Bearer error=\"invalid_token\""), data: "no")
    #expect(played.log.contains("renew") && played.received.isEmpty)
    played.apply { $0.credentialRenewed(output: &$1) }
    #expect(played.sessions.count == 2 && played.sessions[1].suffix(2) == Array("hi".utf8))
    #expect(played.log.filter { $0 == "end of request" }.count == 2)
    played.stream(200, data: "yes")
    #expect(status(played.response) == "200")
  }
}
