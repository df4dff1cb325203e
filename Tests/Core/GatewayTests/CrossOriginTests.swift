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

/// Requests of web pages whose origin is listed in `browsers`.
@Suite struct ListedPageTests {
  @Test func `T2: a listed page may read the response, whatever the upstream says`() throws {
    let upstream = ok(
      "Access-Control-Allow-Origin: *", "Access-Control-Allow-Credentials: true", "Vary: Accept", "X-Kept: 1")
    let played = exchange(get(page, "Sec-Fetch-Site: cross-site"), upstream, try listing())
    #expect(
      head(played.response) == [
        "HTTP/1.1 200 OK", "Vary: Accept", "X-Kept: 1", "Vary: Origin",
        "Access-Control-Allow-Origin: https://app.test", "Access-Control-Expose-Headers: *", "Content-Length: 2",
      ])
  }

  @Test func `T2: to the upstream, a listed page looks like a page of the upstream`() throws {
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

  @Test func `T2: configured fields take precedence over the rewritten Origin and Referer`() throws {
    let edited = try listing {
      $0.headers.remove = ["referer"]
      $0.headers.set = [.init(name: "Origin", value: Array("https://other.test".utf8))]
    }
    let played = exchange(get(page, "Referer: https://app.test/"), nil, edited)
    #expect(value("Origin", played.request) == "https://other.test" && !played.request.contains("app.test"))
    #expect(value("Referer", played.request) == nil)
  }

  @Test func `T2: the Referer of a program is forwarded unchanged`() throws {
    let played = exchange(get("Referer: https://docs.test/"), ok(), try listing())
    #expect(value("Referer", played.request) == "https://docs.test/")
    // Responses depend on Origin, so caches must keep them apart.
    #expect(head(played.response).dropFirst() == ["Vary: Origin", "Content-Length: 2"])
  }

  @Test(arguments: [
    "Origin: null", "Origin: https://evil.test", "Origin: https://app.test:443", "Sec-Fetch-Site: cross-site",
    "Sec-Fetch-Site: cross-site\r\nReferer: https://app.test/",
  ])
  func `T2: other pages are refused, and cannot read the reason`(line: String) throws {
    let played = exchange(get(line), nil, try listing())
    #expect(status(played.response) == "403" && played.sessions.isEmpty)
    #expect(!played.response.contains("Access-Control-"))
  }

  @Test func `T2: a listed page may read bearerd's own error responses`() throws {
    let edited = try listing { $0.rules = [] }
    let played = exchange(get(page), nil, edited)
    #expect(status(played.response) == "403" && played.response.contains("no-rule"))
    #expect(value("Access-Control-Allow-Origin", played.response) == "https://app.test")
  }

  @Test func `T3: a listed page may open a WebSocket, and the upstream sees its own Origin`() throws {
    let asking = get(page, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: dGhl")
    var played = exchange(asking, nil, try listing())
    #expect(value("Origin", played.request) == "https://up.test" && value("Upgrade", played.request) == "websocket")
    played.upstream("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    #expect(played.phase == .upgraded)
    // After a reload without the page, the connection is no longer allowed.
    #expect(played.isStillAllowed(by: try listing()))
    #expect(!played.isStillAllowed(by: try snapshot(pages: ["http://localhost:3000"])))
    let other = exchange(asking.replacing("app.test", with: "evil.test"), nil, try listing())
    #expect(status(other.response) == "403" && other.sessions.isEmpty)
  }

  @Test func `T35: the response to a form of a listed page is sandboxed`() throws {
    let played = exchange(
      get(page, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Content-Length: 0", method: "POST"), ok(),
      try listing())
    #expect(value("Content-Security-Policy", played.response) == "sandbox")
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
  func `T2: the refusal of an origin suggests the configuration line that allows the origin`(
    origin: String, line: String?
  ) throws {
    let played = exchange(get("Origin: \(origin)"), nil, try snapshot())
    guard status(played.response) == "403" else {
      #expect(status(played.response) == "400" && line == nil)
      return
    }
    let member = line.map { ",\"add\":\($0)" } ?? ""
    #expect(played.response.contains("\"status\":403\(member),\"help\""))
    if line == nil { #expect(origin.isEmpty || origin == "*" || !played.response.contains(origin)) }
  }
}

@Suite struct PreflightTests {
  private func preflight(_ fields: String..., target: String = "/api/x", asking method: String = "PUT") -> String {
    get(
      page, "Access-Control-Request-Method: \(method)", "Access-Control-Request-Headers: content-type,x-test",
      fields.joined(separator: "\r\n").isEmpty ? "Accept: */*" : fields.joined(separator: "\r\n"), target: target,
      method: "OPTIONS")
  }

  @Test func `T2: bearerd responds to a preflight itself, logs a line and sends nothing upstream`() throws {
    var played = exchange(get(), ok(), try listing())
    played.received = []
    played.client(preflight())
    #expect(
      head(played.response) == [
        "HTTP/1.1 204 No Content", "Access-Control-Allow-Origin: https://app.test", "Access-Control-Allow-Methods: PUT",
        "Access-Control-Allow-Headers: *, Authorization", "Access-Control-Max-Age: 600",
        "Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
      ])
    #expect(played.response.hasSuffix("\r\n\r\n") && !played.isOver)
    #expect(played.begun == 1 && played.sessions.count == 1)
    let record = try #require(played.records.last)
    #expect(record.isPreflight && record.status == 204 && record.serviceAndRule == nil)
    // The connection is still usable.
    played.client(get(page, "Content-Length: 0", method: "PUT"))
    #expect(played.begun == 2 && value("Origin", played.request) == "https://up.test")
  }

  @Test(arguments: ["Private", "Local"])
  func `T2: listed pages may use private network access, and other pages may not`(kind: String) throws {
    let field = "Access-Control-Request-\(kind)-Network: true"
    let played = exchange(preflight(field), nil, try listing())
    #expect(value("Access-Control-Allow-\(kind)-Network", played.response) == "true")
    let other = exchange(preflight(field).replacing("app.test", with: "evil.test"), nil, try listing())
    #expect(status(other.response) == "403" && !other.response.contains("Access-Control-"))
  }

  @Test(arguments: [
    ("PUT", [], "403", "no-rule"), ("DELETE", ["DELETE"], "204", ""), ("PUT", ["GET"], "403", "no-rule"),
    ("PROPFIND", ["PROPFIND"], "204", ""), ("propfind", ["PROPFIND"], "403", "no-rule"),
    ("TRACE", ["GET"], "405", "method-not-supported"), ("track", ["GET"], "405", "method-not-supported"),
    ("CONNECT", ["GET"], "405", "method-not-supported"), ("GET, PUT", ["GET"], "405", "method-not-supported"),
    ("", ["GET"], "405", "method-not-supported"), ("GET\u{e9}", ["GET"], "405", "method-not-supported"),
  ])
  func `T2: a preflight succeeds only for methods that the rules allow`(
    asked: String, methods: [String], wanted: String, code: String
  ) throws {
    let rule = Rule(
      pattern: try URLPattern(parsing: "/**"), methods: try MethodSet(methods), action: .forward(.inject(0)),
      headers: HeaderPolicy(), description: nil, line: 1)
    let played = exchange(preflight(asking: asked), nil, try listing { $0.rules = methods.isEmpty ? [] : [rule] })
    #expect(status(played.response) == wanted && played.response.contains(code), "\(played.response)")
    #expect(played.sessions.isEmpty)
    if wanted == "204" { #expect(value("Access-Control-Allow-Methods", played.response) == asked) }
  }

  @Test func `T2: a preflight of another page or caller gets the same refusal for every path`() throws {
    let snapshot = try listing()
    let responses = ["/api/x", "/nowhere/", "/api/../x", "/api/%2e"].map { target in
      exchange(preflight(target: target).replacing("app.test", with: "evil.test"), nil, snapshot).response
    }
    #expect(Set(responses).count == 1 && responses[0].contains("origin-not-allowed"))
    #expect(exchange(preflight(target: "/nowhere/"), nil, snapshot).response.contains("no-service"))
    var stranger = Conversation(snapshot, caller: Caller(uid: 1001))
    stranger.client(preflight())
    #expect(stranger.response.contains("caller-not-allowed") && !stranger.response.contains("Access-Control-"))
    let rebound = exchange(preflight().replacing("Host: localhost", with: "Host: evil.test"), nil, snapshot)
    #expect(status(rebound.response) == "421" && !rebound.response.contains("Access-Control-"))
  }

  @Test func `T2: a preflight needs no client token, and reveals nothing about the rules`() throws {
    let plain = try listing()
    let client = Client(name: "ci", digests: [TokenDigest([UInt8](repeating: 1, count: 32).span)].compactMap { $0 })
    let snapshot = Snapshot(
      generation: 1, rules: plain.rules,
      admissions: plain.admissions.map {
        Admission(callers: $0.callers, authorities: $0.authorities, clients: [client], pages: $0.pages)
      }, headLimits: plain.headLimits, ownAuthorities: plain.ownAuthorities)
    for target in ["/api/x", "/nowhere/"] {
      #expect(status(exchange(preflight(target: target), nil, snapshot).response) == "204")
    }
    let refused = exchange(get(page, method: "PUT"), nil, snapshot).response
    #expect(refused.contains("client-unknown"))
    #expect(value("Access-Control-Allow-Origin", refused) == "https://app.test", "it can read why")
    #expect(value("Vary", refused) == "Origin")
    let unlisted = exchange(get("Origin: https://evil.test"), nil, snapshot).response
    #expect(unlisted.contains("origin-not-allowed") && !unlisted.contains("Access-Control-"))
    let none = exchange(get(), nil, snapshot).response
    #expect(none.contains("client-unknown") && !none.contains("Access-Control-"))
    // An incomplete head is not mistaken for the previous request of the page.
    var next = Conversation(snapshot)
    next.client(get(page))
    next.client("GET / HTTP/1.1\r\nbad field\r\n\r\n")
    #expect(next.response.ranges(of: "Access-Control-Allow-Origin").count == 1)
    let other = exchange(preflight().replacing("app.test", with: "evil.test"), nil, snapshot)
    #expect(other.response.contains("origin-not-allowed"))
  }

  @Test(arguments: [
    get("Access-Control-Request-Method: PUT", method: "OPTIONS"), get(page, method: "OPTIONS"),
    get(page, "Access-Control-Request-Method: PUT"),
  ])
  func `T2: a request that is no preflight is forwarded`(request: String) throws {
    let played = exchange(request, ok(), try listing())
    #expect(played.begun == 1 && status(played.response) == "200")
  }

  @Test(arguments: ["Connection: close", "Content-Length: 3"])
  func `T2: a preflight response announces that the connection ends`(field: String) throws {
    let played = exchange(preflight(field), nil, try listing())
    #expect(status(played.response) == "204" && value("Connection", played.response) == "close" && played.isOver)
  }
}
