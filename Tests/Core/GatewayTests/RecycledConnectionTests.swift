import Gateway
import HTTP1
import Policy
import Testing

/// One state machine serves several connections in a row, also of different callers.
@Suite struct RecycledConnectionTests {
  typealias Play = @Sendable (inout Conversation) -> Void
  private let first = Caller(uid: 1000)

  /// States in which the earlier connection can end.
  static let before: [(String, Play)] = [
    ("no request", { _ in }),
    ("a response", { $0.ask() }),
    ("several responses", { conversation in for _ in 0..<3 { conversation.ask() } }),
    ("half a head", { $0.client("GET /api/secret HTTP/1.1\r\nHost: localhost:7070\r\nAuthorization: Bearer mine") }),
    ("a malformed head", { $0.client("GET /api/secret HTTP/1.1\r\nHost: localhost:7070\r\nBad field\r\n\r\n") }),
    (
      "a large head",
      { $0.client("GET /api/\(String(repeating: "x", count: 9_000)) HTTP/1.1\r\nHost: localhost:7070\r\n\r\n") }
    ),
    (
      "a waiting request",
      { conversation in
        conversation.opensImmediately = false
        conversation.client("GET /api/secret HTTP/1.1\r\nHost: localhost:7070\r\n\r\n")
      }
    ),
    ("half a body", { $0.client("PUT /api/secret HTTP/1.1\r\nHost: localhost:7070\r\nContent-Length: 9\r\n\r\nabc") }),
    (
      "trailers",
      { conversation in
        conversation.client(
          "PUT /api/s HTTP/1.1\r\nHost: localhost:7070\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Mine: secret\r\n\r\n"
        )
        conversation.upstream("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Its: secret\r\n\r\n")
      }
    ),
    (
      "half a response head",
      { conversation in
        conversation.client("GET /api/secret HTTP/1.1\r\nHost: localhost:7070\r\n\r\n")
        conversation.upstream("HTTP/1.1 200 OK\r\nSet-Cookie: sec")
      }
    ),
    (
      "half a response",
      { conversation in
        conversation.client("GET /api/secret HTTP/1.1\r\nHost: localhost:7070\r\n\r\n")
        conversation.upstream("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
      }
    ),
    (
      "many interim responses",
      { conversation in
        conversation.client("GET /api/secret HTTP/1.1\r\nHost: localhost:7070\r\n\r\n")
        for _ in 0..<32 { conversation.upstream("HTTP/1.1 103 Early Hints\r\n\r\n") }
      }
    ),
    (
      "an upgrade",
      { conversation in
        conversation.client(
          "GET /api/secret HTTP/1.1\r\nHost: localhost:7070\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        conversation.upstream("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nx")
        conversation.apply { $0.upstreamEnded(isClean: true, redaction: nil, output: &$1) }
      }
    ),
    (
      "draining",
      { conversation in
        conversation.client("GET /api/secret HTTP/1.1\r\nHost: localhost:7070\r\n\r\n")
        conversation.apply { machine, _ in machine.drain() }
      }
    ),
    ("a half-closed client", { $0.apply { $0.clientEnded(output: &$1) } }),
    ("a refusal", { $0.client("TRACE /api/secret HTTP/1.1\r\nHost: localhost:7070\r\n\r\n") }),
    (
      "a foreign Host",
      { $0.client("GET /api/secret HTTP/1.1\r\nHost: evil.test\r\nConnection: x-nominated\r\n\r\n") }
    ),
  ]

  /// Events on the next connection.
  static let after: [(String, Play)] = [
    ("nothing", { _ in }),
    ("a request", { $0.ask() }),
    (
      "a request in pieces",
      { conversation in
        for byte in "GET /api/a HTTP/1.1\r\nHost: localhost:7070\r\nConnection: keep-alive\r\n\r\n".utf8 {
          conversation.client([byte])
        }
        for byte in "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno".utf8 { conversation.upstream([byte]) }
      }
    ),
    ("a malformed head", { $0.client(" \r\n\r\n") }),
    (
      "a head that takes too long",
      { conversation in
        conversation.client("GE")
        conversation.apply { $0.deadlinePassed(output: &$1) }
      }
    ),
    ("a foreign Host", { $0.client("GET /api/b HTTP/1.1\r\nHost: evil.test\r\n\r\n") }),
    ("an unreadable path", { $0.client("GET /api/../b HTTP/1.1\r\nHost: localhost:7070\r\n\r\n") }),
    (
      "a body",
      { conversation in
        conversation.client("POST /api/c HTTP/1.1\r\nHost: localhost:7070\r\nContent-Length: 3\r\n\r\nabc")
        conversation.upstream("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")
      }
    ),
    (
      "two pipelined requests",
      { conversation in
        conversation.client(
          "GET /api/1 HTTP/1.1\r\nHost: localhost:7070\r\n\r\nGET /api/2 HTTP/1.1\r\nHost: localhost:7070\r\n\r\n")
        conversation.upstream("HTTP/1.1 204 No Content\r\n\r\n")
        conversation.upstream("HTTP/1.1 204 No Content\r\n\r\n")
      }
    ),
    ("a half-close", { $0.apply { $0.clientEnded(output: &$1) } }),
    ("draining", { $0.apply { machine, _ in machine.drain() } }),
  ]

  @Test(arguments: before.indices, after.indices)
  func `T34: a connection sees nothing of an earlier connection whose state machine it reuses`(last: Int, next: Int)
    throws
  {
    let snapshot = try snapshot()
    for caller in [Caller(uid: 1000), Caller(uid: 1001), nil] {
      var taken = Conversation(snapshot, caller: first)
      Self.before[last].1(&taken)
      var new = Conversation(snapshot, caller: caller)
      taken.recycle(for: caller)
      #expect(taken.summary == new.summary)
      Self.after[next].1(&taken)
      Self.after[next].1(&new)
      #expect(taken.response == new.response)
      #expect(taken.sessions == new.sessions)
      #expect(taken.log == new.log)
      #expect(taken.summary == new.summary)
      #expect(taken.records.map { "\($0)" } == new.records.map { "\($0)" })
    }
  }

  @Test func `T50: no bytes of a head stay in memory that the next connection reuses`() throws {
    var conversation = Conversation(try snapshot())
    conversation.ask()
    #expect(!conversation.head.bytes.allSatisfy { $0 == 0 })
    conversation.recycle(for: nil)
    #expect(conversation.head.bytes.allSatisfy { $0 == 0 })
    #expect(conversation.responseHead.bytes.allSatisfy { $0 == 0 })
    #expect(!conversation.target.path.isEmpty && conversation.target.path.allSatisfy { $0 == 0 })
    #expect(conversation.head.fields.isEmpty)
    #expect(conversation.responseHead.fields.isEmpty)
  }
}
