import Gateway
import HTTP1
import Policy
import Testing

@Suite struct RepairedResponseTests {
  private func play(
    _ response: String, method: String = "GET", isStrict: Bool = false, credential: CredentialChoice = .inject(0)
  ) throws -> Conversation {
    let world = try snapshot(credential: credential) { $0.options.responses = isStrict ? .strict : .repair }
    return exchange(get(method: method), response, world)
  }

  static let rows: [(response: String, passedOn: String, repaired: String)] = [
    (
      "HTTP/1.1 200 OK\r\nExpires : 0\r\nX-Bad Name: 1\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\nExpires: 0\r\nContent-Length: 2\r\n\r\nok", "blank-before-colon,field-name"
    ),
    (
      "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 2\n\nok",
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok", "line-feed"
    ),
    (
      "HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\nContent-Length: 2, 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\nA: b c\r\nContent-Length: 2\r\n\r\nok", "folded-field,equal-lengths"
    ),
    (
      "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
      "repeated-chunked,length-beside-chunked"
    ),
  ]

  @Test(arguments: rows)
  func `T26: a repaired response is passed on clean, and its upstream connection is not reused`(
    response: String, passedOn: String, repaired: String
  ) throws {
    let played = try play(response)
    #expect(played.response == passedOn)
    #expect(played.log == ["open", "drop", "record"] && played.phase == .awaitingHead)
    #expect(played.records.last?.repairs.description == repaired)
  }

  @Test(arguments: rows)
  func `a strict service refuses responses that need repair`(response: String, passedOn: String, repaired: String)
    throws
  {
    let played = try play(response, isStrict: true)
    #expect(status(played.response) == "502" && played.response.contains("upstream-malformed"))
    #expect(played.log == ["open", "drop", "record"] && played.records.last?.repairs.isEmpty == true)
  }

  private static let both = "Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n"

  @Test(arguments: [("HEAD", "200 OK"), ("GET", "204 No Content"), ("GET", "304 Not Modified"), ("HEAD", "404 No")])
  func `a repaired response without a body has neither length nor transfer coding`(method: String, line: String) throws
  {
    let played = try play("HTTP/1.1 \(line)\r\n" + Self.both, method: method)
    #expect(played.response == "HTTP/1.1 \(line)\r\n\r\n" && played.log == ["open", "drop", "record"])
    let strict = try play("HTTP/1.1 \(line)\r\n" + Self.both, method: method, isStrict: true)
    #expect(status(strict.response) == "502")
  }

  @Test func `T26: bytes after a repaired response are discarded`() throws {
    let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    var played = try play("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok" + evil)
    played.client(get())
    played.upstream(ok())
    #expect(!played.response.contains("evil") && played.sessions.count == 2)
    let head = try play("HTTP/1.1 200 OK\r\n" + Self.both + evil, method: "HEAD")
    #expect(!head.response.contains("evil") && head.log == ["open", "drop", "record"])
  }

  @Test(arguments: ["HTTP/1.1 103 E\r\nLink : </base/a>\r\n\r\n", "HTTP/1.1 100 C\r\n" + both, "HTTP/1.1 102 P\n\n"])
  func `T26: a repaired interim response also ends the upstream connection`(interim: String) throws {
    let played = try play(interim + ok())
    #expect(played.response.hasSuffix(ok()) && !played.response.contains("chunked"))
    #expect(played.log == ["open", "drop", "record"] && played.records.last?.repairs.isEmpty == false)
  }

  @Test func `T26: the retry after a repaired challenge uses another upstream connection`() throws {
    let world = try snapshot(replayBuffer: 64, authRetry: .digest(Set(DigestHash.allCases)))
    let challenge = "WWW-Authenticate : Digest realm=\"a\", nonce=\"b\", qop=\"auth\"\r\nContent-Length: 0\r\n\r\n"
    var played = exchange(get(), "HTTP/1.1 401 No\r\n" + challenge, world)
    played.apply { machine, output in machine.credentialRenewed(output: &output) }
    #expect(played.log.contains("drop") && !played.log.contains("release"))
  }

  @Test func `T26: trailers and chunks are never repaired`() throws {
    let start = "HTTP/1.1 200 OK\r\nA : b\r\nTransfer-Encoding: chunked\r\n\r\n"
    #expect(try play(start + "2\r\nok\r\n0\r\nX : a\r\n\r\n").records.last?.isAborted == true)
    #expect(try play(start + "2\nok\r\n0\r\n\r\n").records.last?.isAborted == true)
    #expect(try play(start + "2\r\nok\r\n0\r\nX: a\n\r\n").records.last?.isAborted == true)
    #expect(try play(start + "2\r\nok\r\n0\r\n\n").records.last?.isAborted == true)
  }

  // MARK: refusals

  private func problem(_ response: String, isStrict: Bool = false) throws -> String {
    let played = try play(response, isStrict: isStrict)
    #expect(status(played.response) == "502" && played.log == ["open", "drop", "record"])
    return played.response
  }

  @Test(arguments: [
    ("A: b\r\nno colon\r\n", #""reason":"noColon","line":3"#),
    (
      "Content-Length: 2\r\nContent-Length: 3\r\n",
      #""reason":"duplicateContentLength","field":"Content-Length","line":3"#
    ),
    ("A : b\r\nC: \u{1}\r\n", #""reason":"badFieldValue","field":"C","line":3"#),
    ("Transfer-Encoding: chunked, gzip\r\n", #""reason":"badTransferEncoding","field":"Transfer-Encoding","line":2"#),
    ("Content Length: 2\r\n", #""reason":"badFieldName","line":2"#),
    (
      String(repeating: "A: b\r\n", count: 1_025),
      #""reason":"tooManyFields","key":"limits.fields","limit":1024,"count":1025"#
    ),
    ("A: " + String(repeating: "b", count: 262_144), #""reason":"headTooLarge","key":"limits.head","limit":262144"#),
  ])
  func `the error response says what is wrong, where, and which key raises the limit`(fields: String, member: String)
    throws
  {
    let problem = try problem("HTTP/1.1 200 OK\r\n\(fields)\r\n")
    #expect(problem.contains(member), "\(problem)")
    #expect(!problem.contains("reused"))
  }

  @Test func `a strict service reports what would need repair`() throws {
    #expect(
      try problem("HTTP/1.1 200 OK\r\nExpires : 0\r\n\r\n", isStrict: true).contains(#""reason":"spaceBeforeColon""#))
    #expect(try problem("HTTP/1.1 200 OK\nA: b\n\n", isStrict: true).contains(#""reason":"bareLineFeed""#))
  }

  @Test func `T33: a field name in an error response is searched for the credential`() throws {
    let response = "HTTP/1.1 200 OK\r\na^b: \u{1}\r\n\r\n"
    let played = try play(response)
    #expect(played.response.contains(#""field":"a*b","#) && played.records.last?.redactions == 1)
    #expect(played.records.last?.faultyField == Array("a*b".utf8))
    for redaction in [nil, RedactionDouble()] {
      redaction?.fails = true
      var unsearched = Conversation(try snapshot())
      unsearched.redaction = redaction
      unsearched.client(get())
      unsearched.upstream(response)
      #expect(unsearched.response.contains("badFieldValue") && !unsearched.response.contains(#""field""#))
    }
    #expect(try play(response, credential: .pass).response.contains(#""field":"a^b""#))
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "upstream-malformed"), ("", "upstream-closed"),
    ("HTTP/1.1 302 F\r\nLocation: http://localhost:7070/\r\nContent-Length: 0\r\n\r\n", "redirect-to-self"),
  ])
  func `a refusal says whether the upstream connection was reused`(response: String, code: String) throws {
    for isReused in [false, true] {
      var played = Conversation(try snapshot())
      played.isReused = isReused
      played.client(get("Content-Length: 2", method: "POST") + "hi")
      if response.isEmpty { played.upstreamEnded() } else { played.upstream(response) }
      #expect(played.response.contains(code) && played.response.contains(#""reused":true"#) == isReused)
      #expect(played.records.last?.isReused == isReused)
    }
  }

  @Test func `the error response for a late response names the timeout`() throws {
    var late = exchange(get(), nil, try snapshot())
    late.apply { $0.deadlinePassed(output: &$1) }
    #expect(late.response.contains(#""key":"timeouts.response_head""#) && status(late.response) == "504")
    var total = exchange(get(), nil, try snapshot())
    total.apply { $0.totalDeadlinePassed(output: &$1) }
    #expect(total.response.contains(#""key":"timeouts.total""#))
    var silent = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no", try snapshot())
    silent.apply { $0.deadlinePassed(output: &$1) }
    #expect(silent.records.last?.timeout == .bodySilence && silent.records.last?.isAborted == true)
    for (code, key) in [
      (RefusalCode.connectionTimeout, "connect"), (.nameTimeout, "connect"), (.handshakeTimeout, "handshake"),
    ] {
      var never = Conversation(try snapshot())
      never.opensImmediately = false
      never.client(get())
      never.apply { $0.upstreamRefused(.plain(code), output: &$1) }
      #expect(never.response.contains("\"key\":\"timeouts.\(key)\""))
    }
  }
}
