import HTTP1
import Primitives
import Testing

/// The head of a request to an upstream, and its form in HTTP/1.1.
@Suite struct OutgoingRequestTests {
  private func request(_ target: String = "/a", fields: String = "", cookie: String = "") -> OutgoingRequest {
    var request = OutgoingRequest()
    request.begin(method: Array("GET".utf8).span, authority: Array("h:8443".utf8))
    request.line.append(contentsOf: Array(target.utf8))
    request.fields.append(contentsOf: Array(fields.utf8))
    request.cookie.append(contentsOf: Array(cookie.utf8))
    return request
  }

  private func text(_ request: OutgoingRequest, parameter: String = "", cookie: String = "") -> String {
    var output = ByteBuffer()
    let (parameter, cookie) = (Array(parameter.utf8), Array(cookie.utf8))
    RequestWriter.write(request, parameter: parameter.span, cookie: cookie.span) { output.append($0) }
    return String(decoding: output.contents, as: UTF8.self)
  }

  @Test func `an emptied request contains nothing of the previous request`() {
    var request = request(fields: "a: b\r\n", cookie: "c=d")
    (request.bodyLength, request.upgrade, request.acceptsTrailers, request.isLast) = (.chunked, "websocket", true, true)
    request.removeAll()
    #expect(request.line.isEmpty && request.method.isEmpty && request.target.isEmpty && request.authority.isEmpty)
    #expect(request.fields.isEmpty && request.cookie.isEmpty && request.bodyLength == .none)
    #expect(request.upgrade == nil && !request.acceptsTrailers && !request.isLast)
    request.fields.append("a: b\r\n")
    request.removeAll()
    #expect(request.fields.isEmpty)
  }

  @Test func `method and target are ranges of the line`() {
    let request = request("/a?b c")
    #expect(request.line.contents[request.method].elementsEqual("GET".utf8))
    #expect(request.line.contents[request.target].elementsEqual("/a?b c".utf8))
    #expect(request.hasPath && !self.request("*").hasPath && !self.request("").hasPath && !OutgoingRequest().hasPath)
  }

  @Test(arguments: [
    ("", true), ("a: b\r\n", true), ("a: b\r\nc: \r\n", true), ("a: b", false), ("a: b\n", false),
    ("a: b\r\n\r\n", false), ("\r\n", false), ("\r\na: b\r\n", false), ("\n", false),
  ])
  func `T16: fields after which no field can follow are not complete`(_ fields: String, _ isComplete: Bool) {
    #expect(request(fields: fields).isComplete == isComplete)
    #expect(!request("", fields: fields).isComplete && !OutgoingRequest().isComplete)
  }

  @Test(
    arguments: [
      ("", [], true), ("a: b\r\n", ["a", "b"], true), ("a: b: c\r\nd: \r\n", ["a", "b: c", "d", ""], true),
      ("a: b\r\nc", ["a", "b"], false), ("a:b\r\n", [], false), ("a\r\n", [], false), (": b\r\n", [], false),
      ("a: b\n", [], false), ("a: b\r", [], false), ("a: b", [], false), ("a: ", [], false), ("a:", [], false),
      ("a: b\r\n\r\nc: d\r\n", ["a", "b"], false), ("a: b\rc\r\n", [], false),
    ] as [(String, [String], Bool)])
  func `field lines are read as pairs, up to a malformed line`(_ lines: String, _ found: [String], _ isWhole: Bool) {
    let bytes = Array(lines.utf8)
    var (pairs, seen) = (FieldPairs(), [String]())
    while let pair = pairs.next(in: bytes.span) {
      seen += [pair.name, pair.value].map { String(decoding: bytes[$0], as: UTF8.self) }
    }
    #expect(seen == found && (pairs.position == bytes.count) == isWhole)
  }

  @Test func `a head has the fields about the connection, the framing and the cookies after all others`() {
    var request = request(fields: "a: b\r\n", cookie: "c=d")
    let start = "GET /a HTTP/1.1\r\nHost: h:8443\r\na: b\r\n"
    #expect(text(request) == start + "Cookie: c=d\r\n")
    (request.isLast, request.bodyLength) = (true, .length(0))
    #expect(text(request) == start + "Connection: close\r\nContent-Length: 0\r\nCookie: c=d\r\n")
    (request.acceptsTrailers, request.bodyLength) = (true, .chunked)
    #expect(
      text(request)
        == start + "TE: trailers\r\nConnection: TE, close\r\nTransfer-Encoding: chunked\r\nCookie: c=d\r\n")
    (request.isLast, request.bodyLength) = (false, .length(.max))
    request.cookie.removeAll()
    #expect(
      text(request) == start + "TE: trailers\r\nConnection: TE\r\nContent-Length: 18446744073709551615\r\n")
    (request.upgrade, request.bodyLength) = ("SPDY/3.1 with a long name", .length(1_203))
    #expect(
      text(request)
        == start + "Connection: upgrade\r\nUpgrade: SPDY/3.1 with a long name\r\nContent-Length: 1203\r\n")
  }

  @Test func `a query parameter joins the target, and a cookie joins the cookies`() {
    for (target, whole) in [
      ("/", "/?k=v"), ("/?", "/?k=v"), ("/?a", "/?a&k=v"), ("/?a&", "/?a&k=v"), ("/&", "/&?k=v"), ("/??", "/??k=v"),
    ] {
      #expect(text(request(target), parameter: "k=v").hasPrefix("GET \(whole) HTTP/1.1\r\n"))
    }
    let start = "GET /a HTTP/1.1\r\nHost: h:8443\r\n"
    #expect(text(request(), cookie: "S=v") == start + "Cookie: S=v\r\n")
    #expect(text(request(cookie: "a=1; b=2"), cookie: "S=v") == start + "Cookie: a=1; b=2; S=v\r\n")
  }

  @Test func `a request without a credential is the same text, with an empty line and the body`() {
    let request = request(fields: "a: b\r\n")
    var output = ByteBuffer()
    RequestWriter.write(request, body: Array("body".utf8).span, to: &output)
    #expect(String(decoding: output.contents, as: UTF8.self) == text(request) + "\r\nbody")
  }
}
