import Gateway
import HTTP1
import Policy
import Testing

/// URLs in Destination and If are checked like the target itself, and rewritten for the upstream (T12).
@Suite struct WebDAVDestinationTests {
  private func move(_ fields: String..., target: String = "/api/a", method: String = "MOVE") -> String {
    "\(method) \(target) HTTP/1.1\r\nHost: localhost:7070\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
  }

  @Test(arguments: [
    ("http://localhost:7070/api/b", "https://up.test/base/b"),
    ("HTTP://LOCALHOST:7070/api/b", "https://up.test/base/b"),
    ("http://localhost:7070/api/b/?q=1", "https://up.test/base/b/?q=1"), ("/api/b", "/base/b"), ("/api/", "/base/"),
    ("/api/%62%2fc", "/base/b%2Fc"), ("/api/b?rev=1&access_token=x", "/base/b?rev=1"),
    ("//localhost:7070/api/b", "https://up.test/base/b"),
    // relative, as CouchDB uses them
    ("b", "b"), ("b?rev=2-x", "b?rev=2-x"), ("%62", "b"), ("_design/b", "_design/b"),
  ])
  func `a Destination within the service is rewritten for the upstream`(written: String, expected: String) throws {
    for method in ["MOVE", "COPY", "BMOVE"] {
      let played = exchange(move("destination: \(written)", "Depth: 0", method: method), ok(), try snapshot())
      #expect(status(played.response) == "200", "\(written): \(played.response)")
      #expect(value("destination", played.request) == expected)
      #expect(value("Depth", played.request) == "0")
    }
  }

  @Test(arguments: [
    // outside the service
    "http://localhost:7070/other/b", "/other/b", "/", "/api", "/apis/b", "/base/b", "https://up.test/base/b",
    "https://localhost:7070/api/b", "http://localhost:7071/api/b", "http://localhost/api/b", "http://evil.test/api/b",
    "http://127.0.0.1:7070/api/b", "http://127.1:7070/api/b", "//evil.test/api/b", "mailto:x@y.test", "urn:uuid:1",
    // where a rule denies the method
    "/api/admin/b", "http://localhost:7070/api/admin/b", "/api/%61dmin/b", "admin/b", "/api/readonly/b",
    // where a rule denies another reading
    "/api/admin%2Fb", "/api/x%2F%2Fadmin", "/api//admin/b", "/api/admin;v=1/b", "http://localhost:7070/api/admin%2Fb",
    // where the request would have another credential, none, or other fields
    "/api/public/b", "/api/marked/b",
    // within another service
    "/api/nested/b", "nested/b", "/api/%6eested/b",
  ])
  func `a Destination is refused if the request itself could not go there`(written: String) throws {
    let rules = try ruled()
    for field in ["Destination: \(written)", "If: <\(written)> (<urn:uuid:1>)"] {
      let played = exchange(move(field), nil, rules)
      #expect(status(played.response) == "403" && played.response.contains("destination-denied"), "\(field)")
      #expect(played.sessions.isEmpty)
    }
    let free = exchange(move("Destination: /api/free/b"), ok(), rules)
    #expect(status(free.response) == "200" && value("Destination", free.request) == "/base/free/b")
  }

  @Test(arguments: [
    "", "/api/../b", "/api/%2e%2e/b", "/api/..;/b", "../b", "..", "b/../../c", "/api/b#f", "b#f", "?q", "/api/\\b",
    "/api/%zz",
    "/api/%00", "/api/b c", "\\\\localhost\\api", "http:localhost/api/b", "http:///api/b", "/api/\"",
    "http://localhost:7070/api/../b",
  ])
  func `an unreadable Destination is refused`(written: String) throws {
    for field in ["Destination: \(written)", "If: <\(written)> (<urn:uuid:1>)"] {
      let played = exchange(move(field), nil, try snapshot())
      #expect(status(played.response) == "400" && played.response.contains("bad-destination"), "\(field)")
      #expect(played.sessions.isEmpty)
    }
  }

  @Test func `a request with two Destination fields is refused`() throws {
    let played = exchange(move("Destination: /api/b", "Destination: /api/b"), nil, try snapshot())
    #expect(played.response.contains("bad-destination") && played.sessions.isEmpty)
  }

  /// From `/db/_design/a`, `secret` is `/db/_design/secret` by RFC 3986, but `/db/secret` for CouchDB.
  @Test func `a relative Destination is checked on every directory level`() throws {
    let lines = [try rule("/db/secret", .deny), try rule("/**", .forward(.inject(0)))]
    let rules = try snapshot { $0.rules = lines }
    let refused = exchange(move("Destination: secret", target: "/api/db/_design/a"), nil, rules)
    #expect(refused.response.contains("destination-denied") && refused.sessions.isEmpty)
    let passed = exchange(move("Destination: _design/b", target: "/api/db/_design/a"), ok(), rules)
    #expect(value("Destination", passed.request) == "_design/b")
    let deep = "/api/" + String(repeating: "d/", count: 40) + "x"
    #expect(exchange(move("Destination: y", target: deep), nil, rules).response.contains("bad-destination"))
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
  func `the URLs in If are rewritten, and lock tokens are not`(written: String, expected: String) throws {
    for method in ["MOVE", "PUT", "LOCK"] {
      let played = exchange(move("If: \(written)", "If-Match: \"x\"", method: method), ok(), try snapshot())
      #expect(value("If", played.request) == expected)
      #expect(value("If-Match", played.request) == "\"x\"")
    }
  }

  @Test(arguments: [
    "<", "<x", "(", "(<x>", "([x])", "([\"x)", "([\"x\")", ")", "x", "(())", "(<x>) y", "(1)", "\"<\"", "([\"x\" ])",
  ])
  func `a malformed If field is refused`(written: String) throws {
    let played = exchange(move("If: \(written)", method: "PUT"), nil, try snapshot())
    #expect(played.response.contains("bad-destination") && played.sessions.isEmpty)
  }

  @Test func `T60: a request with too many URLs in If is refused`() throws {
    func response(_ tags: Int, _ tag: String, target: String = "/api/a") throws -> String {
      let field = "If: " + String(repeating: "<\(tag)> (<urn:x>)", count: tags)
      return exchange(move(field, target: target, method: "PUT"), ok(), try snapshot()).response
    }
    #expect(status(try response(32, "/api/b")) == "200")
    #expect(try response(33, "/api/b").contains("bad-destination"))
    let deep = "/api/" + String(repeating: String(repeating: "x", count: 480) + "/", count: 31)
    #expect(status(try response(1, "b", target: "/api/" + String(repeating: "x/", count: 20))) == "200")
    #expect(try response(2, "b", target: deep).contains("bad-destination"))
    #expect(try response(32, ";a%2Fb//c%253Bd", target: "/api/x/y/").contains("bad-destination"))
  }

  /// For methods without Destination, the field belongs to the application.
  @Test func `the Destination field of other methods passes unchanged`() throws {
    for method in ["GET", "POST", "PUT"] {
      let played = exchange(move("Destination: Oslo, via Bergen", method: method), ok(), try snapshot())
      #expect(value("Destination", played.request) == "Oslo, via Bergen")
    }
  }

  @Test func `a Destination does not affect the next request`() throws {
    var played = exchange(move("Destination: /api/first"), ok(), try snapshot())
    played.client(move("Destination: /api/second"))
    #expect(played.request.contains("/base/second") && !played.request.contains("/api/second"))
  }

  @Test func `a Destination for a service with its own host name must have this name`() throws {
    let named = try snapshot(
      at: .host("api.localhost"), more: [try service("other", at: "/", upstream: "https://other.test/")])
    func ask(_ destination: String) -> String {
      "MOVE /a HTTP/1.1\r\nHost: api.localhost:7070\r\nDestination: \(destination)\r\n\r\n"
    }
    let passed = exchange(ask("http://api.localhost:7070/b"), ok(), named)
    #expect(value("Destination", passed.request) == "https://up.test/base/b")
    let refused = exchange(ask("http://localhost:7070/b"), nil, named)
    #expect(refused.response.contains("destination-denied") && refused.sessions.isEmpty)
  }

  /// A service whose rules treat some paths differently, and a nested service.
  private func ruled() throws -> Snapshot {
    var marked = HeaderPolicy()
    marked.set = [HeaderPolicy.Setting(name: "X-Role", value: Array("admin".utf8))]
    let rules = [
      try rule("/**admin**", .deny), try rule("/readonly/**", .forward(.inject(0)), methods: ["GET"]),
      try rule("/readonly/**", .deny), try rule("/public/**", .forward(.none)),
      try rule("/marked/**", .forward(.inject(0)), headers: marked), try rule("/**", .forward(.inject(0))),
    ]
    // The same credential, so that only the service differs.
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
