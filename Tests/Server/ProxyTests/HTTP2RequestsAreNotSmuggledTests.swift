import ServerSupport
import TestServer
import TestSupport
import Testing

/// An HTTP/1 upstream gets exactly the requests that bearerd accepted over HTTP/2, each with its body (T16).
@Suite(.inProcess) struct HTTP2RequestsAreNotSmuggled {
  private struct Row {
    let fields: HTTP2Fields
    var body: String?
    var trailers: HTTP2Fields = []
  }

  private static let smuggled = "GET /base/smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

  private static let accepted: [Row] = [
    Row(fields: []), Row(fields: [(":method", "PROPFIND")]), Row(fields: [], body: "hello"),
    Row(fields: [("content-length", "5")], body: "hello"), Row(fields: [("content-length", "0")]),
    Row(fields: [], body: "0\r\n\r\n" + smuggled), Row(fields: [(":method", "GET")], body: smuggled),
    Row(fields: [("content-length", "\(smuggled.utf8.count)")], body: smuggled),
    Row(fields: [], body: "hello", trailers: [("x-sum", "1")]),
    Row(fields: [], body: "hello", trailers: [("host", "evil.example")]),
    Row(fields: [("cookie", "a=1"), ("cookie", "b=2")]), Row(fields: [("x", ""), ("x", "a: b, (c) \t d; é")]),
    Row(fields: [("!#$%&'*+-.^_`|~09az", "1")]), Row(fields: [("te", "trailers")]),
    Row(fields: [(":path", "/api/x?a=%0d%0a%0d%0aGET%20/base/smuggled%20HTTP/1.1")]),
    Row(fields: [(":path", "/api/{a}|b^`?\"<>//evil.example/")]),
    Row(fields: [("expect", "100-continue")], body: "hello"),
  ]

  private static let refused: [Row] = [
    Row(fields: [("x", "a\r\nx-row: 99")]), Row(fields: [("x", "a\nb: c")]), Row(fields: [("x", "a\rb: c")]),
    Row(fields: [("x", "a\r\n\r\n\(smuggled)")]), Row(fields: [("x", "a\0b")]), Row(fields: [("x", "a\r")]),
    Row(fields: [("x\r\nx-row", "99")]), Row(fields: [("x: a\r\n\r\n\(smuggled)x", "1")]), Row(fields: [("x:y", "1")]),
    Row(fields: [("x y", "1")]), Row(fields: [("x ", "1")]), Row(fields: [("Content-Length", "0")], body: "hello"),
    Row(fields: [("transfer-encoding", "chunked")], body: "0\r\n\r\n" + smuggled),
    Row(fields: [("content-length", "3")], body: "hello"),
    Row(fields: [("content-length", "50")], body: "hello"), Row(fields: [("content-length", "+5")], body: "hello"),
    Row(fields: [("content-length", "5"), ("content-length", "5")], body: "hello"),
    Row(fields: [("content-length", "5, 5")], body: "hello"), Row(fields: [("content-length", "")], body: "hello"),
    Row(fields: [], body: "hello", trailers: [("content-length", "50")]),
    Row(fields: [("connection", "close, x-row")]), Row(fields: [("upgrade", "h2c")]), Row(fields: [("te", "chunked")]),
    Row(fields: [(":path", "/api/x HTTP/1.1\r\nHost: a\r\n\r\n\(smuggled)")]), Row(fields: [(":path", "/api/x y")]),
    Row(fields: [(":path", "/api/x HTTP/1.1")]), Row(fields: [(":path", "/api/\0")]),
    Row(fields: [(":path", "/api/x#y")]),
    Row(fields: [(":path", "http://evil.example/api/x")]), Row(fields: [(":path", "*")]),
    Row(fields: [(":path", "api/x")]),
    Row(fields: [(":method", "GET /base/smuggled HTTP/1.1\r\nHost: a\r\n\r\nGET")]), Row(fields: [(":method", "G ET")]),
    Row(fields: [(":method", "GET ")]), Row(fields: [(":scheme", "http\r\nx: y")]),
    Row(fields: [(":authority", "a\r\nx-row: 99")]), Row(fields: [(":authority", "user@localhost")]),
    Row(fields: [("host", "evil.example")]), Row(fields: [(":x", "1")]),
    Row(fields: [], body: "hello", trailers: [("x", "a\r\n\r\n\(smuggled)")]),
    Row(fields: [], body: "hello", trailers: [("x\r\n\r\n\(smuggled)", "a")]),
  ]

  /// The request is complete with its head. A response that comes before the data is passed on.
  private static let surplus = Row(fields: [("content-length", "0")], body: smuggled)

  @Test func `T16: an HTTP/1 upstream gets exactly the requests that were accepted over HTTP/2`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "workers: 1"))
    var client = try stage.http2()
    var expected: [StrictRequest] = []
    for (number, row) in (Self.accepted + Self.refused + [Self.surplus]).enumerated() {
      if client.goAway != nil { client = try stage.http2() }
      let fields = row.fields + [(name: "x-row", value: "\(number)")]
      let stream = try client.begin("POST", fields: fields, endsStream: row.body == nil && row.trailers.isEmpty)
      if let body = row.body {
        try client.write(Array(body.utf8), on: stream)
        try client.end(stream, trailers: row.trailers)
      }
      let response = try client.wait(for: stream) { $0.isComplete }
      let isAccepted = number < Self.accepted.count
      if number == Self.accepted.count + Self.refused.count {
        if response.isComplete { expected.append(StrictRequest(row: "\(number)", body: [])) }
        continue
      }
      #expect((response.status == 200 && response.isComplete) == isAccepted, "\(row): \(response)")
      #expect(isAccepted || response.failure != nil || [400, 421].contains(response.status), "\(row): \(response)")
      if isAccepted { expected.append(StrictRequest(row: "\(number)", body: Array((row.body ?? "").utf8))) }
    }
    let authority = "localhost:\(stage.upstream.port)"
    var arrived = try stage.upstream.records.flatMap { try StrictRequest.all(in: $0.bytes[...], for: authority) }
    // It can have arrived before its data, which ended it.
    if let last = arrived.last, last.row == "\(Self.accepted.count + Self.refused.count)", last != expected.last {
      #expect(last.body.isEmpty)
      arrived.removeLast()
    }
    #expect(arrived == expected)
  }
}

/// A request as the strictest server would read it.
private struct StrictRequest: Equatable {
  var row: String?
  var body: [UInt8] = []

  /// Returns the complete requests that arrived on a connection. Throws if a byte before their end is not as expected.
  static func all(in bytes: ArraySlice<UInt8>, for authority: String) throws -> [StrictRequest] {
    var (rest, requests) = (bytes, [StrictRequest]())
    while !rest.isEmpty {
      guard let request = try StrictRequest(from: &rest, for: authority) else { break }
      requests.append(request)
    }
    return requests
  }

  init(row: String?, body: [UInt8]) { (self.row, self.body) = (row, body) }

  /// `nil` if the connection ended within the request.
  private init?(from rest: inout ArraySlice<UInt8>, for authority: String) throws {
    guard let first = try Self.line(from: &rest) else { return nil }
    guard first.wholeMatch(of: #/[A-Z]+ /base/[!-~]* HTTP/1\.1/#) != nil else { throw TestFailure("line: \(first)") }
    guard let fields = try Self.fields(from: &rest) else { return nil }
    func values(_ name: String) -> [String] { fields.filter { $0.name.lowercased() == name }.map(\.value) }
    let (lengths, codings) = (values("content-length"), values("transfer-encoding"))
    guard values("host") == [authority], lengths.count + codings.count < 2, values("x-row").count == 1 else {
      throw TestFailure("fields: \(fields)")
    }
    row = values("x-row").first
    if let text = lengths.first {
      guard let length = Int(text), "\(length)" == text else { throw TestFailure("length: \(text)") }
      guard rest.count >= length else { return nil }
      body = Array(rest.prefix(length))
      rest = rest.dropFirst(length)
    } else if codings == ["chunked"] {
      while true {
        guard let line = try Self.line(from: &rest) else { return nil }
        guard line.wholeMatch(of: #/[0-9a-fA-F]{1,8}/#) != nil, let size = Int(line, radix: 16) else {
          throw TestFailure("chunk: \(line)")
        }
        if size == 0 { break }
        guard rest.count >= size else { return nil }
        body += rest.prefix(size)
        rest = rest.dropFirst(size)
        guard let end = try Self.line(from: &rest) else { return nil }
        guard end.isEmpty else { throw TestFailure("after a chunk: \(end)") }
      }
      guard let trailers = try Self.fields(from: &rest) else { return nil }
      let forbidden = ["content-length", "transfer-encoding", "host", "x-row"]
      guard trailers.allSatisfy({ !forbidden.contains($0.name.lowercased()) }) else {
        throw TestFailure("trailers: \(trailers)")
      }
    } else if !codings.isEmpty {
      throw TestFailure("codings: \(codings)")
    }
  }

  private static func fields(from rest: inout ArraySlice<UInt8>) throws -> HTTP2Fields? {
    var fields: HTTP2Fields = []
    while let line = try line(from: &rest) {
      if line.isEmpty { return fields }
      guard let match = line.wholeMatch(of: #/([-!#$%&'*+.^_`|~0-9a-zA-Z]+): (.*)/#) else {
        throw TestFailure("field: \(line)")
      }
      fields.append((String(match.1), String(match.2)))
    }
    return nil
  }

  /// Takes a line that ends with CRLF. `nil` if its end is missing.
  private static func line(from rest: inout ArraySlice<UInt8>) throws -> String? {
    guard let end = rest.firstIndex(of: 10) else { return nil }
    let line = rest[..<end]
    rest = rest[(end + 1)...]
    guard line.last == 13, line.dropLast().allSatisfy({ ($0 >= 32 || $0 == 9) && $0 != 127 }) else {
      throw TestFailure("line: \(String(decoding: line, as: UTF8.self).debugDescription)")
    }
    return String(decoding: line.dropLast(), as: UTF8.self)
  }
}
