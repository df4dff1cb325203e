import HTTP1
import Testing

@Suite struct RequestHeadTests {
  struct Row: CustomTestStringConvertible {
    let text: String
    let head: ReadRequest
    var testDescription: String { text.debugDescription }

    init(_ text: String, _ head: ReadRequest) {
      self.text = text
      self.head = head
    }
  }

  static let rows: [Row] = [
    Row(
      "GET / HTTP/1.1\r\nHost: localhost:7070\r\n\r\n",
      ReadRequest(method: "GET", target: "/", host: "localhost:7070", fields: ["Host: localhost:7070"])),
    Row(
      "\r\n\r\nGET /a?b=c HTTP/1.1\r\nHost: a\r\n\r\n",
      ReadRequest(method: "GET", target: "/a?b=c", host: "a", fields: ["Host: a"])),
    Row(
      "GET / HTTP/1.0\r\n\r\n",
      ReadRequest(method: "GET", target: "/", version: .http10, fields: [], isKeepAlive: false)),
    Row(
      "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nExpect: 100-continue\r\n\r\n",
      ReadRequest(
        method: "GET", target: "/", version: .http10,
        fields: ["Connection: Keep-Alive", "Expect: 100-continue"])),
    Row(
      "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
      ReadRequest(
        method: "GET", target: "/", version: .http10, fields: ["Connection: keep-alive, close"], isKeepAlive: false)),
    Row(
      "GET / HTTP/1.9\r\nhost:[::1]:7070\r\n\r\n",
      ReadRequest(method: "GET", target: "/", host: "[::1]:7070", fields: ["host: [::1]:7070"])),
    Row(
      "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\nhello",
      ReadRequest(
        method: "POST", target: "/x", host: "a", fields: ["Host: a", "Content-Length: 5", "Expect: 100-Continue"],
        body: .length(5), expectsContinue: true)),
    Row(
      "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n",
      ReadRequest(
        method: "PUT", target: "/x", host: "a", fields: ["Host: a", "Content-Length: 9223372036854775807"],
        body: .length(9_223_372_036_854_775_807))),
    Row(
      "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
      ReadRequest(
        method: "PUT", target: "/x", host: "a", fields: ["Host: a", "Content-Length: 0"], body: .length(0))),
    Row(
      "PATCH /x HTTP/1.1\r\nHost: a\r\ntransfer-encoding: Chunked\r\n\r\n0\r\n\r\n",
      ReadRequest(
        method: "PATCH", target: "/x", host: "a", fields: ["Host: a", "transfer-encoding: Chunked"], body: .chunked)),
    Row(
      "GET / HTTP/1.1\r\nHost: a\r\nX:\r\nY: \t \r\nZ: \t a \t b \t\r\n\r\n",
      ReadRequest(method: "GET", target: "/", host: "a", fields: ["Host: a", "X: ", "Y: ", "Z: a \t b"])),
    Row(
      "GET / HTTP/1.1\r\nHost: a\r\n!#$%&'*+-.^_`|~09azAZ: (\"\\,;<>@[]{})\r\n\r\n",
      ReadRequest(
        method: "GET", target: "/", host: "a", fields: ["Host: a", "!#$%&'*+-.^_`|~09azAZ: (\"\\,;<>@[]{})"])),
    Row(
      "GET / HTTP/1.1\r\nHost: a\r\nName: ü 😀\r\n\r\n",
      ReadRequest(method: "GET", target: "/", host: "a", fields: ["Host: a", "Name: ü 😀"])),
    Row(
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nConnection: X-A ,, CLOSE,\r\n\r\n",
      ReadRequest(
        method: "GET", target: "/", host: "a",
        fields: ["Host: a", "Connection: upgrade", "Connection: X-A ,, CLOSE,"], isKeepAlive: false)),
    Row(
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: \"a, close, b\", closed, not-close\r\n\r\n",
      ReadRequest(
        method: "GET", target: "/", host: "a",
        fields: ["Host: a", "Connection: \"a, close, b\", closed, not-close"])),
    Row(
      "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
      ReadRequest(method: "OPTIONS", target: "*", host: "a", fields: ["Host: a"])),
    Row(
      "CONNECT [::1]:443 HTTP/1.1\r\nHost: a\r\n\r\n",
      ReadRequest(method: "CONNECT", target: "[::1]:443", host: "a", fields: ["Host: a"])),
    Row(
      "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n",
      ReadRequest(method: "TRACE", target: "/", host: "a", fields: ["Host: a"])),
    Row(
      "UPDATEREDIRECTREF /{a}|b^`\"<> HTTP/1.1\r\nHost: a\r\n\r\n",
      ReadRequest(method: "UPDATEREDIRECTREF", target: "/{a}|b^`\"<>", host: "a", fields: ["Host: a"])),
    Row(
      "GET //evil.test/ HTTP/1.1\r\nHost: a\r\n\r\n",
      ReadRequest(method: "GET", target: "//evil.test/", host: "a", fields: ["Host: a"])),
    Row(
      "GET http://b:8/c/d?e HTTP/1.1\r\nHost: a\r\n\r\n",
      ReadRequest(method: "GET", target: "/c/d?e", authority: "b:8", host: "a", fields: ["Host: a"])),
    Row(
      "GET HTTPS://b HTTP/1.1\r\nHost: a\r\n\r\n",
      ReadRequest(method: "GET", target: "/", authority: "b", host: "a", fields: ["Host: a"])),
    Row(
      "\r\nGET http://b?e=/f HTTP/1.1\r\nHost: a\r\n\r\n",
      ReadRequest(method: "GET", target: "/?e=/f", authority: "b", host: "a", fields: ["Host: a"])),
    Row(
      "OPTIONS http://b HTTP/1.1\r\nHost: a\r\n\r\n",
      ReadRequest(method: "OPTIONS", target: "*", authority: "b", host: "a", fields: ["Host: a"])),
    Row(
      "OPTIONS http://b?c HTTP/1.1\r\nHost: a\r\n\r\n",
      ReadRequest(method: "OPTIONS", target: "/?c", authority: "b", host: "a", fields: ["Host: a"])),
    Row(
      "OPTIONS http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
      ReadRequest(method: "OPTIONS", target: "/", authority: "b", host: "a", fields: ["Host: a"])),
  ]

  @Test(arguments: rows)
  func `valid request heads are parsed the same at every split`(_ row: Row) throws {
    let text = Array(row.text.utf8)
    let head = try #require(text.firstRange(of: Array("\r\n\r\n".utf8), after: 4))
    for bytes in [text, text + Array("GET /next HTTP/1.1\r\nHo".utf8)] {
      for ends in waysToCut(bytes.count) {
        var read = RequestHead()
        let taken = try readRequest(bytes, cutAt: ends, into: &read)
        #expect(taken == head.upperBound)
        #expect(ReadRequest(read) == row.head)
      }
    }
  }

  @Test func `one reader parses several requests in a row`() throws {
    var reader = HeadReader(limits: HeadLimits())
    var head = RequestHead()
    let bytes = Self.rows.filter { !$0.text.hasSuffix("hello") && !$0.text.hasSuffix("0\r\n\r\n") }
      .flatMap { Array($0.text.utf8) }
    var heads: [ReadRequest] = []
    var start = 0
    while start < bytes.count {
      start += try #require(try reader.readRequest(bytes.span.extracting(droppingFirst: start), into: &head))
      heads.append(ReadRequest(head))
    }
    #expect(
      heads
        == Self.rows.filter { !$0.text.hasSuffix("hello") && !$0.text.hasSuffix("0\r\n\r\n") }.map { $0.head })
  }

  @Test func `a head keeps the received bytes, without leading empty lines`() throws {
    var head = RequestHead()
    let text = Array("GET /a HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    _ = try readRequest(Array("\r\n".utf8) + text, cutAt: [text.count + 2], into: &head)
    #expect(head.bytes == text)
  }

  @Test(arguments: Method.allCases)
  func `methods are recognized by their exact name only`(_ method: HTTP1.Method) throws {
    let name = method == .other ? "PROPFIND" : "\(method)".uppercased()
    let target = method == .connect ? "a:1" : "/"
    for (spelling, expected) in [(name, method), (name.lowercased(), .other), (name + "S", .other)] {
      var head = RequestHead()
      let text = Array("\(spelling) \(expected == .connect ? target : "/") HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
      _ = try readRequest(text, cutAt: [text.count], into: &head)
      #expect(head.method == expected)
      #expect(head.text(head.methodRange) == spelling)
    }
  }

  @Test func `all bytes that a field value may contain are kept`() throws {
    let value = [0x61] + [0x09] + Array(UInt8(0x20)...0x7E) + Array(UInt8(0x80)...0xFF)
    let text = Array("GET / HTTP/1.1\r\nHost: a\r\nX: ".utf8) + value + Array("\r\n\r\n".utf8)
    var head = RequestHead()
    _ = try readRequest(text, cutAt: [text.count], into: &head)
    #expect(Array(head.bytes[head.fields[1].value]) == value)
  }
}

extension [UInt8] {
  /// Returns the first range of `part` from `start` on.
  func firstRange(of part: [UInt8], after start: Int) -> Range<Int>? {
    (start...count - part.count).first { Array(self[$0..<$0 + part.count]) == part }.map { $0..<$0 + part.count }
  }
}
