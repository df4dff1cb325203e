import Gateway
import HTTP1
import Policy
import Testing

private let page = "Origin: https://app.test"

private func listing(
  _ credential: CredentialChoice = .inject(0), edit: (inout Service) -> Void = { _ in }
) throws -> Snapshot {
  try snapshot(credential: credential, pages: ["https://app.test", "http://localhost:3000"], edit: edit)
}

/// A page that is listed asks.
@Suite struct ListedPageTests {
  @Test func `T2: it may read the answer, by our word and not by the upstream's`() throws {
    let upstream = ok(
      "Access-Control-Allow-Origin: *", "Access-Control-Allow-Credentials: true", "Vary: Accept", "X-Kept: 1")
    let played = exchange(get(page, "Sec-Fetch-Site: cross-site"), upstream, try listing())
    #expect(
      head(played.answer) == [
        "HTTP/1.1 200 OK", "Vary: Accept", "X-Kept: 1", "Content-Length: 2", "Vary: Origin",
        "Access-Control-Allow-Origin: https://app.test", "Access-Control-Expose-Headers: *",
      ])
  }

  @Test func `T2: to the upstream it is a page of the upstream's own`() throws {
    let played = exchange(
      get(
        page, "referer: https://app.test/secret/path?q", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors",
        "User-Agent: Mozilla/5.0"), nil, try listing())
    #expect(
      head(played.request) == [
        "GET /base/x HTTP/1.1", "Host: up.test", "Origin: https://up.test", "referer: https://up.test/base/",
        "Sec-Fetch-Mode: cors", "User-Agent: Mozilla/5.0", "<credential>",
      ])
  }

  @Test func `T2: what is set or removed by the configuration stays so`() throws {
    let edited = try listing {
      $0.headers.remove = ["referer"]
      $0.headers.set = [.init(name: "Origin", value: Array("https://other.test".utf8))]
    }
    let played = exchange(get(page, "Referer: https://app.test/"), nil, edited)
    #expect(value("Origin", played.request) == "https://other.test" && !played.request.contains("app.test"))
    #expect(value("Referer", played.request) == nil)
  }

  @Test func `T2: a program's Referer is its own affair`() throws {
    let played = exchange(get("Referer: https://docs.test/"), ok(), try listing())
    #expect(value("Referer", played.request) == "https://docs.test/")
    // Answers differ by who asks, so a cache must not mix them up.
    #expect(head(played.answer).dropFirst() == ["Content-Length: 2", "Vary: Origin"])
  }

  @Test(arguments: [
    "Origin: null", "Origin: https://evil.test", "Origin: https://app.test:443", "Sec-Fetch-Site: cross-site",
    "Sec-Fetch-Site: cross-site\r\nReferer: https://app.test/",
  ])
  func `T2: every other stays out, and may not read why`(line: String) throws {
    let played = exchange(get(line), nil, try listing())
    #expect(status(played.answer) == "403" && played.sessions.isEmpty)
    #expect(!played.answer.contains("Access-Control-"))
  }

  @Test func `T2: it may read our own refusals`() throws {
    let edited = try listing { $0.rules = [] }
    let played = exchange(get(page), nil, edited)
    #expect(status(played.answer) == "403" && played.answer.contains("no-rule"))
    #expect(value("Access-Control-Allow-Origin", played.answer) == "https://app.test")
  }

  @Test func `T3: its WebSocket goes through, under the upstream's Origin`() throws {
    let asking = get(page, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: dGhl")
    var played = exchange(asking, nil, try listing())
    #expect(value("Origin", played.request) == "https://up.test" && value("Upgrade", played.request) == "websocket")
    played.upstream("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    #expect(played.phase == .upgraded)
    // A reload that takes the page off the list ends it.
    #expect(played.isStillAllowed(by: try listing()))
    #expect(!played.isStillAllowed(by: try snapshot(pages: ["http://localhost:3000"])))
    let other = exchange(asking.replacing("app.test", with: "evil.test"), nil, try listing())
    #expect(status(other.answer) == "403" && other.sessions.isEmpty)
  }

  @Test func `T35: a form's answer is no page of ours`() throws {
    let played = exchange(
      get(page, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Content-Length: 0", method: "POST"), ok(),
      try listing())
    #expect(value("Content-Security-Policy", played.answer) == "sandbox")
  }

  @Test(arguments: [
    ("https://evil.test", "\"browsers: { origins: [https://evil.test] }\""),
    ("https://EVIL.test:443", "\"browsers: { origins: [https://evil.test] }\""),
    ("http://[::1]:3000", "\"browsers: { origins: [\\\"http://[::1]:3000\\\"] }\""),
    ("http://localhost:7070", nil), ("null", nil), ("", nil), ("*", nil), ("file://", nil),
    ("https://evil.test/\"}", nil),
    ("chrome-extension://x", "\"browsers: { origins: [chrome-extension://x] }\""), ("app://x/y", nil),
    ("app://x,y", nil), ("app://x] }", nil), ("App://x", nil),
    ("https://evil.test] }, x: [", nil), ("https://e\u{7f}.test", nil), ("https://é.test", nil),
  ])
  func `T2: the refusal names the line to add, of an origin that could be one`(origin: String, line: String?) throws {
    let played = exchange(get("Origin: \(origin)"), nil, try snapshot())
    guard status(played.answer) == "403" else {
      #expect(status(played.answer) == "400" && line == nil)
      return
    }
    let member = line.map { ",\"add\":\($0)" } ?? ""
    #expect(played.answer.contains("\"status\":403\(member),\"help\""))
    if line == nil { #expect(origin.isEmpty || origin == "*" || !played.answer.contains(origin)) }
  }
}

/// A page asks whether it may ask.
@Suite struct PreflightTests {
  private func preflight(_ fields: String..., target: String = "/api/x", asking method: String = "PUT") -> String {
    get(
      page, "Access-Control-Request-Method: \(method)", "Access-Control-Request-Headers: content-type,x-test",
      fields.joined(separator: "\r\n").isEmpty ? "Accept: */*" : fields.joined(separator: "\r\n"), target: target,
      method: "OPTIONS")
  }

  @Test func `T2: it is answered here, with a log line and nothing sent`() throws {
    var played = exchange(get(), ok(), try listing())
    played.received = []
    played.client(preflight())
    #expect(
      head(played.answer) == [
        "HTTP/1.1 204 No Content", "Access-Control-Allow-Origin: https://app.test", "Access-Control-Allow-Methods: PUT",
        "Access-Control-Allow-Headers: *, Authorization", "Access-Control-Max-Age: 600",
        "Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
      ])
    #expect(played.answer.hasSuffix("\r\n\r\n") && !played.isOver)
    #expect(played.begun == 1 && played.sessions.count == 1)
    let record = try #require(played.records.last)
    #expect(record.isPreflight && record.status == 204 && record.place == nil)
    // The connection goes on.
    played.client(get(page, "Content-Length: 0", method: "PUT"))
    #expect(played.begun == 2 && value("Origin", played.request) == "https://up.test")
  }

  @Test(arguments: ["Private", "Local"])
  func `T2: a local network may be asked by those who are listed`(kind: String) throws {
    let field = "Access-Control-Request-\(kind)-Network: true"
    let played = exchange(preflight(field), nil, try listing())
    #expect(value("Access-Control-Allow-\(kind)-Network", played.answer) == "true")
    let other = exchange(preflight(field).replacing("app.test", with: "evil.test"), nil, try listing())
    #expect(status(other.answer) == "403" && !other.answer.contains("Access-Control-"))
  }

  @Test(arguments: [
    ("PUT", [], "403", "no-rule"), ("DELETE", ["DELETE"], "204", ""), ("PUT", ["GET"], "403", "no-rule"),
    ("PROPFIND", ["PROPFIND"], "204", ""), ("propfind", ["PROPFIND"], "403", "no-rule"),
    ("TRACE", ["GET"], "405", "method-not-supported"), ("track", ["GET"], "405", "method-not-supported"),
    ("CONNECT", ["GET"], "405", "method-not-supported"), ("GET, PUT", ["GET"], "405", "method-not-supported"),
    ("", ["GET"], "405", "method-not-supported"), ("GET\u{e9}", ["GET"], "405", "method-not-supported"),
  ])
  func `T2: it says yes to what the rules allow, and to nothing else`(
    asked: String, methods: [String], wanted: String, code: String
  ) throws {
    let rule = Rule(
      pattern: try URLPattern(parsing: "/**"), methods: try MethodSet(methods), action: .forward(.inject(0)),
      headers: HeaderPolicy(), description: nil, line: 1)
    let played = exchange(preflight(asking: asked), nil, try listing { $0.rules = methods.isEmpty ? [] : [rule] })
    #expect(status(played.answer) == wanted && played.answer.contains(code), "\(played.answer)")
    #expect(played.sessions.isEmpty)
    if wanted == "204" { #expect(value("Access-Control-Allow-Methods", played.answer) == asked) }
  }

  @Test func `T2: of others it says the same for every path: nothing`() throws {
    let snapshot = try listing()
    let answers = ["/api/x", "/nowhere/", "/api/../x", "/api/%2e"].map { target in
      exchange(preflight(target: target).replacing("app.test", with: "evil.test"), nil, snapshot).answer
    }
    #expect(Set(answers).count == 1 && answers[0].contains("origin-not-allowed"))
    #expect(exchange(preflight(target: "/nowhere/"), nil, snapshot).answer.contains("no-service"))
    var stranger = Conversation(snapshot, caller: Caller(uid: 1001))
    stranger.client(preflight())
    #expect(stranger.answer.contains("caller-not-allowed") && !stranger.answer.contains("Access-Control-"))
    let rebound = exchange(preflight().replacing("Host: localhost", with: "Host: evil.test"), nil, snapshot)
    #expect(status(rebound.answer) == "421" && !rebound.answer.contains("Access-Control-"))
  }

  @Test func `T2: where tokens are wanted it needs none, and tells nothing of the rules`() throws {
    let plain = try listing()
    let client = Client(name: "ci", digests: [TokenDigest([UInt8](repeating: 1, count: 32).span)].compactMap { $0 })
    let snapshot = Snapshot(
      generation: 1, rules: plain.rules,
      admissions: plain.admissions.map {
        Admission(callers: $0.callers, authorities: $0.authorities, clients: [client], pages: $0.pages)
      }, headLimits: plain.headLimits, ownAuthorities: plain.ownAuthorities)
    for target in ["/api/x", "/nowhere/"] {
      #expect(status(exchange(preflight(target: target), nil, snapshot).answer) == "204")
    }
    let refused = exchange(get(page, method: "PUT"), nil, snapshot).answer
    #expect(refused.contains("client-unknown"))
    #expect(value("Access-Control-Allow-Origin", refused) == "https://app.test", "it can read why")
    #expect(value("Vary", refused) == "Origin")
    let unlisted = exchange(get("Origin: https://evil.test"), nil, snapshot).answer
    #expect(unlisted.contains("origin-not-allowed") && !unlisted.contains("Access-Control-"))
    let none = exchange(get(), nil, snapshot).answer
    #expect(none.contains("client-unknown") && !none.contains("Access-Control-"))
    // A request whose head was never whole is not taken for that of the page before it.
    var next = Conversation(snapshot)
    next.client(get(page))
    next.client("GET / HTTP/1.1\r\nbad field\r\n\r\n")
    #expect(next.answer.ranges(of: "Access-Control-Allow-Origin").count == 1)
    let other = exchange(preflight().replacing("app.test", with: "evil.test"), nil, snapshot)
    #expect(other.answer.contains("origin-not-allowed"))
  }

  @Test(arguments: [
    get("Access-Control-Request-Method: PUT", method: "OPTIONS"), get(page, method: "OPTIONS"),
    get(page, "Access-Control-Request-Method: PUT"),
  ])
  func `T2: what is none goes on as ever`(request: String) throws {
    let played = exchange(request, ok(), try listing())
    #expect(played.begun == 1 && status(played.answer) == "200")
  }

  @Test(arguments: ["Connection: close", "Content-Length: 3"])
  func `T2: a connection that cannot go on is told so`(field: String) throws {
    let played = exchange(preflight(field), nil, try listing())
    #expect(status(played.answer) == "204" && value("Connection", played.answer) == "close" && played.isOver)
  }
}
