import Gateway
import HTTP1
import Policy
import Testing

/// A request whose credential has expired goes out once more, with another value, or its 401 is passed on.
@Suite struct SecondTryTests {
  private let rejected = ok("WWW-Authenticate: Bearer error=\"invalid_token\"", status: "401 Unauthorized", body: "old")

  private func conversation(_ request: String, buffer: Int? = 16, _ answer: String? = nil) throws -> Conversation {
    exchange(request, answer ?? rejected, try snapshot(replayBuffer: buffer))
  }

  @Test
  func `It goes out once more, byte for byte, and its client sees one answer`() throws {
    var conversation = try conversation(get("Accept: text/plain"))
    #expect(conversation.log == ["open", "renew"])
    #expect(conversation.received.isEmpty && conversation.deadline == .none)
    conversation.fact { $0.credentialRenewed(output: &$1) }
    #expect(conversation.log == ["open", "renew", "drop", "open fresh"])
    #expect(conversation.sessions.count == 2 && conversation.sessions[0] == conversation.sessions[1])
    conversation.upstream(ok(body: "new"))
    #expect(conversation.answer.hasSuffix("new") && !conversation.answer.contains("old"))
    #expect(conversation.log.suffix(2) == ["release", "record"])
    let record = try #require(conversation.records.last)
    #expect(record.isRenewed && !record.isRejected && record.upstreamStatus == 200 && conversation.records.count == 1)
    conversation.client(get())
    conversation.upstream(ok())
    #expect(conversation.records.last?.isRenewed == false)
  }

  @Test(arguments: [
    ("Content-Length: 5\r\n\r\nhello", "Content-Length: 5", "\r\n\r\nhello"),
    (
      "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "Transfer-Encoding: chunked",
      "\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    ),
    ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding: chunked", "\r\n\r\n0\r\n\r\n"),
  ])
  func `With the body that came, however it came`(_ sent: String, _ field: String, _ end: String) throws {
    var conversation = try conversation("POST /api/x HTTP/1.1\r\nHost: localhost:7070\r\n" + sent)
    #expect(conversation.log.last == "renew")
    conversation.fact { $0.credentialRenewed(output: &$1) }
    #expect(conversation.log.suffix(2).last == "open fresh")
    #expect(conversation.request.contains(field) && conversation.request.hasSuffix(end))
    conversation.upstream(ok())
    #expect(status(conversation.answer) == "200")
  }

  @Test
  func `A hint at metadata keeps no session from being begun anew that any 401 ends; what is explicit does`() throws {
    func log(_ challenge: String, _ signs: ExpirySigns) throws -> [String] {
      let answer = ok("WWW-Authenticate: \(challenge)", status: "401 Unauthorized", body: "no")
      return exchange(get(), answer, try snapshot(replayBuffer: 16, expiry: signs)).log
    }
    let hint = "Bearer resource_metadata=\"https://mcp.test/x\""
    #expect(try log(hint, ExpirySigns(takesAnyUnauthorized: true)).contains("renew"))
    #expect(try !log(hint, ExpirySigns()).contains("renew"))
    for demand in ["OTP", "Bearer error=insufficient_scope"] {
      #expect(try !log(demand, ExpirySigns(takesAnyUnauthorized: true)).contains("renew"))
    }
  }

  @Test
  func `A challenge for Digest is worth a second try where the credential can meet it, and there alone`() throws {
    func log(_ challenge: String, _ reason: AuthRetryReason, status: String = "401 Unauthorized") throws -> [String] {
      let answer = ok("WWW-Authenticate: \(challenge)", status: status, body: "no")
      return exchange(get(), answer, try snapshot(replayBuffer: 16, authRetry: reason)).log
    }
    let digest = #"Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256"#
    #expect(try log(digest, .digest([.sha256])) == ["open", "renew"])
    #expect(try !log(digest, .digest([.md5])).contains("renew"))
    #expect(try !log(digest, .expiry).contains("renew"))
    #expect(try !log("Bearer error=invalid_token", .digest([.sha256])).contains("renew"))
    #expect(try !log(#"Basic realm="x"#, .digest([.sha256])).contains("renew"))
    #expect(try !log(digest, .digest([.sha256]), status: "403 Forbidden").contains("renew"))
  }

  @Test(arguments: [
    ("401 Unauthorized", ["Basic realm=\"x\""], ChallengedScheme.basic, true),
    ("401 Unauthorized", ["Negotiate", "bAsIc"], .basic, true),
    ("401 Unauthorized", ["Digest realm=\"Basic\", nonce=\"n\", Bearer"], .bearer, true),
    ("401 Unauthorized", ["Bearer error=\"insufficient_scope\""], .bearer, true),
    ("401 Unauthorized", ["Basic realm=\"x\""], .bearer, false),
    ("401 Unauthorized", ["Bearer"], .basic, false),
    ("401 Unauthorized", ["Digest realm=\"Basic\", nonce=\"n\""], .basic, false),
    ("401 Unauthorized", ["Basic e30="], .basic, false),
    ("401 Unauthorized", ["Basic", "Bearer realm=\"x"], .basic, false),
    ("401 Unauthorized", [], .basic, false),
    ("403 Forbidden", ["Basic"], .basic, false),
    ("407 Proxy Authentication Required", ["Basic"], .basic, false),
    ("200 OK", ["Basic"], .basic, false),
  ])
  func `T41: What waits to be asked for goes out after a challenge of its own scheme, and after no other answer`(
    _ status: String, _ challenges: [String], _ scheme: ChallengedScheme, _ isMet: Bool
  ) throws {
    let fields = challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined()
    let answer = "HTTP/1.1 \(status)\r\n\(fields)Content-Length: 0\r\n\r\n"
    let snapshot = try snapshot(replayBuffer: 16, authRetry: .awaited(scheme))
    var conversation = exchange(get(), answer, snapshot)
    #expect(conversation.log.contains("renew") == isMet && conversation.asked == [false])
    if !isMet { return #expect(GatewayTests.status(conversation.answer) == String(status.prefix(3))) }
    conversation.fact { $0.credentialRenewed(output: &$1) }
    conversation.upstream(answer)
    #expect(conversation.asked == [false, true] && GatewayTests.status(conversation.answer) == "401")
    conversation.client(get())
    #expect(conversation.asked == [false, true, false])
  }

  @Test
  func `T41: A stale session's retry has not been asked for anything`() throws {
    var conversation = Conversation(try snapshot(replayBuffer: 16, authRetry: .awaited(.basic)))
    conversation.isReused = true
    conversation.client(get())
    conversation.isReused = false
    conversation.upstreamEnded()
    #expect(conversation.log.contains("open fresh") && conversation.asked == [false, false])
  }

  @Test
  func `T41: Who is asked for one credential does not show another one, nor the same elsewhere`() throws {
    let origins = try ["https://up.test", "https://other.test"].map { try Origin(parsing: $0) }
    let old = try snapshot(replayBuffer: 16, authRetry: .awaited(.basic), origins: origins)
    for (upstream, reason, isAsked) in [
      ("https://up.test/base/", AuthRetryReason.awaited(.basic), true),
      ("https://up.test/other/", .awaited(.basic), true),
      ("https://other.test/base/", .awaited(.basic), false),
      ("https://up.test/base/", .awaited(.bearer), false),
    ] {
      var conversation = exchange(
        get(), ok("WWW-Authenticate: Basic", status: "401 Unauthorized", body: "no"), old)
      conversation.opensAtOnce = false
      conversation.fact { $0.credentialRenewed(output: &$1) }
      let new = try snapshot(upstream: upstream, generation: 2, replayBuffer: 16, authRetry: reason, origins: origins)
      conversation.fact { $0.configurationChanged(new, output: &$1) }
      conversation.ready()
      #expect(conversation.asked == [false, isAsked])
    }
  }

  @Test
  func `A body that is larger than the buffer is not kept, and its 401 goes on`() throws {
    for (count, isKept) in [(16, true), (17, false)] {
      let body = String(repeating: "x", count: count)
      let conversation = try conversation(
        "POST /api/x HTTP/1.1\r\nHost: localhost:7070\r\nContent-Length: \(count)\r\n\r\n" + body)
      #expect(conversation.log.contains("renew") == isKept)
      // Whoever comes next may have better luck.
      #expect(conversation.log.contains("replace") == !isKept)
      #expect(status(conversation.answer) == (isKept ? "" : "401"))
    }
  }

  @Test
  func `Nor is there a second try where nothing can be renewed, or the body is still coming, or it has trailers`()
    throws
  {
    let fixed = try conversation(get(), buffer: nil)
    #expect(status(fixed.answer) == "401" && !fixed.log.contains("replace"))
    let early = "POST /api/x HTTP/1.1\r\nHost: localhost:7070\r\nContent-Length: 5\r\n\r\nhel"
    let answered = try conversation(early)
    #expect(status(answered.answer) == "401" && answered.log.contains("replace"))
    let trailers =
      "POST /api/x HTTP/1.1\r\nHost: localhost:7070\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 1\r\n\r\n"
    #expect(status(try conversation(trailers).answer) == "401")
  }

  @Test
  func `Where there is no new value, the first answer goes on as it came, and what follows of its body`() throws {
    var conversation = try conversation(
      get(), ok("X-Left: 1", status: "401 Unauthorized", body: "this is it").replacing(" is it", with: ""))
    #expect(conversation.log == ["open", "renew"] && conversation.received.isEmpty)
    conversation.renewalRefused()
    conversation.upstream(" is it")
    #expect(status(conversation.answer) == "401" && value("X-Left", conversation.answer) == "1")
    #expect(conversation.answer.hasSuffix("\r\n\r\nthis is it"))
    #expect(conversation.log == ["open", "renew", "release", "record"])
    let record = try #require(conversation.records.last)
    #expect(record.isRejected && !record.isRenewed && record.upstreamStatus == 401)
  }

  @Test
  func `An answer without a body ends when it is let go`() throws {
    var conversation = try conversation(get(), ok(status: "401 Unauthorized", body: ""))
    conversation.renewalRefused()
    #expect(status(conversation.answer) == "401" && conversation.log.last == "record")
  }

  @Test
  func `Never a third time`() throws {
    var conversation = try conversation(get())
    conversation.fact { $0.credentialRenewed(output: &$1) }
    conversation.upstream(rejected)
    #expect(status(conversation.answer) == "401" && conversation.log.filter { $0 == "renew" }.count == 1)
    #expect(!conversation.log.contains("replace"))
    #expect(conversation.sessions.count == 2 && conversation.records.count == 1)
  }

  @Test(arguments: [
    ("401 Unauthorized", [], true),
    ("401 Unauthorized", ["Bearer"], true),
    ("401 Unauthorized", ["Bearer realm=\"x\", error=\"invalid_token\""], true),
    ("401 Unauthorized", ["bEaReR ERROR=invalid_token"], true),
    ("401 Unauthorized", ["Bearer error=\"invalid\\_token\""], true),
    ("401 Unauthorized", ["Basic realm=\"x\"", "Bearer"], true),
    ("401 Unauthorized", ["Bearer error_description=\"error=\\\"invalid_token\\\"\""], true),
    ("401 Unauthorized", ["Bearer error=\"insufficient_scope\""], false),
    ("401 Unauthorized", ["Bearer error=\"invalid_request\""], false),
    ("401 Unauthorized", ["Bearer error=\"invalid_token\"", "Bearer error=\"insufficient_scope\""], false),
    ("401 Unauthorized", ["Bearer error=\"invalid_token"], false),
    ("401 Unauthorized", ["Bearer error=invalid_token", "Basic realm=\"x"], false),
    ("401 Unauthorized", ["Basic realm=\"x\""], false),
    ("401 Unauthorized", ["Negotiate YII="], false),
    ("403 Forbidden", ["Bearer error=\"invalid_token\""], false),
    ("407 Proxy Authentication Required", [], false),
    ("400 Bad Request", ["Bearer error=\"invalid_token\""], false),
    ("200 OK", ["Bearer error=\"invalid_token\""], false),
  ])
  func `Only a 401 that says so is an expiry`(_ status: String, _ challenges: [String], _ isExpiry: Bool) throws {
    let fields = challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined()
    let answer = "HTTP/1.1 \(status)\r\n\(fields)Content-Length: 0\r\n\r\n"
    #expect(try conversation(get(), answer).log.contains("renew") == isExpiry)
  }

  @Test
  func `A client that goes away while it waits leaves one record and no session`() throws {
    var conversation = try conversation(get())
    conversation.fact { $0.clientGone(output: &$1) }
    #expect(conversation.log == ["open", "renew", "drop", "record", "close"])
    conversation.fact { $0.credentialRenewed(output: &$1) }
    #expect(conversation.log.count == 5)
  }
}
