import HTTP2
import Testing

/// What a peer must not send, by section of RFC 9113.
@Suite struct MalformedFramesTests {
  enum Expected: Equatable {
    case connection(HTTP2Code)
    case stream(HTTP2Code)
  }

  struct Row: CustomTestStringConvertible, Sendable {
    let section: String
    let problem: String
    let bytes: [UInt8]
    let expected: Expected

    init(_ section: String, _ problem: String, _ bytes: [UInt8], _ expected: Expected) {
      (self.section, self.problem, self.bytes, self.expected) = (section, problem, bytes, expected)
    }

    var testDescription: String { "\(section): \(problem)" }
  }

  private static func open(_ stream: UInt32) -> [UInt8] { Raw.headers(stream, post, Raw.endHeaders) }
  private static let frameSize = Expected.connection(.frameSizeError)
  private static let violation = Expected.connection(.protocolError)
  private static let compression = Expected.connection(.compressionError)

  /// Frames that neither role accepts. Stream 1 is open.
  static let both: [Row] = [
    Row("4.2", "a frame above the maximum size", Raw.frame(0, 0, 1, [UInt8](repeating: 0, count: 16_385)), frameSize),
    Row(
      "4.3", "an index above the table", Raw.frame(1, 5, 1, [0xFF, 0xFF, 0xFF, 0xFF, 0x0F]),
      .connection(.compressionError)),
    Row("4.3", "a field that is cut off", Raw.frame(1, 5, 1, [0x00, 0x05, 0x61]), .connection(.compressionError)),
    Row("6.1", "DATA on stream 0", Raw.data(0, [1]), violation),
    Row("6.1", "DATA on an idle stream", Raw.data(101, [1]), violation),
    Row("6.2", "HEADERS on stream 0", Raw.headers(0), violation),
    Row("6.2", "HEADERS with more padding than bytes", Raw.frame(1, 0xD, 1, [9, 0, 0]), violation),
    Row("6.3", "PRIORITY of 4 bytes", Raw.frame(2, 0, 1, [0, 0, 0, 0]), frameSize),
    Row("6.4", "RST_STREAM on stream 0", Raw.reset(0), violation),
    Row("6.4", "RST_STREAM on an idle stream", Raw.reset(101), violation),
    Row("6.4", "RST_STREAM of 3 bytes", Raw.frame(3, 0, 1, [0, 0, 0]), frameSize),
    Row("6.5", "SETTINGS acknowledgement with bytes", Raw.frame(4, 1, 0, [0, 0, 0, 0, 0, 0]), frameSize),
    Row("6.5", "SETTINGS of 5 bytes", Raw.frame(4, 0, 0, [0, 0, 0, 0, 0]), frameSize),
    Row("6.5", "SETTINGS on a stream", Raw.frame(4, 0, 1), violation),
    Row("6.5.2", "ENABLE_PUSH 2", Raw.settings([(2, 2)]), violation),
    Row("6.5.2", "INITIAL_WINDOW_SIZE above 2^31-1", Raw.settings([(4, 1 << 31)]), .connection(.flowControlError)),
    Row("6.5.2", "MAX_FRAME_SIZE below 16,384", Raw.settings([(5, 16_383)]), violation),
    Row("6.5.2", "MAX_FRAME_SIZE above 2^24-1", Raw.settings([(5, 1 << 24)]), violation),
    Row("6.5.3", "an acknowledgement of nothing", Raw.settingsAck, violation),
    Row("6.6", "PUSH_PROMISE", Raw.frame(5, 4, 1, Raw.bytes(2) + Raw.block(get)), violation),
    Row("6.7", "PING on a stream", Raw.frame(6, 0, 1, [UInt8](repeating: 0, count: 8)), violation),
    Row("6.7", "PING of 7 bytes", Raw.frame(6, 0, 0, [UInt8](repeating: 0, count: 7)), frameSize),
    Row("6.8", "GOAWAY on a stream", Raw.frame(7, 0, 1, Raw.bytes(0) + Raw.bytes(0)), violation),
    Row("6.8", "GOAWAY of 7 bytes", Raw.frame(7, 0, 0, [UInt8](repeating: 0, count: 7)), frameSize),
    Row("6.9", "WINDOW_UPDATE of 0 for the connection", Raw.windowUpdate(0, 0), violation),
    Row("6.9", "WINDOW_UPDATE of 0 for a stream", Raw.windowUpdate(1, 0), violation),
    Row("6.9", "WINDOW_UPDATE on an idle stream", Raw.windowUpdate(101, 1), violation),
    Row("6.9", "WINDOW_UPDATE of 3 bytes", Raw.frame(8, 0, 1, [0, 0, 1]), frameSize),
    Row(
      "6.9.1", "a connection's window above 2^31-1", Raw.windowUpdate(0, 0x7FFF_FFFF), .connection(.flowControlError)),
    Row("6.9.1", "a stream's window above 2^31-1", Raw.windowUpdate(1, 0x7FFF_FFFF), .stream(.flowControlError)),
    Row("6.10", "CONTINUATION without HEADERS", Raw.frame(9, 4, 1, []), violation),
    Row("6.10", "another frame within a header block", Raw.headers(1, [], 0) + Raw.ping, violation),
    Row("6.10", "CONTINUATION of another stream", Raw.headers(1, [], 0) + Raw.frame(9, 4, 3), violation),
    Row("6.10", "CONTINUATION on stream 0", Raw.headers(1, [], 0) + Raw.frame(9, 4, 0), violation),
    Row("5.5", "a frame of an unknown type within a header block", Raw.headers(1, [], 0) + Raw.frame(0xF0), violation),
    Row(
      "4.2", "HEADERS above the maximum size", Raw.frame(1, 5, 1, [UInt8](repeating: 0, count: 16_385)), frameSize),
    Row(
      "4.2", "a frame of an unknown type above the maximum size",
      Raw.frame(0xF0, 0, 0, [UInt8](repeating: 0, count: 16_385)), frameSize),
    Row("4.3", "index 0", Raw.frame(1, 5, 1, [0x80]), compression),
    Row(
      "4.3", "the end of a string in Huffman's code", Raw.frame(1, 5, 1, [0, 0x84, 255, 255, 255, 255, 0]), compression),
    Row("4.3", "padding of zeros in Huffman's code", Raw.frame(1, 5, 1, [0, 0x81, 0, 0]), compression),
    Row("4.3", "padding of a byte in Huffman's code", Raw.frame(1, 5, 1, [0, 0x82, 7, 255, 0]), compression),
    Row(
      "4.3", "an integer that never ends", Raw.frame(1, 5, 1, [0x7F] + [UInt8](repeating: 0x80, count: 20)), compression
    ),
    Row("4.3.1", "a table above the limit", Raw.frame(1, 5, 1, [0x3F, 0xE2, 0x1F]), compression),
    Row(
      "4.3.1", "a size of the table after a field", Raw.frame(1, 5, 1, Raw.block([("a", "b")]) + [0x20]), compression),
    Row("6.1", "padded DATA without a length of the padding", Raw.frame(0, 8, 1), violation),
    Row("6.2", "HEADERS with a priority of 4 bytes", Raw.frame(1, 0x25, 1, [0, 0, 0, 0]), frameSize),
    Row("6.3", "PRIORITY on stream 0", Raw.frame(2, 0, 0, [0, 0, 0, 0, 1]), violation),
    Row("6.4", "RST_STREAM of 5 bytes", Raw.frame(3, 0, 1, [0, 0, 0, 0, 0]), frameSize),
    Row("6.7", "PING of 9 bytes", Raw.frame(6, 0, 0, [UInt8](repeating: 0, count: 9)), frameSize),
    // RFC 9113 wants the end of the connection. nghttp2 resets the streams, and the budget limits such resets.
    Row(
      "6.9.2", "settings that enlarge a window above 2^31-1",
      Raw.windowUpdate(1, 0x7FFF_FFFF - 65_535) + Raw.settings([(4, 65_536)]), .stream(.flowControlError)),
    Row("8441-3", "ENABLE_CONNECT_PROTOCOL 2", Raw.settings([(8, 2)]), violation),
  ]

  @Test(arguments: both, [HTTP2Session.Role.server, .client])
  func `neither role accepts malformed frames`(row: Row, role: HTTP2Session.Role) throws {
    let raw = try RawPeer(role)
    if role == .server { _ = raw.exchange(Self.open(1)) }
    try check(row, raw, next: role == .server ? Raw.headers(5) : Raw.headers(3, [(":status", "200")]))
  }

  static let requests: [Row] = [
    Row("5.1", "DATA after the end", Raw.headers(1) + Raw.data(1, [1]), .connection(.streamClosed)),
    Row("5.1", "HEADERS after the end", Raw.headers(1) + Raw.headers(1), .connection(.streamClosed)),
    Row("5.1.1", "an even stream", Raw.headers(2), violation),
    Row(
      "5.1", "HEADERS after trailers", open(1) + Raw.headers(1, [("a", "b")]) + Raw.headers(1, [("a", "b")]),
      .connection(.streamClosed)),
    Row(
      "8.1.1", "less data than content-length before trailers",
      with("content-length", "2", [:]) + Raw.data(1, [1]) + Raw.headers(1, [("a", "b")]), .stream(.protocolError)),
    Row(
      "8.1.1", "content-length above 2^63", with("content-length", "9223372036854775808", [:]), .stream(.protocolError)),
    Row("8.1.1", "an empty content-length", with("content-length", "", [:]), .stream(.protocolError)),
    Row("8.1.1", "content-length as a list", with("content-length", "0, 0"), .stream(.protocolError)),
    Row("8.2.1", "a :path with CR LF", head(":path", "/ HTTP/1.1\r\nx: y"), .stream(.protocolError)),
    Row("8.2.1", "a :path with NUL", head(":path", "/\0"), .stream(.protocolError)),
    Row("8.2.1", "a :method with CR LF", head(":method", "GET / HTTP/1.1\r\nx:"), .stream(.protocolError)),
    Row("8.2.1", "an :authority with CR LF", head(":authority", "a\r\nx: y"), .stream(.protocolError)),
    Row("8.2.1", "a :scheme with CR LF", head(":scheme", "http\r\n"), .stream(.protocolError)),
    Row("8.3.1", "a :scheme with a space", head(":scheme", "ht tp"), .stream(.protocolError)),
    Row("8.3.1", "an empty :method", head(":method", ""), .stream(.protocolError)),
    Row("8.3.1", "an :authority with a slash", head(":authority", "a/b"), .stream(.protocolError)),
    Row("8.3.1", "an asterisk without OPTIONS", head(":path", "*"), .stream(.protocolError)),
    Row("8.3.1", "a :path in absolute form", head(":path", "http://a/"), .stream(.protocolError)),
    Row("8.3", "a :path in upper case", Raw.headers(1, get.dropLast() + [(":Path", "/")]), .stream(.protocolError)),
    Row("8.3", ":method twice", Raw.headers(1, get + [(":method", "GET")]), .stream(.protocolError)),
    Row("8.3", ":authority twice", Raw.headers(1, get + [(":authority", "a.test")]), .stream(.protocolError)),
    Row("8.3", ":scheme twice", Raw.headers(1, get + [(":scheme", "https")]), .stream(.protocolError)),
    Row("8.5", "CONNECT without :authority", Raw.headers(1, [(":method", "CONNECT")]), .stream(.protocolError)),
    Row("6.1", "DATA with more padding than bytes", open(1) + Raw.frame(0, 8, 1, [9, 0, 0]), violation),
    Row(
      "8.1", "trailers without the end", open(1) + Raw.headers(1, [("a", "b")], Raw.endHeaders), .stream(.protocolError)
    ),
    Row(
      "8.1", "a pseudo-header field in trailers", open(1) + Raw.headers(1, [(":path", "/")]), .stream(.protocolError)),
    Row(
      "8.1.1", "less data than content-length", with("content-length", "2", [:]) + Raw.data(1, [1], 1),
      .stream(.protocolError)),
    Row(
      "8.1.1", "more data than content-length", with("content-length", "1", [:]) + Raw.data(1, [1, 2]),
      .stream(.protocolError)),
    Row("8.1.1", "content-length without data", with("content-length", "1"), .stream(.protocolError)),
    Row("8.1.1", "two content-lengths", with("content-length", "0", ["content-length": "0"]), .stream(.protocolError)),
    Row("8.1.1", "content-length with a sign", with("content-length", "+0"), .stream(.protocolError)),
    Row("8.3", "an unknown pseudo-header field", Raw.headers(1, get + [(":x", "1")]), .stream(.protocolError)),
    Row("8.3", ":status in a request", Raw.headers(1, get + [(":status", "200")]), .stream(.protocolError)),
    Row("8.3", "a pseudo-header field after a field", Raw.headers(1, [("a", "b")] + get), .stream(.protocolError)),
    Row("8.3", "a pseudo-header field twice", Raw.headers(1, get + [(":path", "/x")]), .stream(.protocolError)),
    Row("8.3.1", "no :method", Raw.headers(1, [get[1], get[2], get[3]]), .stream(.protocolError)),
    Row("8.3.1", "no :scheme", Raw.headers(1, [get[0], get[2], get[3]]), .stream(.protocolError)),
    Row("8.3.1", "no :path", Raw.headers(1, [get[0], get[1], get[2]]), .stream(.protocolError)),
    Row("8.3.1", "no :authority and no host", Raw.headers(1, [get[0], get[1], get[3]]), .stream(.protocolError)),
    Row("8.3.1", "an empty :path", Raw.headers(1, get.dropLast() + [(":path", "")]), .stream(.protocolError)),
    Row("8.3.1", "a :path without a slash", Raw.headers(1, get.dropLast() + [(":path", "x")]), .stream(.protocolError)),
    Row("8.3.1", "a :path with a space", Raw.headers(1, get.dropLast() + [(":path", "/ x")]), .stream(.protocolError)),
    Row(
      "8.3.1", "a :method with a space", Raw.headers(1, [(":method", "GE T")] + get.dropFirst()),
      .stream(.protocolError)),
    Row("8.3.1", "a host with a slash", with("host", "a/b"), .stream(.protocolError)),
    Row(
      "8.5", "CONNECT with a :path", Raw.headers(1, [(":method", "CONNECT")] + get.dropFirst()), .stream(.protocolError)
    ),
    Row(
      "8441-4", ":protocol without CONNECT", Raw.headers(1, get + [(":protocol", "websocket")]), .stream(.protocolError)
    ),
  ]

  /// A GET request with another value of a pseudo-header field.
  private static func head(_ name: String, _ value: String) -> [UInt8] {
    Raw.headers(1, get.map { $0.0 == name ? (name, value) : $0 })
  }

  private static func with(_ name: String, _ value: String, _ more: KeyValuePairs<String, String>? = nil) -> [UInt8] {
    // Without END_STREAM if the caller adds data.
    let isOpen = more?.isEmpty == true
    let fields = post + [(name, value)] + (more?.map { ($0.key, $0.value) } ?? [])
    return Raw.headers(1, fields, isOpen ? Raw.endHeaders : Raw.endHeaders | Raw.endStream)
  }

  @Test(arguments: requests)
  func `a server refuses malformed requests`(row: Row) throws {
    let raw = try RawPeer(.server)
    try check(row, raw, next: Raw.headers(5))
    #expect(raw.peer.streams[1]?.isEnded != true || row.section == "5.1")
  }

  private static func response(_ fields: [(String, String)], _ flags: UInt8 = 5) -> [UInt8] {
    Raw.headers(1, fields, flags)
  }
  private static let ok = [(":status", "200")]

  static let responses: [Row] = [
    Row("5.1", "DATA before the head", Raw.data(1, [1]), violation),
    Row("5.1.1", "a stream of the server", Raw.headers(2, ok), violation),
    Row("6.5.2", "a server that enables push", Raw.settings([(2, 1)]), violation),
    Row("6.8", "GOAWAY with a greater last stream", Raw.goAway(last: 1) + Raw.goAway(last: 3), violation),
    Row("8.1", "an interim head as the end", response([(":status", "103")]), .stream(.protocolError)),
    Row(
      "8.1", "data after an interim head", response([(":status", "103")], 4) + Raw.data(1, [1]), .stream(.protocolError)
    ),
    Row("8.1", "trailers without the end", response(ok, 4) + response([("a", "b")], 4), .stream(.protocolError)),
    Row(
      "8.1.1", "less data than content-length", response(ok + [("content-length", "2")], 4) + Raw.data(1, [1], 1),
      .stream(.protocolError)),
    Row(
      "8.1.1", "more data than content-length", response(ok + [("content-length", "1")], 4) + Raw.data(1, [1, 2]),
      .stream(.protocolError)),
    Row(
      "8.1.1", "two content-lengths", response(ok + [("content-length", "0"), ("content-length", "0")]),
      .stream(.protocolError)),
    Row("8.3.2", "no :status", response([("a", "b")]), .stream(.protocolError)),
    Row("8.3.2", "two :status", response(ok + ok), .stream(.protocolError)),
    Row("8.3.2", "a :status of two digits", response([(":status", "20")]), .stream(.protocolError)),
    Row("8.3.2", "a :status that is no number", response([(":status", "2x0")]), .stream(.protocolError)),
    Row("8.3.2", ":path in a response", response(ok + [(":path", "/")]), .stream(.protocolError)),
    Row("8.3.2", "a pseudo-header field after a field", response([("a", "b")] + ok), .stream(.protocolError)),
    Row("8441-3", "ENABLE_CONNECT_PROTOCOL 0 after 1", Raw.settings([(8, 1)]) + Raw.settings([(8, 0)]), violation),
    Row("8.6", "101", response([(":status", "101")], 4), .stream(.protocolError)),
    Row("5.1", "HEADERS on an idle stream", Raw.headers(5, ok), violation),
    Row("8.1", "DATA after the end", response(ok) + Raw.data(1, [1]), .connection(.streamClosed)),
    Row("8.1", "HEADERS after the end", response(ok) + response(ok), .connection(.streamClosed)),
    Row("8.1", "a second final head", response(ok, 4) + response(ok), .stream(.protocolError)),
    Row(
      "8.1.1", "data in a response with 204", response([(":status", "204")], 4) + Raw.data(1, [1], 1),
      .stream(.protocolError)),
    Row(
      "8.1.1", "data in a response with 304", response([(":status", "304")], 4) + Raw.data(1, [1], 1),
      .stream(.protocolError)),
    Row("8.3.2", "a :status with a space", response([(":status", "200 ")]), .stream(.protocolError)),
    Row("8.3.2", "a :status with CR LF", response([(":status", "200\r\n")]), .stream(.protocolError)),
    Row("8.3.2", "an empty :status", response([(":status", "")]), .stream(.protocolError)),
  ]

  @Test(arguments: responses)
  func `a client refuses malformed responses`(row: Row) throws {
    let raw = try RawPeer(.client)
    try check(row, raw, next: Raw.headers(3, Self.ok))
    if case .stream(let code) = row.expected {
      #expect(raw.peer.streams[1]?.failure == code && raw.peer.streams[1]?.isEnded != true)
    }
  }

  /// Section 8.2: fields that no message may have.
  static let fields: [(String, String)] = [
    ("A", "b"), ("a b", "c"), ("a:b", "c"), ("", "x"), ("a\u{7F}", "b"), ("é", "b"), ("a\0", "b"),
    ("a", "b\rc"), ("a", "b\nc"), ("a", "b\0c"), ("a", "b\u{7F}"),
    ("connection", "x"), ("keep-alive", "1"), ("proxy-connection", "x"), ("transfer-encoding", "chunked"),
    ("upgrade", "h2c"), ("te", "gzip"), ("te", "trailers, gzip"),
  ]

  @Test(arguments: fields, [HTTP2Session.Role.server, .client])
  func `no message has a malformed field`(field: (String, String), role: HTTP2Session.Role) throws {
    for isTrailer in [false, true] {
      try refuse(field, isTrailer: isTrailer, as: role)
    }
  }

  private func refuse(_ field: (String, String), isTrailer: Bool, as role: HTTP2Session.Role) throws {
    let raw = try RawPeer(role)
    let row = Row(
      "8.2", "\(field)", message(with: field, isTrailer: isTrailer, for: role), .stream(.protocolError))
    try check(row, raw, next: role == .server ? Raw.headers(5) : Raw.headers(3, Self.ok))
    #expect(raw.peer.streams[1]?.isEnded != true && raw.peer.streams[1]?.trailers == nil)
  }

  private func message(with field: (String, String), isTrailer: Bool, for role: HTTP2Session.Role) -> [UInt8] {
    let head = role == .server ? post : Self.ok
    return isTrailer ? Raw.headers(1, head, 4) + Raw.headers(1, [field]) : Raw.headers(1, head + [field])
  }

  @Test(arguments: [" b", "b ", "\tb", " b \t"], [true, false])
  func `only a client accepts blanks around a value, as HTTP/1.1 does`(value: String, isTrailer: Bool) throws {
    try refuse(("a", value), isTrailer: isTrailer, as: .server)
    let raw = try RawPeer(.client)
    let (frames, error) = raw.exchange(message(with: ("a", value), isTrailer: isTrailer, for: .client))
    #expect(frames.isEmpty && error == nil)
    let message = raw.peer.streams[1]
    #expect((isTrailer ? message?.trailers : message?.heads.first)?.last == "a=\(value)")
  }

  private func check(_ row: Row, _ raw: RawPeer, next: [UInt8]) throws {
    let (frames, error) = raw.exchange(row.bytes)
    let end = frames.first { $0.code != nil }
    switch row.expected {
    case .connection(let code):
      #expect(error?.code == code && error?.endsConnection == true, "\(String(describing: error)) \(frames)")
      #expect(end?.type == 7 && end?.code == code, "\(frames)")
      #expect(raw.peer.session.isOver)
    case .stream(let code):
      #expect(error == nil, "\(String(describing: error))")
      #expect(end?.type == 3 && end?.code == code && end?.stream == 1, "\(frames)")
      // The connection goes on.
      let heads = raw.peer.log.count { $0.hasPrefix("head") }
      #expect(raw.exchange(next).error == nil)
      #expect(raw.peer.log.count { $0.hasPrefix("head") } == heads + 1)
    }
  }

  @Test func `a connection begins with the preface and with settings`() throws {
    let server = try Peer(.server)
    #expect(throws: HTTP2Error.self) { try server.receive([UInt8]("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n".utf8)) }
    let eager = try Peer(.server)
    #expect { try eager.receive(Raw.preface + Raw.ping) } throws: { ($0 as? HTTP2Error)?.code == .protocolError }
    let client = try Peer(.client)
    #expect { try client.receive([UInt8]("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)) } throws: {
      ($0 as? HTTP2Error)?.code == .protocolError
    }
  }

  /// RFC 9113 section 5.1.1 wants the end of the connection. nghttp2 ignores such frames, because they could also belong to a
  /// stream that has ended.
  @Test func `a stream below an earlier one is ignored`() throws {
    let raw = try RawPeer(.server)
    #expect(raw.exchange(Raw.headers(5) + Raw.headers(3) + Raw.data(3, [1])).error == nil)
    #expect(raw.peer.log.filter { $0.hasPrefix("head") } == ["head 5"] && raw.peer.session.openStreams == 1)
    #expect(raw.exchange(Raw.headers(7)).error == nil)
    #expect(raw.peer.streams[7]?.isEnded == true)
  }

  @Test func `unusual messages that RFC 9113 allows are accepted`() throws {
    let raw = try RawPeer(.server)
    let messages: [[(String, String)]] = [
      [(":method", "OPTIONS"), get[1], get[2], (":path", "*")],
      [(":method", "CONNECT"), get[2]],
      [(":method", "CONNECT"), get[1], get[2], get[3], (":protocol", "websocket")],
      get + [("te", "trailers"), ("x-empty", ""), ("cookie", "a=1"), ("cookie", "b=2")],
      get.filter { $0.0 != ":authority" } + [("host", "a.test")],
    ]
    for (index, message) in messages.enumerated() {
      let stream = UInt32(2 * index + 1)
      // An unknown frame, and unknown flags.
      #expect(raw.exchange(Raw.frame(0xF0, 0xFF, stream, [1, 2])).error == nil)
      #expect(raw.exchange(Raw.headers(stream, message, 0xD5 & ~0x28 | 5)).frames.isEmpty)
      #expect(raw.peer.streams[HTTP2Session.StreamID(stream)]?.heads.first?.count == message.count)
    }
  }
}
