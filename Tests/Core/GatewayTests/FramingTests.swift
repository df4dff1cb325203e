import Gateway
import HTTP1
import Policy
import Testing

/// Nothing that two readers could take differently goes up (T16), nothing tunnels or reflects (T18), nothing names another
/// place (T10).
@Suite struct RefusedRequestTests {
  @Test(arguments: [
    ("Content-Length: 3\r\nTransfer-Encoding: chunked", "400"), ("Content-Length: 3\r\nContent-Length: 3", "400"),
    ("Content-Length: 3\r\nContent-Length: 4", "400"), ("Transfer-Encoding: xchunked", "501"),
    ("Transfer-Encoding: chunked, identity", "400"), ("Transfer-Encoding: gzip, chunked", "501"),
    ("Content-Length: +3", "400"), ("Content-Length:", "400"), ("Content-Length: 99999999999999999999", "400"),
    ("X: 1\nY: 2", "400"), ("X: 1\rY: 2", "400"), ("Host: evil.test", "400"), ("Expect: nonsense", "417"),
    ("X: \u{0}", "400"),
  ])
  func ambiguousFramingIsRefusedAndTheConnectionEnds(lines: String, expected: String) throws {
    let played = exchange(get(lines, method: "POST") + "abc" + get(), nil, try snapshot())
    #expect(status(played.answer) == expected)
    #expect(value("Connection", played.answer) == "close")
    #expect(played.answer.components(after: "HTTP/1.1 ").count == 1, "nothing after it is read")
    #expect(played.sessions.isEmpty && played.isOver)
  }

  @Test(arguments: ["x\r\n", "-1\r\n", "1;\u{0}\r\n", "fffffffffffffffff\r\n", "1\r\naX", "1\na\r\n"])
  func aBrokenChunkEndsTheExchangeAndItsSession(chunk: String) throws {
    let played = exchange(get("Transfer-Encoding: chunked", method: "POST") + chunk, nil, try snapshot())
    #expect(status(played.answer) == "400")
    #expect(played.log.contains("drop") && !played.log.contains("release") && played.isOver)
  }

  @Test(arguments: ["TRACE", "TRACK", "trace", "CONNECT"])
  func reflectionAndTunnelsAreRefused(method: String) throws {
    let target = method == "CONNECT" ? "up.test:443" : "/api/x"
    let played = exchange(get(target: target, method: method), nil, try snapshot())
    #expect(status(played.answer) == "405" && played.sessions.isEmpty)
  }

  @Test func optionsGoesOutWithoutCredential() throws {
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
  func noOtherPlaceCanBeNamed(target: String, host: String, expected: String) throws {
    let played = exchange("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n", nil, try snapshot())
    #expect(status(played.answer) == expected && played.sessions.isEmpty)
  }

  @Test func aRefusalWhileTheBodyIsUnderWayEndsTheConnection() throws {
    let played = exchange(get("Content-Length: 10", target: "/none", method: "POST") + "abc", nil, try snapshot())
    #expect(value("Connection", played.answer) == "close" && played.log == ["record", "shutdown client"])
  }

  @Test func aRefusalWithoutBodyKeepsTheConnection() throws {
    let played = exchange(get(target: "/none") + get(), nil, try snapshot())
    #expect(value("Connection", played.answer) == nil && played.sessions.count == 1)
  }

  @Test(arguments: [nil, Caller(uid: 1001)])
  func aStrangerIsRefused(caller: Caller?) throws {
    var played = Conversation(try snapshot(), caller: caller)
    played.client(get())
    #expect(status(played.answer) == "403" && played.sessions.isEmpty)
    #expect(played.records.first?.caller == caller)
  }
}

/// Where an answer ends is never in doubt, and nothing behind it is anybody's (T17, T26).
@Suite struct AnswerFramingTests {
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
  func theAnswerEndsWhereItsHeadSays(
    method: String, line: String, fields: String, body: String, framing: String, sent: String, isReused: Bool
  ) throws {
    let played = exchange(get(method: method), "HTTP/1.1 \(line)\r\n\(fields)\r\n\r\n\(body)", try snapshot())
    #expect(played.answer == "HTTP/1.1 \(line)\r\n\(framing.isEmpty ? "" : framing + "\r\n")\r\n\(sent)")
    #expect(played.log == ["open", isReused ? "release" : "drop", "record"])
  }

  @Test func anAnswerUntilTheCloseIsChunkedHere() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\n\r\nabc", try snapshot())
    played.upstreamEnded()
    #expect(played.answer == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    #expect(played.log == ["open", "drop", "record"] && played.phase == .awaitingHead)
  }

  @Test(arguments: ["HTTP/1.1 200 OK\r\n\r\nabc", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"])
  func anAnswerThatIsCutShortIsSeenToBe(response: String) throws {
    var played = exchange(get(), response, try snapshot())
    played.upstreamEnded(isClean: false)
    #expect(played.log == ["open", "drop", "record", "reset"])
    #expect(!played.answer.hasSuffix("0\r\n\r\n") && played.records.last?.isAborted == true)
  }

  @Test func aLengthThatIsNotReachedIsSeenToBe() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", try snapshot())
    played.upstreamEnded()
    #expect(played.log == ["open", "drop", "record", "reset"])
  }

  @Test(arguments: [("1.0", "Connection: close"), ("1.0\r\nConnection: keep-alive", "Connection: keep-alive")])
  func anHTTP10ClientIsToldWhetherTheConnectionStays(version: String, expected: String) throws {
    let played = exchange("GET /api/x HTTP/\(version)\r\nHost: localhost:7070\r\n\r\n", ok(), try snapshot())
    #expect(head(played.answer).dropFirst() == ["Content-Length: 2", expected][...])
    #expect(played.isOver == (expected == "Connection: close"))
  }

  @Test func anHTTP10ClientGetsNoChunks() throws {
    let response =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;a=b\r\nyou\r\n0\r\nX-Sum: 1\r\n\r\n"
    let played = exchange(
      "GET /api/x HTTP/1.0\r\nHost: localhost:7070\r\nConnection: keep-alive\r\n\r\n", response, try snapshot())
    #expect(played.answer == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhiyou")
    #expect(played.log == ["open", "release", "record", "shutdown client"])
  }

  @Test func anHTTP10ClientsRefusalEndsTheConnection() throws {
    let played = exchange(
      "GET /none HTTP/1.0\r\nHost: localhost:7070\r\nConnection: keep-alive\r\n\r\n", nil, try snapshot())
    #expect(value("Connection", played.answer) == "close" && played.isOver)
  }

  @Test func surplusBytesEndTheSessionAndReachNobody() throws {
    var played = exchange(get(), ok() + ok(body: "EVIL"), try snapshot())
    #expect(played.log == ["open", "drop", "record"])
    played.client(get())
    played.upstream(ok(body: "mine"))
    #expect(played.sessions.count == 2 && !played.answer.contains("EVIL") && played.answer.hasSuffix("mine"))
  }

  @Test(arguments: [
    ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL"), ("GET", "HTTP/1.1 204 No Content\r\n\r\nEVIL"),
    ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nEVIL"),
  ])
  func aBodyWhereNoneCanBeIsSurplus(method: String, response: String) throws {
    let played = exchange(get(method: method), response, try snapshot())
    #expect(!played.answer.contains("EVIL") && played.log == ["open", "drop", "record"])
  }

  /// Those that are repaired by default are refused by a strict service.
  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", true),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", false),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", false),
    ("HTTP/2 200\r\n\r\n", false), ("nonsense\r\n\r\n", false), ("HTTP/1.1 200 OK\r\nX : 1\r\n\r\n", true),
    ("HTTP/1.1 200 OK\r\nX\0: 1\r\n\r\n", false), ("HTTP/1.1 200 OK\nX: 1\n\n", true),
    ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false),
  ])
  func anAnswerThatIsNoHTTPIsNotPassedOn(response: String, isRepaired: Bool) throws {
    for isStrict in isRepaired ? [true] : [true, false] {
      let played = exchange(get(), response, try snapshot { $0.repairsResponses = !isStrict })
      #expect(status(played.answer) == "502" && played.answer.contains("upstream-malformed"))
      #expect(played.log == ["open", "drop", "record"])
    }
  }

  /// The reader of heads was left in the middle: the next exchange must not go on there.
  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nX-Lo", "HTTP/1.1 302 Found\r\nLocation: https://evil.test/\r\nX-",
    "HTTP/1.1 200 OK\r\nX : 1\r\n",
  ])
  func halfAHeadDoesNotReachTheNextExchange(half: String) throws {
    var played = exchange(get(), half, try snapshot())
    played.upstreamEnded(isClean: false)
    let before = played.answer
    #expect(status(before) == "502")
    played.client(get())
    played.upstream(ok(body: "mine"))
    #expect(played.answer == before + ok(body: "mine"))
  }

  @Test func anEarlyAnswerEndsBothConnections() throws {
    var played = exchange(
      get("Content-Length: 10", method: "POST") + "abc", ok(status: "401 Unauthorized"), try snapshot(credential: .pass)
    )
    #expect(status(played.answer) == "401" && value("Connection", played.answer) == "close")
    #expect(played.log == ["open", "drop", "record", "shutdown client"])
    played.client("defghij" + get())
    #expect(played.sessions.count == 1 && played.request.hasSuffix("abc"))
  }

  @Test func anAnswerThatBeganEarlyDoesNotLeaveItsSessionToOthers() throws {
    var played = exchange(
      get("Content-Length: 4", method: "POST") + "ab", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh", try snapshot())
    played.client("cd")
    played.upstream("i")
    #expect(played.log == ["open", "drop", "record", "shutdown client"])
    #expect(played.request.hasSuffix("abcd") && played.answer.hasSuffix("hi"))
  }
}
