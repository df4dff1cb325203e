import Gateway
import HTTP1
import Policy
import Testing

/// Requests that servers could read differently (T16), that tunnel or echo (T18), or that name another host (T10).
@Suite struct RefusedRequestTests {
  @Test(arguments: [
    ("Content-Length: 3\r\nTransfer-Encoding: chunked", "400"), ("Content-Length: 3\r\nContent-Length: 3", "400"),
    ("Content-Length: 3\r\nContent-Length: 4", "400"), ("Transfer-Encoding: xchunked", "501"),
    ("Transfer-Encoding: chunked, identity", "400"), ("Transfer-Encoding: gzip, chunked", "501"),
    ("Content-Length: +3", "400"), ("Content-Length:", "400"), ("Content-Length: 99999999999999999999", "400"),
    ("X: 1\nY: 2", "400"), ("X: 1\rY: 2", "400"), ("Host: evil.test", "400"), ("Expect: nonsense", "417"),
    ("X: \u{0}", "400"),
  ])
  func `ambiguous framing is refused, and the connection ends`(lines: String, expected: String) throws {
    let played = exchange(get(lines, method: "POST") + "abc" + get(), nil, try snapshot())
    #expect(status(played.response) == expected)
    #expect(value("Connection", played.response) == "close")
    #expect(played.response.components(after: "HTTP/1.1 ").count == 1, "nothing after it is read")
    #expect(played.sessions.isEmpty && played.isOver)
  }

  @Test(arguments: ["x\r\n", "-1\r\n", "1;\u{0}\r\n", "fffffffffffffffff\r\n", "1\r\naX", "1\na\r\n"])
  func `a malformed chunk ends the exchange and its upstream connection`(chunk: String) throws {
    let played = exchange(get("Transfer-Encoding: chunked", method: "POST") + chunk, nil, try snapshot())
    #expect(status(played.response) == "400")
    #expect(played.log.contains("drop") && !played.log.contains("release") && played.isOver)
  }

  @Test(arguments: ["TRACE", "TRACK", "trace", "CONNECT"])
  func `methods that echo or tunnel are refused`(method: String) throws {
    let target = method == "CONNECT" ? "up.test:443" : "/api/x"
    let played = exchange(get(target: target, method: method), nil, try snapshot())
    #expect(status(played.response) == "405" && played.sessions.isEmpty)
  }

  @Test func `an OPTIONS request is sent without the credential`() throws {
    let played = exchange(get("Authorization: mine", method: "OPTIONS"), nil, try snapshot())
    #expect(played.request == "OPTIONS /base/x HTTP/1.1\r\nHost: up.test\r\n\r\n")
  }

  @Test(arguments: [
    ("/api/../x", "localhost:7070", "400"), ("/api/%2e%2e/x", "localhost:7070", "400"),
    ("/api/x%00", "localhost:7070", "400"),
    ("/api\\x", "localhost:7070", "400"), ("/apix", "localhost:7070", "404"), ("/api", "localhost:7070", "404"),
    ("https://localhost:7070/api/x", "localhost:7070", "421"), ("http://evil.test/api/x", "localhost:7070", "421"),
    ("http://u@localhost:7070/api/x", "localhost:7070", "400"),
    ("http://127.0.0.1:7070/api/x", "evil.test", "421"), ("/api/x#f", "localhost:7070", "400"),
    ("/api/x", "evil.test:7070", "421"), ("/api/x", "localhost:7071", "421"),
    ("//evil.test/api/x", "localhost:7070", "404"),
  ])
  func `a request for another host, or for a path of no service, is refused`(
    target: String, host: String, expected: String
  ) throws {
    let played = exchange("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n", nil, try snapshot())
    #expect(status(played.response) == expected && played.sessions.isEmpty)
  }

  @Test func `a refusal during the request body ends the connection`() throws {
    let played = exchange(get("Content-Length: 10", target: "/none", method: "POST") + "abc", nil, try snapshot())
    #expect(value("Connection", played.response) == "close" && played.log == ["record", "shutdown client"])
  }

  @Test func `a refusal of a request without a body keeps the connection`() throws {
    let played = exchange(get(target: "/none") + get(), nil, try snapshot())
    #expect(value("Connection", played.response) == nil && played.sessions.count == 1)
  }

  @Test(arguments: [nil, Caller(uid: 1001)])
  func `an unknown or unlisted caller is refused`(caller: Caller?) throws {
    var played = Conversation(try snapshot(), caller: caller)
    played.client(get())
    #expect(status(played.response) == "403" && played.sessions.isEmpty)
    #expect(played.records.first?.caller == caller)
  }
}

/// The end of a response is always certain, and later bytes are discarded (T17, T26).
@Suite struct ResponseFramingTests {
  @Test(arguments: [
    ("GET", "200 OK", "Content-Length: 2", "hi", "Content-Length: 2", "hi", true),
    ("GET", "200 OK", "Content-Length: 0", "", "Content-Length: 0", "", true),
    (
      "GET", "200 OK", "Transfer-Encoding: chunked", "2\r\nhi\r\n0\r\n\r\n", "Transfer-Encoding: chunked",
      "2\r\nhi\r\n0\r\n\r\n", true
    ),
    ("HEAD", "200 OK", "Content-Length: 5", "", "Content-Length: 5", "", true),
    ("HEAD", "200 OK", "Transfer-Encoding: chunked", "", "", "", true),
    ("GET", "204 No Content", "X: 1", "", "X: 1", "", true),
    ("GET", "304 Not Modified", "Content-Length: 5", "", "Content-Length: 5", "", true),
    ("GET", "204 No Content", "Content-Length: 5", "", "", "", false),
    ("GET", "200 OK", "Connection: close\r\nContent-Length: 2", "hi", "Content-Length: 2", "hi", false),
  ])
  func `a response ends where its head says`(
    method: String, line: String, fields: String, body: String, framing: String, sent: String, isReused: Bool
  ) throws {
    let played = exchange(get(method: method), "HTTP/1.1 \(line)\r\n\(fields)\r\n\r\n\(body)", try snapshot())
    #expect(played.response == "HTTP/1.1 \(line)\r\n\(framing.isEmpty ? "" : framing + "\r\n")\r\n\(sent)")
    #expect(played.log == ["open", isReused ? "release" : "drop", "record"])
  }

  @Test func `a response that ends with the upstream connection is sent in chunks`() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\n\r\nabc", try snapshot())
    played.upstreamEnded()
    #expect(played.response == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    #expect(played.log == ["open", "drop", "record"] && played.phase == .awaitingHead)
  }

  @Test(arguments: ["HTTP/1.1 200 OK\r\n\r\nabc", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"])
  func `a truncated response resets the client's connection`(response: String) throws {
    var played = exchange(get(), response, try snapshot())
    played.upstreamEnded(isClean: false)
    #expect(played.log == ["open", "drop", "record", "reset"])
    #expect(!played.response.hasSuffix("0\r\n\r\n") && played.records.last?.isAborted == true)
  }

  @Test func `a response shorter than its Content-Length resets the client's connection`() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", try snapshot())
    played.upstreamEnded()
    #expect(played.log == ["open", "drop", "record", "reset"])
  }

  @Test(arguments: [("1.0", "Connection: close"), ("1.0\r\nConnection: keep-alive", "Connection: keep-alive")])
  func `an HTTP/1.0 client is told whether the connection stays open`(version: String, expected: String) throws {
    let played = exchange("GET /api/x HTTP/\(version)\r\nHost: localhost:7070\r\n\r\n", ok(), try snapshot())
    #expect(head(played.response).dropFirst() == ["Content-Length: 2", expected][...])
    #expect(played.isOver == (expected == "Connection: close"))
  }

  @Test func `an HTTP/1.0 client gets no chunks`() throws {
    let response =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;a=b\r\nyou\r\n0\r\nX-Sum: 1\r\n\r\n"
    let played = exchange(
      "GET /api/x HTTP/1.0\r\nHost: localhost:7070\r\nConnection: keep-alive\r\n\r\n", response, try snapshot())
    #expect(played.response == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhiyou")
    #expect(played.log == ["open", "release", "record", "shutdown client"])
  }

  @Test func `a refusal to an HTTP/1.0 client ends the connection`() throws {
    let played = exchange(
      "GET /none HTTP/1.0\r\nHost: localhost:7070\r\nConnection: keep-alive\r\n\r\n", nil, try snapshot())
    #expect(value("Connection", played.response) == "close" && played.isOver)
  }

  @Test func `bytes after a response end the upstream connection and are discarded`() throws {
    var played = exchange(get(), ok() + ok(body: "EVIL"), try snapshot())
    #expect(played.log == ["open", "drop", "record"])
    played.client(get())
    played.upstream(ok(body: "mine"))
    #expect(played.sessions.count == 2 && !played.response.contains("EVIL") && played.response.hasSuffix("mine"))
  }

  @Test(arguments: [
    ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL"), ("GET", "HTTP/1.1 204 No Content\r\n\r\nEVIL"),
    ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nEVIL"),
  ])
  func `the body of a response that cannot have a body is discarded`(method: String, response: String) throws {
    let played = exchange(get(method: method), response, try snapshot())
    #expect(!played.response.contains("EVIL") && played.log == ["open", "drop", "record"])
  }

  /// Some of these responses are repaired by default, and refused only by a strict service.
  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", true),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", false),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", false),
    ("HTTP/2 200\r\n\r\n", false), ("nonsense\r\n\r\n", false), ("HTTP/1.1 200 OK\r\nX : 1\r\n\r\n", true),
    ("HTTP/1.1 200 OK\r\nX\0: 1\r\n\r\n", false), ("HTTP/1.1 200 OK\nX: 1\n\n", true),
    ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false),
  ])
  func `a malformed response is refused with 502`(response: String, isRepaired: Bool) throws {
    for isStrict in isRepaired ? [true] : [true, false] {
      let played = exchange(get(), response, try snapshot { $0.options.responses = isStrict ? .strict : .repair })
      #expect(status(played.response) == "502" && played.response.contains("upstream-malformed"))
      #expect(played.log == ["open", "drop", "record"])
    }
  }

  /// The next exchange must not continue with the partly read head.
  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nX-Lo", "HTTP/1.1 302 Found\r\nLocation: https://evil.test/\r\nX-",
    "HTTP/1.1 200 OK\r\nX : 1\r\n",
  ])
  func `an incomplete response head does not affect the next exchange`(half: String) throws {
    var played = exchange(get(), half, try snapshot())
    played.upstreamEnded(isClean: false)
    let before = played.response
    #expect(status(before) == "502")
    played.client(get())
    played.upstream(ok(body: "mine"))
    #expect(played.response == before + ok(body: "mine"))
  }

  @Test func `a response before the end of the request body ends both connections`() throws {
    var played = exchange(
      get("Content-Length: 10", method: "POST") + "abc", ok(status: "401 Unauthorized"), try snapshot(credential: .pass)
    )
    #expect(status(played.response) == "401" && value("Connection", played.response) == "close")
    #expect(played.log == ["open", "drop", "record", "shutdown client"])
    played.client("defghij" + get())
    #expect(played.sessions.count == 1 && played.request.hasSuffix("abc"))
  }

  @Test func `an upstream connection is not reused if its response began before the request ended`() throws {
    var played = exchange(
      get("Content-Length: 4", method: "POST") + "ab", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh", try snapshot())
    played.client("cd")
    played.upstream("i")
    #expect(played.log == ["open", "drop", "record", "shutdown client"])
    #expect(played.request.hasSuffix("abcd") && played.response.hasSuffix("hi"))
  }
}
