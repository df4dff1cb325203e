import Gateway
import HTTP1
import Policy
import Testing

/// The request as the upstream receives it.
@Suite struct ForwardingTests {
  @Test func `a GET is sent with the credential, and its response comes back`() throws {
    let played = exchange(get("Accept: */*", "User-Agent: t"), ok("Content-Type: text/plain"), try snapshot())
    #expect(
      played.request
        == "GET /base/x HTTP/1.1\r\nHost: up.test\r\nAccept: */*\r\nUser-Agent: t\r\n<credential>\r\n\r\n")
    #expect(played.response == "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi")
    #expect(played.log == ["open", "release", "record"])
    #expect(played.phase == .awaitingHead)
  }

  @Test(arguments: [
    ("/api/", "/base/"), ("/api/a/b?q=1&r", "/base/a/b?q=1&r"), ("/api/%61", "/base/a"), ("/api/x?", "/base/x?"),
    ("/api/a%2Fb", "/base/a%2Fb"), ("/api//x", "/base//x"), ("http://localhost:7070/api/x", "/base/x"),
    ("/api/x?u=http://evil.test/", "/base/x?u=http://evil.test/"),
  ])
  func `the service's path is replaced with the upstream's base path`(target: String, sent: String) throws {
    let played = exchange(get(target: target), nil, try snapshot())
    #expect(head(played.request).first == "GET \(sent) HTTP/1.1")
    #expect(value("Host", played.request) == "up.test")
  }

  @Test(arguments: [
    (Mount.whole, "localhost:7070", "/x", "/base/x"), (.whole, "localhost:7070", "/", "/base/"),
    (.host("api.localhost"), "api.localhost:7070", "/x", "/base/x"),
  ])
  func `a service with its own host name or port has all paths`(
    mount: Mount, host: String, target: String, sent: String
  ) throws {
    let played = exchange("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n", nil, try snapshot(at: mount))
    #expect(head(played.request).first == "GET \(sent) HTTP/1.1")
  }

  @Test func `the target * is forwarded without a credential`() throws {
    let played = exchange(get(target: "*", method: "OPTIONS"), nil, try snapshot(at: .whole))
    #expect(played.request == "OPTIONS * HTTP/1.1\r\nHost: up.test\r\n\r\n")
  }

  @Test(arguments: [
    ("Content-Length: 0", "", "Content-Length: 0", ""), ("Content-Length: 3", "abc", "Content-Length: 3", "abc"),
    (
      "Transfer-Encoding: chunked", "1\r\na\r\n2;x=y\r\nbc\r\n0\r\n\r\n", "Transfer-Encoding: chunked",
      "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"
    ),
    ("Transfer-Encoding: chunked", "0\r\nX-Sum: 7\r\n\r\n", "Transfer-Encoding: chunked", "0\r\nX-Sum: 7\r\n\r\n"),
  ])
  func `request bodies get bearerd's own framing`(framing: String, body: String, sentFraming: String, sentBody: String)
    throws
  {
    let played = exchange(get(framing, method: "POST") + body, ok(), try snapshot())
    #expect(
      played.request == "POST /base/x HTTP/1.1\r\nHost: up.test\r\n\(sentFraming)\r\n<credential>\r\n\r\n\(sentBody)")
    #expect(played.log == ["open", "release", "record"])
  }

  @Test func `a body that arrives early waits for the upstream connection`() throws {
    var played = Conversation(try snapshot())
    played.opensImmediately = false
    played.client(get("Content-Length: 5", method: "PUT") + "ab")
    played.client("cde" + get())
    #expect(played.sessions.isEmpty)
    played.ready()
    #expect(played.request.hasSuffix("\r\n\r\nabcde"))
    played.upstream(ok())
    #expect(played.phase == .awaitingUpstream, "the pipelined request is next")
  }

  @Test func `reading pauses while bytes of the client have to wait`() throws {
    var played = Conversation(try snapshot())
    played.opensImmediately = false
    played.client("POST /api/x HTTP/1.1\r\nHost: localhost:7070\r\n")
    #expect(!played.pausesReadingWhenBuffered, "half a head")
    played.client("Content-Length: 2\r\n\r\n")
    #expect(played.pausesReadingWhenBuffered, "a body waits for its session")
    played.ready()
    #expect(!played.pausesReadingWhenBuffered, "half a body")
    played.client("hi")
    #expect(played.pausesReadingWhenBuffered, "the next request waits for this one")
  }

  @Test func `pipelined requests get their responses in order`() throws {
    var played = Conversation(try snapshot())
    played.client(get(target: "/api/1") + get(target: "/none") + get(target: "/api/2"))
    played.upstream(ok(body: "one"))
    played.upstream(ok(body: "two"))
    #expect(played.sessions.count == 2)
    let statuses = played.response.components(after: "HTTP/1.1 ")
    #expect(statuses == ["200", "404", "200"])
  }

  @Test func `a service sets and removes header fields and adds Via as configured`() throws {
    let edited = try snapshot { service in
      service.headers.set = [.init(name: "X-Team", value: Array("blue".utf8))]
      service.headers.remove = ["x-secret"]
      service.options.via = true
    }
    let played = exchange(get("x_team: red", "X-Secret: 1", "X-Other: 2"), nil, edited)
    #expect(
      head(played.request).dropFirst(2) == ["X-Other: 2", "X-Team: blue", "Via: 1.1 bearerd", "<credential>"])
  }
}

extension String {
  /// Returns the three characters after each occurrence of `marker`.
  func components(after marker: String) -> [String] {
    var found: [String] = []
    let bytes = Array(utf8)
    let wanted = Array(marker.utf8)
    for index in bytes.indices where bytes[index...].starts(with: wanted) {
      found.append(String(decoding: bytes[(index + wanted.count)...].prefix(3), as: UTF8.self))
    }
    return found
  }
}
