import HTTP1
import Primitives
import Testing

@testable import HTTP2

/// The fields of a request in HTTP/2 (RFC 9113 section 8.3.1), before they are encoded.
@Suite struct HTTP2RequestFieldsTests {
  private static let start = [":method: POST", ":scheme: https", ":authority: h:8443", ":path: /p?q!"]

  private func request(_ fields: String, _ target: String = "/p?q", method: String = "POST") -> OutgoingRequest {
    var request = OutgoingRequest()
    request.begin(method: Array(method.utf8).span, authority: Array("h:8443".utf8))
    request.line.append(contentsOf: Array(target.utf8))
    request.fields.append(contentsOf: Array(fields.utf8))
    return request
  }

  /// Returns the fields as `name: value`. An exclamation mark follows a field that is never indexed.
  private func fields(
    _ request: OutgoingRequest, _ builder: HTTP2RequestFields = HTTP2RequestFields(),
    _ credential: borrowing HTTP2CredentialFields = HTTP2CredentialFields()
  ) throws -> [String] {
    try builder.withFields(of: request, adding: credential) { fields in
      fields.map {
        String(decoding: $0.name, as: UTF8.self) + ": " + String(decoding: $0.value, as: UTF8.self)
          + ($0.isSensitive ? "!" : "")
      }
    }
  }

  /// Fields, and the fields as sent.
  private static let rows: [(String, [String])] = [
    ("", []), ("X-Empty: \r\nX: a: b\r\n", ["x-empty: !", "x: a: b!"]),
    ("Content-Type: Text/Plain\r\nX_Y-@[`{Z: V\r\n", ["content-type: Text/Plain", "x_y-@[`{z: V!"]),
    ("AUTHORIZATION: a\r\nProxy-Authorization: b\r\n", ["authorization: a!", "proxy-authorization: b!"]),
    ("Cookie: a=1\r\nExpect: 100-continue\r\n", ["cookie: a=1!", "expect: 100-continue"]),
    (
      "Connection: x\r\nKeep-Alive: 1\r\nProxy-Connection: x\r\nTransfer-Encoding: x\r\nUpgrade: x\r\nHost: x\r\n"
        + "TE: trailers\r\nContent-Length: 5\r\nConnectiox: 1\r\nHosts: 2\r\n", ["connectiox: 1!", "hosts: 2!"]
    ),
  ]

  @Test(arguments: rows.indices) func `names are in lower case, and fields about a connection are not sent`(
    _ index: Int
  ) throws {
    let (lines, expected) = Self.rows[index]
    #expect(try fields(request(lines)) == Self.start + expected)
  }

  @Test func `RFC 8441: a request for a WebSocket becomes CONNECT, without its key and the length of a body`() throws {
    var request = request("Sec-WebSocket-Key: a\r\nSec-WebSocket-Version: 13\r\nUpgrade: x\r\n", method: "GET")
    (request.upgrade, request.bodyLength) = ("WebSocket", .length(0))
    #expect(
      try fields(request) == [":method: CONNECT", ":protocol: websocket"] + Self.start.dropFirst()
        + ["sec-websocket-version: 13!"])
  }

  /// Fields that requests repeat, and whose values are no secrets.
  private static let indexed = [
    "accept", "accept-encoding", "accept-language", "cache-control", "content-encoding", "content-type", "expect",
    "grpc-accept-encoding", "grpc-encoding", "user-agent",
  ]

  @Test func `T53: only fields without secrets are indexed`() throws {
    let others = [
      "authorization", "cookie", "proxy-authorization", "x-api-key", "x-csrf-token", "x-goog-api-key", "referer",
      "origin", "range", "if-match", "forwarded", "prefer", "acceptx", "user-agenx", "content-typf", "grpc-timeout",
      "x-amz-security-token", "accept-encodinh", "cache-contrek", "grpc-accept-encodinh", "expecu",
    ]
    for name in Self.indexed { #expect(try fields(request("\(name): v\r\n")) == Self.start + ["\(name): v"]) }
    for name in others { #expect(try fields(request("\(name): v\r\n")) == Self.start + ["\(name): v!"]) }
  }

  @Test func `trailers, the length and cookies follow the other fields`() throws {
    var request = request("X: y\r\n")
    (request.acceptsTrailers, request.bodyLength) = (true, .length(18_446_744_073_709_551_615))
    request.cookie.append("a=1; b=2")
    let all = ["x: y!", "te: trailers", "content-length: 18446744073709551615", "cookie: a=1; b=2!"]
    let builder = HTTP2RequestFields()
    #expect(try fields(request, builder) == Self.start + all)
    request.bodyLength = .chunked
    #expect(try fields(request, builder) == Self.start + all.filter { !$0.hasPrefix("content-length") })
  }

  @Test func `each part of a credential is never indexed, and no value is copied`() throws {
    let texts = [
      "/p?q&k=KEY", "S=v", "Authorization: OAuth x\r\n", "X-Key: a\r\nAccept: b\r\n", "Cookie: j=1; k=2\r\n",
    ]
    let memory = texts.map { text in
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
      bytes.copyBytes(from: text.utf8)
      return UnsafeRawBufferPointer(bytes)
    }
    defer { for bytes in memory { bytes.deallocate() } }
    var credential = HTTP2CredentialFields()
    (credential.path, credential.cookie, credential.signature) = (memory[0], memory[1], memory[2])
    (credential.lines, credential.jar) = (memory[3], memory[4])
    var request = request("X: y\r\n")
    request.cookie.append("a=1")
    let builder = HTTP2RequestFields()
    let path = Self.start.dropLast() + [":path: /p?q&k=KEY!"]
    #expect(
      try fields(request, builder, credential)
        == path + [
          "x: y!", "cookie: a=1!", "cookie: S=v!", "authorization: OAuth x!", "x-key: a!", "accept: b!",
          "cookie: j=1; k=2!",
        ])
    try builder.withFields(of: request, adding: credential) { fields in
      let starts = fields.filter(\.isSensitive).compactMap(\.value.baseAddress)
      let isLent = starts.map { start in
        memory.contains { $0.baseAddress! <= start && start < $0.baseAddress! + $0.count }
      }
      // Only the client's field and cookie are elsewhere.
      #expect(isLent == [true, false, false, true, true, true, true, true])
    }
  }

  /// The bytes of a request with `field`, after another caller has sent a request with `secret` on the same connection.
  private func size(ofRequestWith field: String, after secret: String, path: String = "/p", by guess: String = "/p")
    throws -> Int
  {
    let pair = try HTTP2Pair()
    try pair.pump()
    let builder = HTTP2RequestFields()
    var sizes: [Int] = []
    for (fields, path) in [(secret, path), (field, guess)] {
      var request = request(fields, path)
      request.bodyLength = .chunked
      var count = 0
      let stream = try builder.send(request, body: Span(), endsBody: false, through: pair.client.session) {
        count += $0.count
        pair.client.output += $0
      }
      var trailers = ByteBuffer()
      trailers.append(contentsOf: Array(fields.utf8))
      try builder.withTrailers(trailers) { pair.client.session.end(stream, trailers: $0) }
      pair.client.flush()
      sizes.append(pair.client.output.count)
      try pair.pump()
      #expect(pair.server.streams[stream]?.isEnded == true)
    }
    return sizes[1]
  }

  @Test(arguments: ["x-session", "authorization", "cookie", "x-api-key", "referer", "if-match", "etag", "origin"])
  func `T53: no request is shorter because it repeats a field of another caller`(name: String) throws {
    // Both guesses have the same length in Huffman's code.
    let (right, wrong) = ("\(name): 0123456789012345678901\r\n", "\(name): 1098765432109876543210\r\n")
    let sizes = try [right, wrong].map { try size(ofRequestWith: $0, after: right) }
    #expect(sizes[0] == sizes[1] && sizes[0] > 22)
  }

  @Test(arguments: ["/", "/index.html", "/sessions/0123", "/p?token=0123"])
  func `T53: no request is shorter because it repeats a path of another caller`(path: String) throws {
    let wrong = "/" + String(path.dropFirst().reversed())
    let sizes = try [path, wrong].map { try size(ofRequestWith: "", after: "", path: path, by: $0) }
    #expect(sizes[0] == sizes[1])
  }

  @Test func `the memory for names grows with the request`() throws {
    let builder = HTTP2RequestFields()
    for count in [1, 3_000, 10, 30_000] {
      let name = String(repeating: "N", count: count)
      let lines = "\(name): a\r\n\(name)X: b\r\n"
      #expect(
        try fields(request(lines), builder)
          == Self.start + ["\(name.lowercased()): a!", "\(name.lowercased())x: b!"])
    }
  }

  @Test(arguments: ["X y\r\nZ: a\r\n", "X: a\r\nY:b\r\n", "X: a\r\nY: b", "X: a\nY: b\r\n", ": a\r\n"])
  func `a request with a damaged field is not sent`(_ lines: String) throws {
    #expect(throws: HTTP2RequestError.self) { try fields(request(lines)) }
  }
}
