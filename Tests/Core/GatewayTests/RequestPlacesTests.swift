import Gateway
import HTTP1
import Policy
import Testing

/// What `UpstreamPool` and the tags of `If` name is decided like the target itself, and goes up as the upstream knows it (T12).
@Suite struct RequestPlacesTests {
  private func move(_ fields: String..., target: String = "/api/a", method: String = "MOVE") -> String {
    "\(method) \(target) HTTP/1.1\r\nHost: localhost:7070\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
  }

  @Test(arguments: [
    ("http://localhost:7070/api/b", "https://up.test/base/b"),
    ("HTTP://LOCALHOST:7070/api/b", "https://up.test/base/b"),
    ("http://localhost:7070/api/b/?q=1", "https://up.test/base/b/?q=1"), ("/api/b", "/base/b"), ("/api/", "/base/"),
    ("/api/%62%2fc", "/base/b%2Fc"), ("/api/b?rev=1&access_token=x", "/base/b?rev=1"),
    ("//localhost:7070/api/b", "https://up.test/base/b"),
    // CouchDB's
    ("b", "b"), ("b?rev=2-x", "b?rev=2-x"), ("%62", "b"), ("_design/b", "_design/b"),
  ])
  func aPlaceOfTheServiceIsRewritten(written: String, expected: String) throws {
    for method in ["MOVE", "COPY", "BMOVE"] {
      let played = exchange(move("destination: \(written)", "Depth: 0", method: method), ok(), try snapshot())
      #expect(status(played.answer) == "200", "\(written): \(played.answer)")
      #expect(value("destination", played.request) == expected)
      #expect(value("Depth", played.request) == "0")
    }
  }

  @Test(arguments: [
    // elsewhere
    "http://localhost:7070/other/b", "/other/b", "/", "/api", "/apis/b", "/base/b", "https://up.test/base/b",
    "https://localhost:7070/api/b", "http://localhost:7071/api/b", "http://localhost/api/b", "http://evil.test/api/b",
    "http://127.0.0.1:7070/api/b", "http://127.1:7070/api/b", "//evil.test/api/b", "mailto:x@y.test", "urn:uuid:1",
    // where a rule says no to the method
    "/api/admin/b", "http://localhost:7070/api/admin/b", "/api/%61dmin/b", "admin/b", "/api/readonly/b",
    // where it says no in another reading
    "/api/admin%2Fb", "/api/x%2F%2Fadmin", "/api//admin/b", "/api/admin;v=1/b", "http://localhost:7070/api/admin%2Fb",
    // where another credential, or none, or other fields go up
    "/api/public/b", "/api/marked/b",
    // where another service stands
    "/api/nested/b", "nested/b", "/api/%6eested/b",
  ])
  func aPlaceWhereTheRequestCouldNotGoIsRefused(written: String) throws {
    let rules = try ruled()
    for field in ["Destination: \(written)", "If: <\(written)> (<urn:uuid:1>)"] {
      let played = exchange(move(field), nil, rules)
      #expect(status(played.answer) == "403" && played.answer.contains("destination-denied"), "\(field)")
      #expect(played.sessions.isEmpty)
    }
    let free = exchange(move("Destination: /api/free/b"), ok(), rules)
    #expect(status(free.answer) == "200" && value("Destination", free.request) == "/base/free/b")
  }

  @Test(arguments: [
    "", "/api/../b", "/api/%2e%2e/b", "/api/..;/b", "../b", "..", "b/../../c", "/api/b#f", "b#f", "?q", "/api/\\b",
    "/api/%zz",
    "/api/%00", "/api/b c", "\\\\localhost\\api", "http:localhost/api/b", "http:///api/b", "/api/\"",
    "http://localhost:7070/api/../b",
  ])
  func aPlaceThatCannotBeReadIsRefused(written: String) throws {
    for field in ["Destination: \(written)", "If: <\(written)> (<urn:uuid:1>)"] {
      let played = exchange(move(field), nil, try snapshot())
      #expect(status(played.answer) == "400" && played.answer.contains("bad-destination"), "\(field)")
      #expect(played.sessions.isEmpty)
    }
  }

  @Test func ofTwoDestinationsNoneIsTaken() throws {
    let played = exchange(move("Destination: /api/b", "Destination: /api/b"), nil, try snapshot())
    #expect(played.answer.contains("bad-destination") && played.sessions.isEmpty)
  }

  /// `/db/_design/a` to `secret`: to RFC 3986 `/db/_design/secret`, to CouchDB `/db/secret`.
  @Test func aRelativePlaceIsJudgedOnEveryLevel() throws {
    let lines = [try rule("/db/secret", .deny), try rule("/**", .forward(.inject(0)))]
    let rules = try snapshot { $0.rules = lines }
    let refused = exchange(move("Destination: secret", target: "/api/db/_design/a"), nil, rules)
    #expect(refused.answer.contains("destination-denied") && refused.sessions.isEmpty)
    let passed = exchange(move("Destination: _design/b", target: "/api/db/_design/a"), ok(), rules)
    #expect(value("Destination", passed.request) == "_design/b")
    let deep = "/api/" + String(repeating: "d/", count: 40) + "x"
    #expect(exchange(move("Destination: y", target: deep), nil, rules).answer.contains("bad-destination"))
  }

  @Test(arguments: [
    ("(<urn:uuid:1>)", "(<urn:uuid:1>)"), ("([\"a>b)\"])", "([\"a>b)\"])"),
    ("([W/\"x\"] Not <DAV:no-lock>)", "([W/\"x\"] Not <DAV:no-lock>)"),
    (
      "<http://localhost:7070/api/b> (<urn:uuid:1> [\"</api/c>\"])",
      "<https://up.test/base/b> (<urn:uuid:1> [\"</api/c>\"])"
    ),
    (
      "</api/> (<opaquelocktoken:1>) </api/b> (Not <urn:x>)([\"y\"])",
      "</base/> (<opaquelocktoken:1>) </base/b> (Not <urn:x>)([\"y\"])"
    ),
  ])
  func theTagsOfIfAreRewrittenAndItsTokensAreNot(written: String, expected: String) throws {
    for method in ["MOVE", "PUT", "LOCK"] {
      let played = exchange(move("If: \(written)", "If-Match: \"x\"", method: method), ok(), try snapshot())
      #expect(value("If", played.request) == expected)
      #expect(value("If-Match", played.request) == "\"x\"")
    }
  }

  @Test(arguments: [
    "<", "<x", "(", "(<x>", "([x])", "([\"x)", "([\"x\")", ")", "x", "(())", "(<x>) y", "(1)", "\"<\"", "([\"x\" ])",
  ])
  func anIfThatCannotBeReadIsRefused(written: String) throws {
    let played = exchange(move("If: \(written)", method: "PUT"), nil, try snapshot())
    #expect(played.answer.contains("bad-destination") && played.sessions.isEmpty)
  }

  @Test func `T60: a request names a few places, and relative ones below a short path`() throws {
    func answer(_ tags: Int, _ tag: String, target: String = "/api/a") throws -> String {
      let field = "If: " + String(repeating: "<\(tag)> (<urn:x>)", count: tags)
      return exchange(move(field, target: target, method: "PUT"), ok(), try snapshot()).answer
    }
    #expect(status(try answer(32, "/api/b")) == "200")
    #expect(try answer(33, "/api/b").contains("bad-destination"))
    let deep = "/api/" + String(repeating: String(repeating: "x", count: 480) + "/", count: 31)
    #expect(status(try answer(1, "b", target: "/api/" + String(repeating: "x/", count: 20))) == "200")
    #expect(try answer(2, "b", target: deep).contains("bad-destination"))
    #expect(try answer(32, ";a%2Fb//c%253Bd", target: "/api/x/y/").contains("bad-destination"))
  }

  /// To methods that know no Destination the field is the application's own.
  @Test func aDestinationOfAnotherKindIsNobodysBusiness() throws {
    for method in ["GET", "POST", "PUT"] {
      let played = exchange(move("Destination: Oslo, via Bergen", method: method), ok(), try snapshot())
      #expect(value("Destination", played.request) == "Oslo, via Bergen")
    }
  }

  @Test func theNextRequestOfTheConnectionHasPlacesOfItsOwn() throws {
    var played = exchange(move("Destination: /api/first"), ok(), try snapshot())
    played.client(move("Destination: /api/second"))
    #expect(played.request.contains("/base/second") && !played.request.contains("/api/second"))
  }

  @Test func aServiceOnAHostNameOfItsOwnIsMeantByThatName() throws {
    let named = try snapshot(
      at: .host("api.localhost"), more: [try service("other", at: "/", upstream: "https://other.test/")])
    func ask(_ destination: String) -> String {
      "MOVE /a HTTP/1.1\r\nHost: api.localhost:7070\r\nDestination: \(destination)\r\n\r\n"
    }
    let passed = exchange(ask("http://api.localhost:7070/b"), ok(), named)
    #expect(value("Destination", passed.request) == "https://up.test/base/b")
    let refused = exchange(ask("http://localhost:7070/b"), nil, named)
    #expect(refused.answer.contains("destination-denied") && refused.sessions.isEmpty)
  }

  /// The default is the credential; places under it that are treated otherwise.
  private func ruled() throws -> Snapshot {
    var marked = HeaderPolicy()
    marked.set = [HeaderPolicy.Setting(name: "X-Role", value: Array("admin".utf8))]
    let rules = [
      try rule("/**admin**", .deny), try rule("/readonly/**", .forward(.inject(0)), methods: ["GET"]),
      try rule("/readonly/**", .deny), try rule("/public/**", .forward(.none)),
      try rule("/marked/**", .forward(.inject(0)), headers: marked), try rule("/**", .forward(.inject(0))),
    ]
    // The same credential, so that nothing but the service differs.
    var nested = try service("nested", at: "/api/nested/", upstream: "https://up.test/base/")
    nested.credential = .inject(0)
    return try snapshot(more: [nested]) { $0.rules = rules }
  }

  private func rule(
    _ pattern: String, _ action: Rule.Action, methods: [String] = [], headers: HeaderPolicy = HeaderPolicy()
  ) throws -> Rule {
    Rule(
      pattern: try URLPattern(parsing: pattern), methods: try MethodSet(methods), action: action, headers: headers,
      description: nil, line: 0)
  }
}
