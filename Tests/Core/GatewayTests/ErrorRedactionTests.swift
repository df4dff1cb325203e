import Gateway
import HTTP1
import Policy
import Testing

/// Error bodies are searched by default (T64). In these tests `^` is a secret, and `~` could be the beginning of a
/// secret. Compression adds `!`, and a compressed body that ends with `?` is incomplete.
@Suite struct ErrorRedactionTests {
  private func asked(
    method: String = "GET", version: String = "1.1", edit: (inout Service) -> Void = { _ in }
  ) throws -> Conversation {
    var played = Conversation(try snapshot(edit: edit))
    played.client("\(method) /api/x HTTP/\(version)\r\nHost: localhost:7070\r\nAccept-Encoding: gzip, br\r\n\r\n")
    return played
  }

  private func body(_ played: Conversation) -> String {
    played.response.firstRange(of: "\r\n\r\n").map { String(played.response[$0.upperBound...]) } ?? ""
  }

  @Test(arguments: [
    ("Content-Length: 10\r\n\r\nab^cd~ef^~", "ab*cd~ef*~"),
    ("Transfer-Encoding: chunked\r\n\r\n3\r\nab^\r\n0\r\n\r\n", "3\r\nab*\r\n0\r\n\r\n"),
    ("Content-Encoding: identity\r\n\r\nab^", "3\r\nab*\r\n"),
    ("Content-Length: 0\r\nContent-Encoding: br\r\n\r\n", ""),
  ])
  func `T64: error bodies are searched by default`(response: String, expected: String) throws {
    for status in ["400 B", "401 U", "404 N", "407 P", "429 T", "500 I", "599 X"] {
      var played = try asked()
      played.upstream("HTTP/1.1 \(status)\r\n\(response)")
      #expect(played.response.hasPrefix("HTTP/1.1 \(status)\r\n"))
      #expect(body(played) == expected || expected.isEmpty, "\(played.response)")
      #expect(!played.response.contains("^") && !played.response.contains("encoded-answer"))
      #expect(played.request.contains("Accept-Encoding: gzip\r\n"))
    }
  }

  @Test(arguments: [
    ("gzip, deflate, br, zstd", ["gzip, deflate"]), ("gzip", ["gzip"]),
    ("GZip;q=0.5,X-GZIP , identity", ["GZip;q=0.5,X-GZIP , identity"]),
    ("br", ["identity"]), ("*", ["identity"]), ("br;q=1, *;q=0.1", ["identity"]), ("br, identity;q=0", ["identity"]),
    ("gzip, *", ["gzip"]), ("gzip;q=1.0, *;q=0", ["gzip;q=1.0, *;q=0"]), ("br;q=0, gzip", ["br;q=0, gzip"]),
    ("zstd, br;q=0 , deflate; q=0.000, gzip", ["br;q=0, deflate; q=0.000, gzip"]), ("", [""]),
    ("br\r\nAccept-Encoding: gzip", ["gzip"]), ("gzip\r\nAccept_Encoding: br, gzip", ["gzip", "gzip"]),
    ("compress, x-unknown", ["identity"]),
  ])
  func `T64: the upstream is offered only content codings that bearerd can decode`(accepted: String, sent: [String])
    throws
  {
    func offered(_ edit: (inout Service) -> Void) throws -> [String] {
      var played = Conversation(try snapshot(edit: edit))
      played.client("GET /api/x HTTP/1.1\r\nHost: localhost:7070\r\nAccept-Encoding: \(accepted)\r\nX-Y: z\r\n\r\n")
      #expect(played.request.contains("X-Y: z\r\n"))
      return played.request.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("accept") }
        .map { String($0.dropFirst(16)).trimmingPrefix(while: { $0 == " " }).description }
    }
    #expect(try offered { _ in } == sent)
    let unchanged = accepted.split(separator: "\r\n", omittingEmptySubsequences: false).map {
      $0.hasPrefix("Accept") ? String($0.dropFirst(17)) : String($0)
    }
    #expect(try offered { $0.options.redact = .headers } == unchanged)
    #expect(try offered { $0.credential = .pass } == unchanged, "without a credential there is nothing to search for")
    let setting = HeaderPolicy.Setting(name: "Accept-Encoding", value: Array("br".utf8))
    #expect(try offered { $0.headers.set = [setting] } == ["br"], "what the configuration says is meant so")
  }

  @Test func `T64: bearerd adds no Accept-Encoding if the client sends none`() throws {
    var played = Conversation(try snapshot())
    played.client("GET /api/x HTTP/1.1\r\nHost: localhost:7070\r\n\r\n")
    #expect(!played.request.lowercased().contains("accept-encoding"))
  }

  @Test(arguments: [
    "utf-8", "UTF-8", "none", "aws-chunked", "x-unknown", "binary", "8bit", "identity, utf-8", "", "\"",
  ])
  func `T64: an unknown Content-Encoding is passed on, and the body is searched without decoding`(word: String) throws {
    var played = try asked()
    played.upstream("HTTP/1.1 400 B\r\nContent-Encoding: \(word)\r\nETag: x\r\nContent-Length: 3\r\n\r\na^b")
    #expect(body(played) == "a*b" && played.redaction?.decodes == nil, "\(played.response)")
    #expect(played.response.contains("ETag: x\r\n") && played.response.contains("Content-Encoding: \(word)"))
    #expect(played.records.map(\.isBodyReplaced) == [false])
  }

  @Test func `T64: the body of a successful response passes unchanged, whatever its coding`() throws {
    for status in ["200 OK", "206 P", "207 M", "226 IM Used", "301 M", "399 X"] {
      var played = try asked()
      played.upstream("HTTP/1.1 \(status)\r\nContent-Encoding: br\r\nIM: gzip\r\nContent-Length: 3\r\n\r\na^~")
      #expect(played.response.contains("Content-Encoding: br\r\n") && played.response.hasSuffix("\r\n\r\na^~"))
      #expect(played.redaction?.decodes == nil)
    }
  }

  @Test(arguments: [
    ("gzip", ContentCoding.gzip), ("X-GZIP", .gzip), ("deflate", .deflate), ("identity, gzip", .gzip),
    ("gzip, utf-8", .gzip), ("gzip;q=1", .gzip),
  ])
  func `T64: a compressed error body is decoded and searched at every split`(name: String, coding: ContentCoding) throws
  {
    let about = [
      "Content-Encoding: \(name)", "Content-MD5: x", "Content-Digest: x", "Repr-Digest: x", "Digest: x", "ETag: \"x\"",
      "Accept-Ranges: bytes",
    ]
    let head = "HTTP/1.1 404 N\r\nContent-Type: text/plain\r\n\(about.joined(separator: "\r\n"))\r\nX-B: b\r\n"
    for framing in [
      "Content-Length: 8\r\n\r\n!a!^!b!~", "Transfer-Encoding: chunked\r\n\r\n8\r\n!a!^!b!~\r\n0\r\n\r\n",
    ] {
      let bytes = Array((head + framing).utf8)
      for split in 0...bytes.count {
        var played = try asked()
        played.upstream(Array(bytes[..<split]))
        played.upstream(Array(bytes[split...]))
        let fields = played.response.split(separator: "\r\n\r\n").first ?? ""
        #expect(
          fields == "HTTP/1.1 404 N\r\nContent-Type: text/plain\r\nX-B: b\r\nTransfer-Encoding: chunked", "\(split)")
        let text = body(played).split(separator: "\r\n").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        #expect(text.joined() == "a*b~", "\(split): \(played.response)")
        #expect(played.response.hasSuffix("0\r\n\r\n") && played.redaction?.decodes == coding)
        #expect(played.records.map(\.bytesDown) == [4] && played.records.map(\.redactions) == [1])
        #expect(played.log.contains("release"))
      }
    }
  }

  @Test func `T64: for an HTTP/1.0 client, a decoded body ends with the connection`() throws {
    var played = try asked(version: "1.0")
    played.upstream("HTTP/1.1 404 N\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n!a!^")
    #expect(played.response.hasSuffix("\r\n\r\na*") && !played.response.contains("Content-Length"))
    #expect(played.phase == .lingering)
  }

  @Test func `T64: trailers that describe the original body are removed`() throws {
    var played = Conversation(try snapshot())
    played.client("GET /api/x HTTP/1.1\r\nHost: localhost:7070\r\nTE: trailers\r\n\r\n")
    played.upstream(
      "HTTP/1.1 500 E\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "2\r\n!a\r\n0\r\nRepr-Digest: x\r\nX-T: ^\r\n\r\n")
    #expect(played.response.hasSuffix("0\r\nX-T: *\r\n\r\n"))
  }

  @Test(arguments: [
    "br", "zstd", "gzip, gzip", "br, gzip", "X-Compress", "\"gzip\"", "\"br\"", "compress", "br;q=1, utf-8", "dcz",
  ])
  func `T64: an error body that cannot be decoded is replaced, and its status and fields are kept`(coding: String)
    throws
  {
    for status in [401, 404, 500] {
      var played = try asked()
      played.upstream(
        "HTTP/1.1 \(status) N\r\nRetry-After: 7\r\nContent-Type: text/plain\r\nContent-Encoding: \(coding)\r\n"
          + "Content-Language: de\r\nContent-Disposition: inline\r\nETag: x\r\nLast-Modified: x\r\nVary: accept-encoding\r\n"
          + "Content-Length: 3\r\n\r\n")
      #expect(played.response.contains("encoded-answer"), "without waiting for what is not passed on")
      played.upstream("a^~")
      let lines = played.response.split(separator: "\r\n\r\n").first?.split(separator: "\r\n").map(String.init) ?? []
      let text = body(played)
      #expect(lines.contains("Content-Length: \(text.utf8.count)") && lines.first == "HTTP/1.1 \(status) N")
      #expect(lines.filter { $0.hasPrefix("Content-") }.count == 2)
      for line in [
        "Content-Type: application/problem+json", "Retry-After: 7", "Vary: accept-encoding",
        "Proxy-Status: bearerd; received-status=\(status); details=\"encoded-answer\"",
      ] { #expect(lines.contains(line), "\(line)") }
      #expect(!lines.contains { $0.hasPrefix("ETag") || $0.hasPrefix("Last-Modified") })
      #expect(text.contains("urn:bearerd:error:encoded-answer") && text.contains("\"status\":\(status)"))
      #expect(!played.response.contains("^") && played.records.map(\.isBodyReplaced) == [true])
      #expect(
        played.records.map(\.bytesDown) == [UInt64(text.utf8.count)] && played.records.allSatisfy { !$0.isOrdinary })
      #expect(played.phase == .awaitingHead && played.log.contains("release"), "both connections go on")
    }
  }

  @Test func `T64: an error body is replaced if no decoder is available`() throws {
    var played = try asked()
    played.redaction?.cannotDecode = true
    played.upstream("HTTP/1.1 404 N\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\na^~")
    #expect(body(played).contains("encoded-answer") && !played.response.contains("^"))
  }

  @Test func `T64: only a bounded part of a replaced body is read`() throws {
    for (framing, isEndless) in [("Content-Length: 65536\r\n", false), ("Content-Length: 65537\r\n", true), ("", true)]
    {
      var played = try asked()
      played.upstream("HTTP/1.1 404 N\r\nContent-Encoding: br\r\n\(framing)\r\n")
      for _ in 0..<64 { played.upstream([UInt8](repeating: 0x61, count: 1_024)) }
      #expect(played.records.isEmpty == isEndless)
      if isEndless { played.upstream("a") }
      #expect(played.records.count == 1 && played.log.contains(isEndless ? "drop" : "release"))
      #expect(played.phase == .awaitingHead)
    }
  }

  @Test func `T64: a replaced body without a length ends with the upstream connection`() throws {
    var played = try asked()
    played.upstream("HTTP/1.1 404 N\r\nContent-Encoding: br\r\n\r\nabc")
    played.upstreamEnded()
    #expect(body(played).contains("encoded-answer") && played.records.count == 1 && played.phase == .awaitingHead)
  }

  @Test func `T64: a response with a corrupt or incomplete compressed body is reset`() throws {
    var failing = try asked()
    failing.upstream("HTTP/1.1 404 N\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n!a!b")
    failing.redaction?.fails = true
    failing.upstream("!c")
    #expect(failing.phase == .closed && failing.log.contains("reset"))
    #expect(failing.records.map(\.refusal?.code) == [.encodedAnswer])
    var cut = try asked()
    cut.upstream("HTTP/1.1 404 N\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n!a!b?")
    #expect(cut.phase == .closed && cut.log.contains("reset") && cut.records.map(\.refusal?.code) == [.encodedAnswer])
  }

  @Test func `T64: a response without a body passes unchanged`() throws {
    for (method, status) in [("HEAD", "404 N"), ("HEAD", "500 I"), ("GET", "304 N"), ("GET", "204 N")] {
      var played = try asked(method: method)
      played.upstream("HTTP/1.1 \(status)\r\nContent-Encoding: br\r\n\r\n")
      #expect(played.response.hasPrefix("HTTP/1.1 \(status)\r\nContent-Encoding: br\r\n") && body(played).isEmpty)
    }
  }

  @Test func `T64: on_rejected: "502" comes before redaction, and redact: headers passes the body`() throws {
    let response = "HTTP/1.1 401 U\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\n^"
    var rejected = try asked { $0.options.onRejected = .status502 }
    rejected.upstream(response)
    #expect(rejected.response.hasPrefix("HTTP/1.1 502 ") && rejected.response.contains("credential-rejected"))
    var headers = try asked { $0.options.redact = .headers }
    headers.upstream(response)
    #expect(headers.response.hasPrefix("HTTP/1.1 401 ") && headers.response.hasSuffix("\r\n\r\n^"))
    var all = try asked { $0.options.redact = .all }
    all.upstream(response)
    #expect(all.response.hasPrefix("HTTP/1.1 502 ") && all.response.contains("encoded-answer"))
  }

  @Test func `T64: the decoding of one response does not affect the next response`() throws {
    var played = try asked()
    played.upstream("HTTP/1.1 404 N\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\n^")
    played.redaction = RedactionDouble()
    played.client("GET /api/x HTTP/1.1\r\nHost: localhost:7070\r\n\r\n")
    played.upstream("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na^~")
    #expect(played.response.hasSuffix("\r\n\r\na^~") && played.records.last?.isBodyReplaced == false)
  }
}
