import HTTP1
import Primitives
import Testing

typealias Pairs = [(name: String, value: String)]

extension HeaderBlock {
  /// Creates a block whose names and values are in Latin-1.
  init(_ pairs: Pairs) {
    self.init()
    for pair in pairs { append(name: latin1(pair.name).span, value: latin1(pair.value).span) }
  }
}

/// The text of a block, or why it is malformed.
enum Written: Equatable {
  case text(String)
  case malformed(MessageError.Reason)
}

/// Calls a function that appends to a text.
func written(_ write: (inout ByteBuffer) throws(MessageError) -> Void) -> Written {
  var text = ByteBuffer()
  text.append("before ")
  do throws(MessageError) {
    try write(&text)
    return .text(String(String.UnicodeScalarView(text.contents.dropFirst(7).map { UnicodeScalar($0) })))
  } catch {
    #expect(Array(text.contents) == Array("before ".utf8), "an error changes the text")
    return .malformed(error.reason)
  }
}

/// The rules of RFC 9113 about fields, each with its section. Each refused block has exactly one fault.
@Suite struct HeaderBlockTests {
  struct Row: CustomTestStringConvertible {
    let section: String
    let fields: Pairs
    var hasBody = false
    let result: Written
    var testDescription: String {
      "§\(section) \(fields.map { "\($0.name.debugDescription)=\($0.value.debugDescription)" })"
    }

    init(_ section: String, _ fields: Pairs, hasBody: Bool = false, _ text: String) {
      (self.section, self.fields, self.hasBody, result) = (section, fields, hasBody, .text(text))
    }

    init(_ section: String, _ fields: Pairs, _ reason: MessageError.Reason) {
      (self.section, self.fields, result) = (section, fields, .malformed(reason))
    }
  }

  // MARK: every kind of field section

  /// The faults of one field that make every field section malformed.
  static let faults: [(section: String, field: (name: String, value: String), reason: MessageError.Reason)] = [
    ("8.2.1", ("", "a"), .badFieldName),
    ("8.2.1", ("X", "a"), .badFieldName),
    ("8.2.1", ("xY", "a"), .badFieldName),
    ("8.2.1", ("Z", "a"), .badFieldName),
    ("8.2.1", ("x\0", "a"), .badFieldName),
    ("8.2.1", ("x\ry", "a"), .badFieldName),
    ("8.2.1", ("x\n", "a"), .badFieldName),
    ("8.2.1", ("x y", "a"), .badFieldName),
    ("8.2.1", (" x", "a"), .badFieldName),
    ("8.2.1", ("x\u{7F}", "a"), .badFieldName),
    ("8.2.1", ("x\u{80}", "a"), .badFieldName),
    ("8.2.1", ("x\u{E9}", "a"), .badFieldName),
    ("8.2.1", ("x\u{FF}", "a"), .badFieldName),
    ("8.2.1", ("x:", "a"), .badFieldName),
    ("8.2.1", ("x:y", "a"), .badFieldName),
    ("8.2.1", ("x\r\nhost", "a"), .badFieldName),
    ("8.2.1", ("x: y\r\nz", "a"), .badFieldName),
    // Not a token (RFC 9110 §5.1).
    ("8.2.1", ("x\"", "a"), .badFieldName),
    ("8.2.1", ("(x)", "a"), .badFieldName),
    ("8.2.1", ("x", "\0"), .badFieldValue),
    ("8.2.1", ("x", "a\0b"), .badFieldValue),
    ("8.2.1", ("x", "a\nb"), .badFieldValue),
    ("8.2.1", ("x", "a\rb"), .badFieldValue),
    ("8.2.1", ("x", "a\r"), .badFieldValue),
    ("8.2.1", ("x", "\na"), .badFieldValue),
    ("8.2.1", ("x", "a\r\ny: b"), .badFieldValue),
    ("8.2.1", ("x", "a long value\r\n\r\nGET / HTTP/1.1\r\n"), .badFieldValue),
    // Control characters, which RFC 9110 §5.5 forbids.
    ("8.2.1", ("x", "a\u{0B}b"), .badFieldValue),
    ("8.2.1", ("x", "a\u{1B}[m"), .badFieldValue),
    ("8.2.1", ("x", "a\u{7F}"), .badFieldValue),
    ("8.2.2", ("connection", "close"), .connectionField),
    ("8.2.2", ("connection", ""), .connectionField),
    ("8.2.2", ("proxy-connection", "keep-alive"), .connectionField),
    ("8.2.2", ("keep-alive", "timeout=5"), .connectionField),
    ("8.2.2", ("transfer-encoding", "chunked"), .connectionField),
    ("8.2.2", ("upgrade", "websocket"), .connectionField),
    ("8.2.2", ("te", "gzip"), .connectionField),
    ("8.2.2", ("te", "trailers, gzip"), .connectionField),
    ("8.2.2", ("te", ""), .connectionField),
    ("8.3", (":", "a"), .badPseudoHeader),
    ("8.3", (":unknown", "a"), .badPseudoHeader),
    ("8.3", (":Status", "200"), .badPseudoHeader),
  ]

  /// Fields that every field section can have.
  static let kept: [(section: String, field: (name: String, value: String))] = [
    ("8.2", ("x", "a")),
    ("8.2.1", ("x", "")),
    ("8.2.1", ("x", "a \t b")),
    ("8.2.1", ("x", "a: b")),
    ("8.2.1", ("x", ":")),
    ("8.2.1", ("x", "\u{80}\u{FF}")),
    ("8.2.1", ("!#$%&'*+-.^_`|~09az", "a")),
    ("8.2.2", ("connections", "a")),
    ("8.2.2", ("upgrades", "a")),
    ("8.2.2", ("upgrade-insecure-requests", "1")),
    ("8.2.2", ("x-connection", "a")),
    ("8.2.3", ("set-cookie", "a=b")),
  ]

  // MARK: responses

  static let responses: [Row] =
    [
      Row("8.3.2", [(":status", "200")], "HTTP/1.1 200 OK\r\n\r\n"),
      Row("8.3.2", [(":status", "100")], "HTTP/1.1 100 Continue\r\n\r\n"),
      Row("8.1", [(":status", "103"), ("link", "</a>")], "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"),
      Row("8.3.2", [(":status", "999")], "HTTP/1.1 999 \r\n\r\n"),
      Row("8.1.1", [(":status", "200"), ("content-length", "5")], "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"),
      Row("8.3.2", [], .badPseudoHeader),
      Row("8.3.2", [("x", "a")], .badPseudoHeader),
      Row("8.3", [("x", "a"), (":status", "200")], .badPseudoHeader),
      Row("8.3", [(":status", "200"), (":status", "200")], .badPseudoHeader),
      Row("8.3", [(":status", "200"), (":status", "404")], .badPseudoHeader),
      Row("8.3", [(":STATUS", "200")], .badPseudoHeader),
      Row("8.3", [(":method", "GET"), (":status", "200")], .badPseudoHeader),
      Row("8.3", [(":status", "200"), (":path", "/")], .badPseudoHeader),
      Row("8.3.2", [(":status", "")], .badPseudoHeader),
      Row("8.3.2", [(":status", "20")], .badPseudoHeader),
      Row("8.3.2", [(":status", "2000")], .badPseudoHeader),
      Row("8.3.2", [(":status", "099")], .badPseudoHeader),
      Row("8.3.2", [(":status", "000")], .badPseudoHeader),
      Row("8.3.2", [(":status", "2x0")], .badPseudoHeader),
      Row("8.3.2", [(":status", "+20")], .badPseudoHeader),
      Row("8.3.2", [(":status", " 20")], .badPseudoHeader),
      Row("8.3.2", [(":status", "20\n")], .badPseudoHeader),
      Row("8.3.2", [(":status", "200 OK")], .badPseudoHeader),
      Row("8.3.2", [(":status", "200\r\nx: a")], .badPseudoHeader),
      Row("8.6", [(":status", "101")], .badPseudoHeader),
      Row("8.6", [(":status", "101"), ("x", "a")], .badPseudoHeader),
      // TE can be only in requests.
      Row("8.2.2", [(":status", "200"), ("te", "trailers")], .connectionField),
      // Responses are repaired here.
      Row("8.2.1", [(":status", "200"), ("x", " a b\t")], "HTTP/1.1 200 OK\r\nx: a b\r\n\r\n"),
      Row("8.2.1", [(":status", "200"), ("x", " \t ")], "HTTP/1.1 200 OK\r\nx: \r\n\r\n"),
    ]
    + faults.map { Row($0.section, [(":status", "200"), $0.field], $0.reason) }
    + faults.map { Row($0.section, [(":status", "200"), ("a", "b"), $0.field, ("c", "d")], $0.reason) }
    + kept.map {
      Row($0.section, [(":status", "200"), $0.field], "HTTP/1.1 200 OK\r\n\($0.field.name): \($0.field.value)\r\n\r\n")
    }

  @Test(arguments: responses)
  func `a response becomes the text of an HTTP/1.1 head, or is malformed`(_ row: Row) {
    let block = HeaderBlock(row.fields)
    let result = written { text throws(MessageError) in try block.writeResponse(to: &text) }
    #expect(result == row.result)
  }

  private static let switching = "connection: upgrade\r\nupgrade: websocket\r\n"
  private static let key = "sec-websocket-key: YmVhcmVyZCBIVFRQLzIgIQ==\r\n"
  private static let switched = "HTTP/1.1 101 Switching Protocols\r\n" + switching

  static let switches: [Row] = [
    Row("RFC 8441 5", [(":status", "200")], switched + "\r\n"),
    Row("RFC 8441 5", [(":status", "204"), ("x", "a")], switched + "x: a\r\n\r\n"),
    Row(
      "RFC 8441 5", [(":status", "200"), ("sec-websocket-accept", "a"), ("sec-websocket-protocol", "b")],
      switched + "sec-websocket-protocol: b\r\n\r\n"),
    Row("RFC 9110 9.3.6", [(":status", "200"), ("content-length", "5"), ("x", "a")], switched + "x: a\r\n\r\n"),
    Row("8.2.2", [(":status", "200"), ("upgrade", "websocket")], .connectionField),
    Row("8.6", [(":status", "101")], .badPseudoHeader),
    Row("8.3.2", [(":status", "103"), ("x", "a")], "HTTP/1.1 103 Early Hints\r\nx: a\r\n\r\n"),
    Row(
      "8.3.2", [(":status", "403"), ("content-length", "5")], "HTTP/1.1 403 Forbidden\r\ncontent-length: 5\r\n\r\n"),
  ]

  @Test(arguments: switches)
  func `a successful response to extended CONNECT becomes a 101 response`(_ row: Row) {
    let block = HeaderBlock(row.fields)
    let result = written { text throws(MessageError) in
      try block.writeResponse(switching: Array(Self.switching.utf8), to: &text)
    }
    #expect(result == row.result)
  }

  // MARK: requests

  static let get: Pairs = [(":method", "GET"), (":scheme", "http"), (":path", "/a?b"), (":authority", "host:1")]
  static let head = "GET /a?b HTTP/1.1\r\nhost: host:1\r\n"
  static let connect: Pairs = [(":method", "CONNECT"), (":authority", "host:1")]
  static let extended: Pairs = [
    (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/a"), (":authority", "host:1"),
  ]

  /// Returns the fields of a GET request with another value for one field, or without the field.
  static func get(_ name: String, _ value: String?, of pairs: Pairs = get) -> Pairs {
    pairs.compactMap { $0.name != name ? $0 : value.map { (name, $0) } }
  }

  static let pseudoHeaders: [Row] = [
    Row("8.3.1", get, head + "\r\n"),
    Row("8.3.1", get.reversed(), head + "\r\n"),
    Row("8.3.1", get(":method", "POST"), "POST /a?b HTTP/1.1\r\nhost: host:1\r\n\r\n"),
    Row("8.3.1", get(":method", "get"), "get /a?b HTTP/1.1\r\nhost: host:1\r\n\r\n"),
    Row("8.3.1", get(":scheme", "HTTP"), head + "\r\n"),
    // Admission refuses the absolute form (RFC 9110 §7.4).
    Row("8.3.1", get(":scheme", "https"), "GET https://host:1/a?b HTTP/1.1\r\nhost: host:1\r\n\r\n"),
    Row("8.3.1", get(":path", "/"), "GET / HTTP/1.1\r\nhost: host:1\r\n\r\n"),
    Row("8.3.1", get(":path", "//x"), "GET //x HTTP/1.1\r\nhost: host:1\r\n\r\n"),
    // As in HTTP/1.1, the rules decide about other bytes.
    Row("8.3.1", get(":path", "/\u{E9}\"<>"), "GET /\u{E9}\"<> HTTP/1.1\r\nhost: host:1\r\n\r\n"),
    Row("8.3.1", get(":method", "OPTIONS", of: get(":path", "*")), "OPTIONS * HTTP/1.1\r\nhost: host:1\r\n\r\n"),
    Row(
      "8.3.1", get(":method", "OPTIONS", of: get(":scheme", "https", of: get(":path", "*"))),
      "OPTIONS https://host:1 HTTP/1.1\r\nhost: host:1\r\n\r\n"),
    Row("8.3.1", get(":authority", "[::1]:80"), "GET /a?b HTTP/1.1\r\nhost: [::1]:80\r\n\r\n"),
    Row("8.3.1", get(":authority", nil) + [("host", "other")], "GET /a?b HTTP/1.1\r\nhost: other\r\n\r\n"),
    Row(
      "8.3.1", get(":authority", nil) + [("x", "a"), ("host", "other")],
      "GET /a?b HTTP/1.1\r\nhost: other\r\nx: a\r\n\r\n"),
    Row("8.3.1", get + [("host", "host:1")], head + "\r\n"),
    Row("8.3.1", get + [("host", "HOST:1")], head + "\r\n"),

    Row("8.3.1", [], .badPseudoHeader),
    Row("8.3.1", [("host", "a")], .badPseudoHeader),
    Row("8.3.1", get(":method", nil), .badPseudoHeader),
    Row("8.3.1", get(":scheme", nil), .badPseudoHeader),
    Row("8.3.1", get(":path", nil), .badPseudoHeader),
    Row("8.3.1", get(":scheme", nil, of: get(":path", nil)), .badPseudoHeader),
    Row("8.3.1", get(":authority", nil), .missingHost),
    Row("8.3", get + [(":method", "GET")], .badPseudoHeader),
    Row("8.3", get + [(":scheme", "http")], .badPseudoHeader),
    Row("8.3", get + [(":path", "/a?b")], .badPseudoHeader),
    Row("8.3", get + [(":authority", "host:1")], .badPseudoHeader),
    Row("8.3", get + [(":status", "200")], .badPseudoHeader),
    Row("8.3", [("x", "a")] + get, .badPseudoHeader),
    Row(
      "8.3", [(":method", "GET"), (":scheme", "http"), (":authority", "a"), ("x", "a"), (":path", "/")],
      .badPseudoHeader),
    Row("8.3", get(":path", nil) + [("x", "a"), (":path", "/")], .badPseudoHeader),
    Row("8.3", get(":path", nil) + [(":PATH", "/")], .badPseudoHeader),
    Row("8.3.1", get(":method", ""), .badMethod),
    Row("8.3.1", get(":method", "G T"), .badMethod),
    Row("8.3.1", get(":method", "GET / HTTP/1.1\r\nx:"), .badMethod),
    Row("8.3.1", get(":method", "G\u{E9}T"), .badMethod),
    Row("8.3.1", get(":scheme", ""), .badTarget),
    Row("8.3.1", get(":scheme", "ftp"), .badTarget),
    Row("8.3.1", get(":scheme", "http "), .badTarget),
    Row("8.3.1", get(":scheme", "https://evil"), .badTarget),
    Row("8.3.1", get(":path", ""), .badTarget),
    Row("8.3.1", get(":path", "*"), .badTarget),
    Row("8.3.1", get(":path", "a"), .badTarget),
    Row("8.3.1", get(":path", "?a"), .badTarget),
    Row("8.3.1", get(":path", "http://evil/"), .badTarget),
    Row("8.3.1", get(":path", "https://host:1/"), .badTarget),
    Row("8.3.1", get(":method", "OPTIONS", of: get(":path", "**")), .badTarget),
    Row("8.3.1", get(":method", "OPTIONS", of: get(":path", "")), .badTarget),
    Row("8.3.1", get(":path", "/a b"), .forbiddenInTarget),
    Row("8.3.1", get(":path", " /"), .forbiddenInTarget),
    Row("8.3.1", get(":path", "/ HTTP/1.1\r\nx: a"), .forbiddenInTarget),
    Row("8.3.1", get(":path", "/\r\n"), .forbiddenInTarget),
    Row("8.3.1", get(":path", "/\n"), .forbiddenInTarget),
    Row("8.3.1", get(":path", "/\0"), .forbiddenInTarget),
    Row("8.3.1", get(":path", "/\t"), .forbiddenInTarget),
    Row("8.3.1", get(":path", "/\u{7F}"), .forbiddenInTarget),
    Row("8.3.1", get(":path", "/a#b"), .fragmentInTarget),
    Row("8.3.1", get(":authority", ""), .badHost),
    Row("8.3.1", get(":authority", "user@host:1"), .badHost),
    Row("8.3.1", get(":authority", "user:password@host"), .badHost),
    Row("8.3.1", get(":authority", "host:1\r\nx: a"), .badHost),
    Row("8.3.1", get(":authority", "host/a"), .badHost),
    Row("8.3.1", get(":authority", "host "), .badHost),
    Row("8.3.1", get(":authority", "host:99999"), .badHost),
    Row("8.3.1", get(":authority", nil) + [("host", "")], .badHost),
    Row("8.3.1", get(":authority", nil) + [("host", "user@host")], .badHost),
    Row("8.3.1", get(":authority", nil) + [("host", "a"), ("host", "a")], .duplicateHost),
    Row("8.3.1", get + [("host", "host:1"), ("host", "host:1")], .duplicateHost),
    Row("8.3.1", get + [("host", "host")], .hostMismatch),
    Row("8.3.1", get + [("host", "host:2")], .hostMismatch),
    Row("8.3.1", get + [("host", "")], .hostMismatch),
    // Only CONNECT has a protocol.
    Row("RFC 8441 4", get + [(":protocol", "websocket")], .badPseudoHeader),
  ]

  static let tunnels: [Row] = [
    Row("8.5", connect, "CONNECT host:1 HTTP/1.1\r\nhost: host:1\r\n\r\n"),
    Row("8.5", connect, hasBody: true, "CONNECT host:1 HTTP/1.1\r\nhost: host:1\r\n\r\n"),
    Row("8.5", connect + [("content-length", "5")], "CONNECT host:1 HTTP/1.1\r\nhost: host:1\r\n\r\n"),
    Row("8.5", connect + [(":scheme", "http")], .badPseudoHeader),
    Row("8.5", connect + [(":path", "/")], .badPseudoHeader),
    Row("8.5", connect + [(":scheme", "http"), (":path", "/")], .badPseudoHeader),
    Row("8.5", get(":authority", nil, of: connect), .badPseudoHeader),
    Row("8.5", get(":authority", nil, of: connect) + [("host", "host:1")], .badPseudoHeader),
    Row("8.5", get(":authority", "user@host:1", of: connect), .badHost),
    Row(
      "RFC 8441 4", extended, hasBody: true,
      "GET /a HTTP/1.1\r\nhost: host:1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\(key)\r\n"),
    Row(
      "RFC 8441 4", extended + [("content-length", "5"), ("x", "a")], hasBody: true,
      "GET /a HTTP/1.1\r\nhost: host:1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\(key)x: a\r\n\r\n"),
    Row(
      "RFC 8441 4", extended + [("sec-websocket-key", "a")], hasBody: true,
      "GET /a HTTP/1.1\r\nhost: host:1\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: a\r\n\r\n"),
    Row("RFC 8441 4", get(":scheme", nil, of: extended), .badPseudoHeader),
    Row("RFC 8441 4", get(":path", nil, of: extended), .badPseudoHeader),
    Row("RFC 8441 4", get(":authority", nil, of: extended), .badPseudoHeader),
    Row("RFC 8441 4", get(":authority", nil, of: extended) + [("host", "a")], .badPseudoHeader),
    Row("RFC 8441 4", extended + [(":protocol", "websocket")], .badPseudoHeader),
    Row("RFC 8441 4", get(":protocol", "", of: extended), .badPseudoHeader),
    Row("RFC 8441 4", get(":protocol", "a, b", of: extended), .badPseudoHeader),
    Row("RFC 8441 4", get(":protocol", "a\r\nx: b", of: extended), .badPseudoHeader),
  ]

  static let requestFields: [Row] =
    [
      Row("8.2.1", get + [("x", " a")], .badFieldValue),
      Row("8.2.1", get + [("x", "\ta")], .badFieldValue),
      Row("8.2.1", get + [("x", "a ")], .badFieldValue),
      Row("8.2.1", get + [("x", "a\t")], .badFieldValue),
      Row("8.2.1", get + [("x", " ")], .badFieldValue),
      Row("8.2.1", get + [("cookie", "a=1 ")], .badFieldValue),
      Row("8.2.1", get + [("cookie", "a=1"), ("cookie", "b=2\r\nx: a")], .badFieldValue),
      Row("8.2.2", get + [("te", "trailers")], head + "te: trailers\r\n\r\n"),
      Row("8.2.2", get + [("te", "Trailers")], head + "te: Trailers\r\n\r\n"),
      Row("8.2.3", get + [("cookie", "a=1")], head + "cookie: a=1\r\n\r\n"),
      Row(
        "8.2.3", get + [("x", "a"), ("cookie", "a=1"), ("y", "b"), ("cookie", "b=2"), ("cookie", "c=3"), ("z", "c")],
        head + "x: a\r\ncookie: a=1; b=2; c=3\r\ny: b\r\nz: c\r\n\r\n"),
      Row("8.1.1", get + [("content-length", "5")], hasBody: true, head + "content-length: 5\r\n\r\n"),
      Row("8.1.1", get + [("content-length", "0")], head + "content-length: 0\r\n\r\n"),
      Row("8.1", get, hasBody: true, head + "transfer-encoding: chunked\r\n\r\n"),
      Row("8.1", get + [("x", "a")], hasBody: true, head + "x: a\r\ntransfer-encoding: chunked\r\n\r\n"),
    ]
    + faults.map { Row($0.section, get + [$0.field], $0.reason) }
    + faults.map { Row($0.section, get + [("a", "b"), $0.field, ("c", "d")], $0.reason) }
    + kept.map { Row($0.section, get + [$0.field], head + "\($0.field.name): \($0.field.value)\r\n\r\n") }

  @Test(arguments: pseudoHeaders + tunnels + requestFields)
  func `a request becomes the text of an HTTP/1.1 head, or is malformed`(_ row: Row) {
    let block = HeaderBlock(row.fields)
    let result = written { text throws(MessageError) in try block.writeRequest(hasBody: row.hasBody, to: &text) }
    #expect(result == row.result)
  }

  @Test(
    arguments: [
      (get + [("content-length", "5"), ("content-length", "5")], .duplicateContentLength),
      (get + [("content-length", "5, 5")], .duplicateContentLength),
      (get + [("content-length", "-5")], .badContentLength),
      (get + [("expect", "x")], .unknownExpectation),
      (get(":method", String(repeating: "A", count: 33)), .badMethod),
      (get(":path", "/" + String(repeating: "a", count: 16_384)), .targetTooLong),
      (get + Array(repeating: ("x", "a"), count: 128), .tooManyFields),
      (get + [("x", String(repeating: "a", count: 65_536))], .headTooLarge),
      (get(":authority", "host", of: connect), .badTarget),
    ] as [(Pairs, MessageError.Reason)])
  func `the reader of HTTP/1.1 heads checks the rest`(_ fields: Pairs, _ reason: MessageError.Reason) throws {
    var text = ByteBuffer()
    try HeaderBlock(fields).writeRequest(hasBody: true, to: &text)
    var head = RequestHead()
    let error = #expect(throws: MessageError.self) {
      _ = try readRequest(Array(text.contents), cutAt: [text.count], into: &head)
    }
    #expect(error?.reason == reason)
  }

  // MARK: trailers

  static let trailers: [Row] =
    [
      Row("8.1", [], "\r\n"),
      Row("8.1", [("grpc-status", "0"), ("x", " a ")], "grpc-status: 0\r\nx: a\r\n\r\n"),
      Row("8.1", [(":status", "200")], .badPseudoHeader),
      Row("8.1", [("x", "a"), (":path", "/")], .badPseudoHeader),
      Row("8.2.2", [("te", "trailers")], .connectionField),
    ]
    + faults.map { Row($0.section, [("a", "b"), $0.field], $0.reason) }
    + kept.map { Row($0.section, [$0.field], "\($0.field.name): \($0.field.value)\r\n\r\n") }

  @Test(arguments: trailers)
  func `trailers become the text of an HTTP/1.1 trailer section, or are malformed`(_ row: Row) {
    let block = HeaderBlock(row.fields)
    let result = written { text throws(MessageError) in try block.writeTrailers(to: &text) }
    #expect(result == row.result)
  }

  @Test func `T14: fields that may not be trailers are dropped`() throws {
    let block = HeaderBlock([
      ("grpc-status", "0"), ("authorization", "a"), ("content-length", "5"), ("x_api.key", "a"),
      ("grpc-message", "x: y"),
    ])
    let trailers = try block.trailers()
    #expect(
      trailers.fields.map { [$0.name, $0.value].map { String(decoding: trailers.bytes[$0], as: UTF8.self) } }
        == [["grpc-status", "0"], ["grpc-message", "x: y"]])
    #expect(trailers.hasDropped)
    #expect(try HeaderBlock().trailers().isEmpty)
    var limits = HeadLimits()
    limits.fields = 4
    #expect(throws: MessageError(.trailersTooLarge)) { try block.trailers(limits: limits) }
    limits = HeadLimits()
    limits.headBytes = 50
    #expect(throws: MessageError(.trailersTooLarge)) { try block.trailers(limits: limits) }
  }

  // MARK: faults

  @Test func `a fault has the number of the field, and its name if the name is valid`() {
    for (name, value, isNamed) in [("x", "a\rb", true), ("te", "a", true), ("X", "a", false)] {
      let block = HeaderBlock([(":status", "200"), ("a", "b"), (name, value)])
      let error = #expect(throws: MessageError.self) {
        var text = ByteBuffer()
        try block.writeResponse(to: &text)
      }
      #expect(error?.fault.line == 3)
      #expect(error?.fault.name.map { String(decoding: block.bytes[$0], as: UTF8.self) } == (isNamed ? name : nil))
    }
  }

  @Test func `a forbidden character of a path has its position`() {
    let error = #expect(throws: MessageError.self) {
      var text = ByteBuffer()
      try HeaderBlock(Self.get(":path", "/ab c")).writeRequest(hasBody: false, to: &text)
    }
    #expect(error?.fault.character == TargetCharacter(0x20, at: 4))
  }
}
