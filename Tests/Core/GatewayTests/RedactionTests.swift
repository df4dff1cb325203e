import Gateway
import HTTP1
import Policy
import Testing

/// How an exchange searches its response (T33). In these tests `^` is a secret, and `~` could be the beginning of a
/// secret.
@Suite struct RedactionTests {
  private func conversation(_ redact: ServiceOptions.Redact) throws -> Conversation {
    Conversation(try snapshot { $0.options.redact = redact })
  }

  private func asked(_ redact: ServiceOptions.Redact, _ fields: String = "", method: String = "GET") throws
    -> Conversation
  {
    var played = try conversation(redact)
    played.client("\(method) /api/x HTTP/1.1\r\nHost: localhost:7070\r\n\(fields)\r\n")
    return played
  }

  @Test(arguments: [ServiceOptions.Redact.headers, .errors, .all])
  func `T33: reason phrases, fields, interim responses and trailers are searched`(redact: ServiceOptions.Redact) throws
  {
    var played = try asked(redact, "TE: trailers\r\n")
    played.upstream("HTTP/1.1 103 Early^\r\nLink: </^>\r\n\r\n")
    played.upstream("HTTP/1.1 200 Not^Fine\r\nX-A^: b^c\r\nLocation: /base/^\r\nTransfer-Encoding: chunked\r\n\r\n")
    played.upstream("0\r\nX-T: t^t\r\n\r\n")
    #expect(!played.response.contains("^"))
    for part in ["103 Early*\r\n", "200 Not*Fine\r\n", "X-A*: b*c\r\n", "Location: /api/*\r\n", "X-T: t*t\r\n"] {
      #expect(played.response.contains(part), "\(part)")
    }
    #expect(played.records.map(\.redactions) == [7])
  }

  @Test(arguments: [ServiceOptions.Redact.off, .headers, .errors])
  func `T33: without redact: all, the body of a successful response passes unchanged`(redact: ServiceOptions.Redact)
    throws
  {
    var played = try asked(redact)
    played.upstream("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n^a^~")
    #expect(played.response.hasSuffix("\r\n\r\n^a^~"))
    #expect(played.records.map(\.redactions) == [0])
  }

  @Test func `T33: with redact: off, a head passes unchanged without a search`() throws {
    var played = try asked(.off)
    played.redaction = nil
    played.upstream("HTTP/1.1 200 OK\r\nX-A: ^\r\nContent-Length: 0\r\n\r\n")
    #expect(played.response.contains("X-A: ^\r\n"))
  }

  @Test(arguments: [CredentialChoice.none, .pass])
  func `T33: a response is not searched if bearerd added no credential`(choice: CredentialChoice) throws {
    var played = Conversation(
      try snapshot(credential: choice) { service in service.options.redact = .all })
    played.redaction = nil
    played.client("GET /api/x HTTP/1.1\r\nHost: localhost:7070\r\nAccept-Encoding: gzip\r\n\r\n")
    played.upstream("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\n^")
    #expect(played.request.contains("Accept-Encoding: gzip\r\n") && played.response.hasSuffix("^"))
  }

  @Test(arguments: [
    ("Content-Length: 10\r\n\r\nab^cd~ef^~", "ab*cd~ef*~", ""),
    ("Transfer-Encoding: chunked\r\n\r\n3\r\nab^\r\n4\r\ncd~e\r\n3\r\nf^~\r\n0\r\n\r\n", "ab*cd~ef*~", ""),
    ("\r\nab^cd~ef^~", "ab*cd~ef*~", "close"),
  ])
  func `T33: a searched body keeps its length and framing at every split`(response: String, body: String, end: String)
    throws
  {
    let bytes = Array("HTTP/1.1 200 OK\r\n\(response)".utf8)
    for version in ["1.0", "1.1"] {
      for split in 0...bytes.count {
        for isByByte in [false, true] {
          var played = try conversation(.all)
          played.client("GET /api/x HTTP/\(version)\r\nHost: localhost:7070\r\n\r\n")
          played.upstream(Array(bytes[..<split]))
          if isByByte {
            for byte in bytes[split...] { played.upstream([byte]) }
          } else {
            played.upstream(Array(bytes[split...]))
          }
          if end == "close" { played.upstreamEnded() }
          let parts = played.response.split(separator: "\r\n\r\n", maxSplits: 1)
          let shown = String(parts.last ?? "")
          if played.response.contains("Transfer-Encoding: chunked") {
            #expect(unchunked(shown) == body, "\(version) \(split)")
          } else {
            #expect(shown == body, "\(version) \(split)")
          }
          #expect(played.records.map(\.bytesDown) == [10])
          #expect(played.records.map(\.redactions) == [2])
        }
      }
    }
  }

  @Test func `T33: buffered bytes are sent when their time limit ends`() throws {
    var played = try asked(.all)
    played.upstream("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabc~\r\n")
    #expect(played.response.hasSuffix("3\r\nabc\r\n"))
    let redaction = try #require(played.redaction)
    played.apply { $0.bufferDeadlinePassed(redaction: redaction, output: &$1) }
    #expect(played.response.hasSuffix("3\r\nabc\r\n1\r\n~\r\n"))
    played.apply { $0.bufferDeadlinePassed(redaction: redaction, output: &$1) }
    #expect(played.response.hasSuffix("3\r\nabc\r\n1\r\n~\r\n"))
  }

  @Test(arguments: [true, false])
  func `T33: with redact: all, the upstream is asked for an uncompressed response`(isSet: Bool) throws {
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"
    var played = Conversation(
      try snapshot { service in
        service.options.redact = .all
        if isSet { service.headers.set = [HeaderPolicy.Setting(name: "Accept-Encoding", value: Array("br".utf8))] }
      })
    played.client(
      "GET /api/x HTTP/1.1\r\nHost: localhost:7070\r\nAccept-Encoding: gzip\r\nAccept_Encoding: zstd\r\n\(upgrade)\r\n")
    #expect(played.request.contains("Accept-Encoding: identity\r\n"))
    #expect(!["gzip", "zstd", "br", "deflate"].contains { played.request.contains($0) })
    #expect(played.request.contains("Upgrade: websocket\r\n"))
    #expect(try asked(.headers, "Accept-Encoding: gzip\r\n").request.contains("Accept-Encoding: gzip\r\n"))
  }

  @Test(arguments: ["gzip", "vcdiff, gzip", "identity, diffe", "feed"])
  func `T33: with redact: all, instance manipulations are neither requested nor accepted`(manipulation: String) throws {
    var played = try asked(.all, "A-IM: \(manipulation)\r\nA_IM: gzip\r\nIf-None-Match: \"1\"\r\n")
    #expect(!played.request.contains("IM") && played.request.contains("If-None-Match"))
    played.upstream("HTTP/1.1 226 IM Used\r\nIM: \(manipulation)\r\nContent-Length: 3\r\n\r\nabc")
    #expect(played.response.hasPrefix("HTTP/1.1 502 ") && played.response.contains("encoded-answer"))
    var set = Conversation(
      try snapshot { service in
        service.options.redact = .all
        service.headers.set = [HeaderPolicy.Setting(name: "A-IM", value: Array("gzip".utf8))]
      })
    set.client("GET /api/x HTTP/1.1\r\nHost: localhost:7070\r\n\r\n")
    #expect(!set.request.contains("A-IM") && set.request.hasPrefix("GET "))
    var byDefault = try asked(.headers, "A-IM: \(manipulation)\r\n")
    #expect(byDefault.request.contains("A-IM: \(manipulation)\r\n"))
    byDefault.upstream("HTTP/1.1 226 IM Used\r\nIM: \(manipulation)\r\nContent-Length: 3\r\n\r\nabc")
    #expect(byDefault.response.hasPrefix("HTTP/1.1 226 "))
  }

  @Test func `T33: with redact: all, 226 and 206 responses without a coding pass`() throws {
    let uncoded = [
      "226 IM Used\r\nIM: identity", "226 IM Used", "206 Partial Content\r\nContent-Range: bytes 0-2/9",
      "200 OK\r\nIM: gzip",
    ]
    for head in uncoded {
      var played = try asked(.all, "Range: bytes=0-2\r\n")
      #expect(played.request.contains("Range: bytes=0-2\r\n"))
      played.upstream("HTTP/1.1 \(head)\r\nContent-Length: 3\r\n\r\na^c")
      #expect(played.response.hasSuffix("\r\n\r\na*c"), "\(head)")
    }
  }

  @Test func `T33: with redact: all, transfer codings are neither requested nor accepted`() throws {
    var played = try asked(.all, "TE: gzip, deflate;q=0.5, trailers\r\n")
    #expect(played.request.contains("TE: trailers\r\n") && !played.request.contains("gzip"))
    played.upstream("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")
    #expect(played.response.hasPrefix("HTTP/1.1 502 "))
  }

  @Test(arguments: ["gzip", "x-unknown", "identity, br", "\"identity\""])
  func `T33: with redact: all, a response with a content coding is refused`(coding: String) throws {
    var played = try asked(.all)
    played.upstream("HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: 3\r\n\r\nabc")
    #expect(played.response.hasPrefix("HTTP/1.1 502 ") && played.response.contains("encoded-answer"))
    for (method, status) in [("HEAD", "200 OK"), ("GET", "304 Not Modified"), ("GET", "204 No Content")] {
      var played = try asked(.all, method: method)
      played.upstream("HTTP/1.1 \(status)\r\nContent-Encoding: gzip\r\n\r\n")
      #expect(played.response.hasPrefix("HTTP/1.1 \(status)"), "there is nothing in it")
    }
    var uncoded = try asked(.all)
    uncoded.upstream("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc")
    #expect(uncoded.response.hasPrefix("HTTP/1.1 200 "))
  }

  @Test func `T33: with redact: all, an upgraded connection is searched and may not be compressed`() throws {
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\n"
    let granted = "HTTP/1.1 101 Switching^\r\n\(upgrade)"
    for redact in [ServiceOptions.Redact.headers, .errors, .all] {
      var played = try asked(redact, upgrade)
      played.upstream(granted + "\r\nfirst^~")
      played.upstream("x^y~")
      played.upstreamEnded()
      let expected = redact == .all ? "first*~x*y~" : "first^~x^y~"
      #expect(played.response.contains("101 Switching*\r\n") && played.response.hasSuffix("\r\n\r\n" + expected))
    }
    var compressed = try asked(.all, upgrade)
    compressed.upstream(granted + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n")
    #expect(compressed.response.contains("unrequested-upgrade"))
  }

  @Test func `T33: a response that cannot be searched is not passed on`() throws {
    var without = try asked(.headers)
    without.redaction = nil
    without.upstream("HTTP/1.1 200 OK\r\nX-A: ^\r\nContent-Length: 0\r\n\r\n")
    #expect(without.response.hasPrefix("HTTP/1.1 500 ") && !without.response.contains("^"))
    var failing = try asked(.all)
    failing.upstream("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
    failing.redaction?.fails = true
    failing.upstream("c^")
    #expect(failing.response.hasSuffix("ab") && failing.phase == .closed && failing.log.contains("reset"))
  }
}
