import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// The upstream reads exactly the requests that bearerd accepted, each with its body (T16). The upstream has its own
/// parser.
@Suite(.waits) struct NoRequestIsSmuggled {
  struct Row: CustomTestStringConvertible {
    /// The bytes to send. `HOST` stands for the listener's authority.
    let text: String
    /// The status codes of the responses, in order.
    let statuses: [Int]
    /// Method, path and body of each request that the upstream gets.
    let sent: [String]
    var testDescription: String { String(text.dropFirst(30).prefix(200)).debugDescription }

    init(_ statuses: [Int], _ sent: [String], _ text: String) {
      self.statuses = statuses
      self.sent = sent
      self.text = text
    }
  }

  static let post = "POST /api/x HTTP/1.1\r\nHost: HOST\r\n"
  static let get = "GET /api/x HTTP/1.1\r\nHost: HOST\r\n"
  /// A request that must not reach the upstream.
  static let smuggled = "GET /api/smuggled HTTP/1.1\r\nHost: HOST\r\n\r\n"
  static let chunked = post + "Transfer-Encoding: chunked\r\n"

  /// Messages that are unusual but valid, or whose first requests are valid.
  static let accepted: [Row] = [
    Row([200], ["POST /base/x hello"], post + "Content-Length: 5\r\n\r\nhello"),
    Row([200], ["POST /base/x hello"], post + "Content-Length:\t5 \t\r\n\r\nhello"),
    Row([200], ["POST /base/x hello"], post + "Content-Length: 0005\r\n\r\nhello"),
    Row([200], ["POST /base/x hello"], chunked + "\r\n5\r\nhello\r\n0\r\n\r\n"),
    Row([200], ["POST /base/x hello"], post + "TRANSFER-ENCODING:\tChunked\r\n\r\n2\r\nhe\r\n03\r\nllo\r\n0\r\n\r\n"),
    Row([200], ["POST /base/x hello"], chunked + "\r\n5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n"),
    Row([200], ["POST /base/x 0123456789"], chunked + "\r\nA\r\n0123456789\r\n0\r\n\r\n"),
    Row([200], ["POST /base/x hello"], chunked + "\r\n5\r\nhello\r\n0\r\nX-Checksum: 1\r\n\r\n"),
    // Framing and routing fields in a trailer are dropped (RFC 9110 section 6.5.1).
    Row([200], ["POST /base/x hello"], chunked + "\r\n5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n"),
    Row([200], ["POST /base/x hello"], chunked + "\r\n5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    Row([200], ["POST /base/x hello"], chunked + "\r\n5\r\nhello\r\n0\r\nHost: evil\r\n\r\n"),
    Row([200, 200], ["POST /base/x ", "GET /base/x "], chunked + "\r\n00000\r\n\r\n" + get + "\r\n"),
    Row([200, 200], ["GET /base/x ", "GET /base/x "], get + "\r\n" + get + "\r\n"),
    Row([200, 200], ["POST /base/x hello", "GET /base/x "], post + "Content-Length: 5\r\n\r\nhello" + get + "\r\n"),
    Row([200, 200], ["POST /base/x ", "GET /base/x "], post + "\r\n" + get + "\r\n"),
    Row([200, 200], ["GET /base/x hello", "GET /base/x "], get + "Content-Length: 5\r\n\r\nhello" + get + "\r\n"),
    // The body of a request looks like a request.
    Row(
      [200], ["POST /base/x GET /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n"],
      post + "Content-Length: LENGTH\r\n\r\n" + get + "\r\n"),
    // Invalid bytes after a valid request are refused separately.
    Row([200, 400], ["POST /base/x hello"], post + "Content-Length: 5\r\n\r\nhello\u{1}" + smuggled),
    Row([200, 505], ["POST /base/x hell"], post + "Content-Length: 4\r\n\r\nhello /api/y\r\n" + smuggled),
    Row([200, 400], ["GET /base/x "], get + "\r\nContent-Length: 5\r\n\r\nhello"),
    Row(
      [200, 404, 200], ["GET /base/x ", "GET /base/x "],
      get + "\r\nGET /nowhere HTTP/1.1\r\nHost: HOST\r\n\r\n" + get + "\r\n"),
    // bearerd does not request an upgrade to HTTP/2.
    Row(
      [200], ["GET /base/x "],
      get + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"),
    Row([200], ["POST /base/x hello"], post + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello"),
    Row(
      [200], ["POST /base/x hello"], post + "Connection: close, keep-alive\r\nContent-Length: 5\r\n\r\nhello" + smuggled
    ),
    // A request whose body is incomplete is not counted by the upstream.
    Row([], [], post + "Content-Length: 50\r\n\r\nhello"),
    Row([], [], chunked + "\r\n5\r\nhello\r\n"),
    Row([], [], chunked + "\r\n5\r\nhello\r\n0\r\n"),
    Row([], [], "GET /api/x HTTP/1.1\r\nHost: HO"),
  ]

  /// The requests that the upstream has read.
  private final class Requests: Sendable {
    let found = Guard()

    final class Guard: @unchecked Sendable {
      private let lock = NSLock()
      private var list: [String] = []
      func add(_ text: String) { lock.withLock { list.append(text) } }
      func drain() -> [String] {
        lock.withLock {
          defer { list = [] }
          return list
        }
      }
    }
  }

  @Test(arguments: ["http/1.1", "h2"])
  func `T16: valid messages reach the upstream as exactly the accepted requests`(version: String) throws {
    let requests = Requests()
    var options = UpstreamServer.Options()
    options.protocols = [version]
    let stage = try Stage(
      options: options,
      handler: UpstreamServer.http2Handler(
        http1: { connection in
          while let request = try? connection.readRequest() {
            let words = request.text.split(separator: " ")
            requests.found.add("\(words[0]) \(words[1]) \(String(decoding: request.body, as: UTF8.self))")
            connection.respond(String(request.path))
          }
        }
      ) { request in
        requests.found.add("\(request.method) \(request.path) \(String(decoding: request.body, as: UTF8.self))")
        return .response(String(request.path.dropFirst("/base".count)))
      })
    try stage.start()
    let host = "localhost:\(try stage.daemon!.port())"
    let getLength = (Self.get + "\r\n").replacing("HOST", with: host).utf8.count
    var total = 0
    for row in Self.accepted {
      let client = try stage.raw()
      try client.send(row.text.replacing("HOST", with: host).replacing("LENGTH", with: "\(getLength)"))
      client.shutdownSending()
      let text = String(decoding: client.rest().bytes, as: UTF8.self)
      let statuses = text.matches(of: #/HTTP/1\.1 (\d\d\d) /#).compactMap { Int($0.1) }
      #expect(statuses == row.statuses, "\(row.testDescription)")
      // The message must not affect the next request.
      let next = try stage.raw()
      try next.send(stage.head("GET", "/api/next\(total)"))
      #expect(try next.response().body == "/next\(total)", "\(row.testDescription)")
      let sent = row.sent.map { $0.replacing("HOST", with: host) } + ["GET /base/next\(total) "]
      #expect(requests.found.drain() == sent, "\(row.testDescription)")
      total += 1
    }
    #expect(!stage.recorded.contains("GET /base/smuggled"))
    let heads = stage.recorded.components(separatedBy: " HTTP/1.1\r\n").count - 1
    #expect(heads >= total)
    stage.assertCanary(
      times: stage.recorded.components(separatedBy: stage.canary).count - 1)
    if version == "h2" { Self.assertWellFormed(stage.upstream.records) }
  }

  /// RFC 9113 section 8.2 and 8.3. nghttp2, which the upstream uses, does not check all of this.
  private static func assertWellFormed(_ records: [UpstreamServer.Record]) {
    for record in records {
      #expect(record.applicationProtocol == "h2" && record.http2.error == nil)
      for request in record.http2.requests {
        let names = request.fields.map(\.name)
        #expect(names.prefix(4) == [":method", ":scheme", ":authority", ":path"])
        for field in request.fields.dropFirst(4) + request.trailers {
          #expect(field.name.wholeMatch(of: #/[-!#$%&'*+.^_`|~0-9a-z]+/#) != nil, "\(field)")
          #expect(!field.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "\(field)")
        }
        let hopByHop = ["connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]
        #expect(names.allSatisfy { !hopByHop.contains($0) } && names.filter { $0 == "content-length" }.count < 2)
        #expect(request["content-length"].map { $0 == "\(request.body.count)" } ?? true)
        #expect(request.trailers.allSatisfy { !(hopByHop + ["content-length"]).contains($0.name) })
      }
    }
  }
}
