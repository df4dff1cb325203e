import Gateway
import HTTP1
import Policy
import Testing

@Suite struct AuthRetryTests {
  private let rejected = ok("WWW-Authenticate: Bearer error=\"invalid_token\"", status: "401 Unauthorized", body: "old")

  private func conversation(_ request: String, buffer: Int? = 16, _ response: String? = nil) throws -> Conversation {
    exchange(request, response ?? rejected, try snapshot(replayBuffer: buffer))
  }

  @Test func `a request with an expired credential is repeated, and the client sees one response`() throws {
    var conversation = try conversation(get("Accept: text/plain"))
    #expect(conversation.log == ["open", "renew"])
    #expect(conversation.received.isEmpty && conversation.deadline == .none)
    conversation.apply { $0.credentialRenewed(output: &$1) }
    #expect(conversation.log == ["open", "renew", "drop", "open fresh"])
    #expect(conversation.sessions.count == 2 && conversation.sessions[0] == conversation.sessions[1])
    conversation.upstream(ok(body: "new"))
    #expect(conversation.response.hasSuffix("new") && !conversation.response.contains("old"))
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
  func `a repeated request has the same body, whatever its framing`(_ sent: String, _ field: String, _ end: String)
    throws
  {
    var conversation = try conversation("POST /api/x HTTP/1.1\r\nHost: localhost:7070\r\n" + sent)
    #expect(conversation.log.last == "renew")
    conversation.apply { $0.credentialRenewed(output: &$1) }
    #expect(conversation.log.suffix(2).last == "open fresh")
    #expect(conversation.request.contains(field) && conversation.request.hasSuffix(end))
    conversation.upstream(ok())
    #expect(status(conversation.response) == "200")
  }

  @Test func `resource_metadata does not prevent a renewal after any 401, and explicit demands do`() throws {
    func log(_ challenge: String, _ signs: ExpirySigns) throws -> [String] {
      let response = ok("WWW-Authenticate: \(challenge)", status: "401 Unauthorized", body: "no")
      return exchange(get(), response, try snapshot(replayBuffer: 16, expiry: signs)).log
    }
    let hint = "Bearer resource_metadata=\"https://mcp.test/x\""
    #expect(try log(hint, ExpirySigns(acceptsAnyUnauthorized: true)).contains("renew"))
    #expect(try !log(hint, ExpirySigns()).contains("renew"))
    for demand in ["OTP", "Bearer error=insufficient_scope"] {
      #expect(try !log(demand, ExpirySigns(acceptsAnyUnauthorized: true)).contains("renew"))
    }
  }

  @Test func `a Digest challenge is met only if the credential supports its hash`() throws {
    func log(_ challenge: String, _ reason: AuthRetryReason, status: String = "401 Unauthorized") throws -> [String] {
      let response = ok("WWW-Authenticate: \(challenge)", status: status, body: "no")
      return exchange(get(), response, try snapshot(replayBuffer: 16, authRetry: reason)).log
    }
    let digest = #"Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256"#
    #expect(try log(digest, .digest([.sha256])) == ["open", "renew"])
    #expect(try !log(digest, .digest([.md5])).contains("renew"))
    #expect(try log(digest, .digest([.sha256], realm: Array("r".utf8))).contains("renew"))
    #expect(try !log(digest, .digest([.sha256], realm: Array("R".utf8))).contains("renew"))
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
  func `T41: a credential that waits for a challenge is sent only after a challenge of its scheme`(
    _ status: String, _ challenges: [String], _ scheme: ChallengedScheme, _ isMet: Bool
  ) throws {
    let fields = challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined()
    let response = "HTTP/1.1 \(status)\r\n\(fields)Content-Length: 0\r\n\r\n"
    let snapshot = try snapshot(replayBuffer: 16, authRetry: .challenged(scheme))
    var conversation = exchange(get(), response, snapshot)
    #expect(conversation.log.contains("renew") == isMet && conversation.challenged == [false])
    if !isMet { return #expect(GatewayTests.status(conversation.response) == String(status.prefix(3))) }
    conversation.apply { $0.credentialRenewed(output: &$1) }
    conversation.upstream(response)
    #expect(conversation.challenged == [false, true] && GatewayTests.status(conversation.response) == "401")
    conversation.client(get())
    #expect(conversation.challenged == [false, true, false])
  }

  @Test(arguments: [
    (["Basic realm=\"a\""], true),
    (["Basic REALM=a"], true),
    (["Basic realm=\"\\a\""], true),
    (["Basic realm=\"b\", Basic charset=\"UTF-8\", realm=\"a\""], true),
    (["Basic realm=\"b\"", "Basic realm=\"a\""], true),
    (["Basic realm=\"A\""], false),
    (["Basic realm=\"a \""], false),
    (["Basic realm=\"\""], false),
    (["Basic"], false),
    (["Bearer realm=\"a\""], false),
    (["Basic realm=\"b\", Bearer realm=\"a\""], false),
    (["Basic realm=\"a\", Bearer realm=\"x"], false),
  ])
  func `T41: a credential with a realm is sent only after a challenge with this realm`(
    _ challenges: [String], _ isMet: Bool
  ) throws {
    let fields = challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined()
    let response = "HTTP/1.1 401 Unauthorized\r\n\(fields)Content-Length: 0\r\n\r\n"
    let snapshot = try snapshot(replayBuffer: 16, authRetry: .challenged(.basic, realm: Array("a".utf8)))
    #expect(exchange(get(), response, snapshot).log.contains("renew") == isMet)
  }

  @Test func `T41: a retry after a stale connection does not count as challenged`() throws {
    var conversation = Conversation(try snapshot(replayBuffer: 16, authRetry: .challenged(.basic)))
    conversation.isReused = true
    conversation.client(get())
    conversation.isReused = false
    conversation.upstreamEnded()
    #expect(conversation.log.contains("open fresh") && conversation.challenged == [false, false])
  }

  @Test func `T41: after a reload, a challenge counts only for the same scheme and origin`() throws {
    let origins = try ["https://up.test", "https://other.test"].map { try Origin(parsing: $0) }
    let old = try snapshot(replayBuffer: 16, authRetry: .challenged(.basic), origins: origins)
    for (upstream, reason, isAsked) in [
      ("https://up.test/base/", AuthRetryReason.challenged(.basic), true),
      ("https://up.test/other/", .challenged(.basic), true),
      ("https://other.test/base/", .challenged(.basic), false),
      ("https://up.test/base/", .challenged(.bearer), false),
    ] {
      var conversation = exchange(
        get(), ok("WWW-Authenticate: Basic", status: "401 Unauthorized", body: "no"), old)
      conversation.opensImmediately = false
      conversation.apply { $0.credentialRenewed(output: &$1) }
      let new = try snapshot(upstream: upstream, generation: 2, replayBuffer: 16, authRetry: reason, origins: origins)
      conversation.apply { $0.configurationChanged(new, output: &$1) }
      conversation.ready()
      #expect(conversation.challenged == [false, isAsked])
    }
  }

  @Test func `a request with a body larger than the buffer is not repeated, and its 401 is passed on`() throws {
    for (count, isKept) in [(16, true), (17, false)] {
      let body = String(repeating: "x", count: count)
      let conversation = try conversation(
        "POST /api/x HTTP/1.1\r\nHost: localhost:7070\r\nContent-Length: \(count)\r\n\r\n" + body)
      #expect(conversation.log.contains("renew") == isKept)
      // The credential is still renewed for later requests.
      #expect(conversation.log.contains("replace") == !isKept)
      #expect(status(conversation.response) == (isKept ? "" : "401"))
    }
  }

  @Test func `a request is not repeated if nothing can be renewed, the body is incomplete or has trailers`()
    throws
  {
    let fixed = try conversation(get(), buffer: nil)
    #expect(status(fixed.response) == "401" && !fixed.log.contains("replace"))
    let early = "POST /api/x HTTP/1.1\r\nHost: localhost:7070\r\nContent-Length: 5\r\n\r\nhel"
    let answered = try conversation(early)
    #expect(status(answered.response) == "401" && answered.log.contains("replace"))
    let trailers =
      "POST /api/x HTTP/1.1\r\nHost: localhost:7070\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 1\r\n\r\n"
    #expect(status(try conversation(trailers).response) == "401")
  }

  @Test func `without a new value, the first response is passed on unchanged and complete`() throws {
    var conversation = try conversation(
      get(), ok("X-Left: 1", status: "401 Unauthorized", body: "this is it").replacing(" is it", with: ""))
    #expect(conversation.log == ["open", "renew"] && conversation.received.isEmpty)
    conversation.renewalRefused()
    conversation.upstream(" is it")
    #expect(status(conversation.response) == "401" && value("X-Left", conversation.response) == "1")
    #expect(conversation.response.hasSuffix("\r\n\r\nthis is it"))
    #expect(conversation.log == ["open", "renew", "release", "record"])
    let record = try #require(conversation.records.last)
    #expect(record.isRejected && !record.isRenewed && record.upstreamStatus == 401)
  }

  @Test func `a buffered response without a body is passed on complete`() throws {
    var conversation = try conversation(get(), ok(status: "401 Unauthorized", body: ""))
    conversation.renewalRefused()
    #expect(status(conversation.response) == "401" && conversation.log.last == "record")
  }

  @Test func `a request is never sent a third time`() throws {
    var conversation = try conversation(get())
    conversation.apply { $0.credentialRenewed(output: &$1) }
    conversation.upstream(rejected)
    #expect(status(conversation.response) == "401" && conversation.log.filter { $0 == "renew" }.count == 1)
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
  func `only a 401 for a missing or invalid bearer token means expiry`(
    _ status: String, _ challenges: [String], _ isExpiry: Bool
  ) throws {
    let fields = challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined()
    let response = "HTTP/1.1 \(status)\r\n\(fields)Content-Length: 0\r\n\r\n"
    #expect(try conversation(get(), response).log.contains("renew") == isExpiry)
  }

  @Test func `a client that disconnects while waiting leaves one record and no upstream connection`() throws {
    var conversation = try conversation(get())
    conversation.apply { $0.clientGone(output: &$1) }
    #expect(conversation.log == ["open", "renew", "drop", "record", "close"])
    conversation.apply { $0.credentialRenewed(output: &$1) }
    #expect(conversation.log.count == 5)
  }
}
