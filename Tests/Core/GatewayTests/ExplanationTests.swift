import Gateway
import HTTP1
import Policy
import TestSupport
import Testing

@Suite struct ExplanationTests {
  @Test func `explain and the daemon decide random requests alike`() throws {
    var random = SeededGenerator(state: 7)
    let snapshot = try rich()
    var outcomes: [String: Int] = [:]
    for _ in 0..<4_000 {
      let text = request(&random)
      var played = Conversation(snapshot)
      played.client(text)

      var head = RequestHead()
      var reader = HeadReader(limits: snapshot.headLimits)
      guard try reader.readRequest(Array(text.utf8).span, into: &head) != nil else {
        Issue.record("not a head: \(text)")
        continue
      }
      let explained = Explanation(head, caller: caller, listener: 0, snapshot: snapshot)
      if let refusal = explained.refusal {
        outcomes[refusal.row.code.description, default: 0] += 1
        #expect(played.records.last?.refusal == refusal, "\(text)")
        #expect(played.sessions.isEmpty && explained.upstreamHead.isEmpty)
      } else {
        outcomes["forwarded", default: 0] += 1
        let credential = explained.grant == nil ? "" : "<credential>\r\n"
        #expect(
          played.request == String(decoding: explained.upstreamHead, as: UTF8.self) + credential + "\r\n", "\(text)")
        #expect(played.route == explained.route)
      }
    }
    for wanted in [
      "forwarded", "no-service", "no-rule", "denied", "ambiguous-path", "host-not-allowed", "method-not-supported",
    ] {
      #expect(outcomes[wanted, default: 0] > 10, "\(wanted) in \(outcomes)")
    }
  }

  @Test func `explain lists removed and added fields and parameters`() throws {
    var head = RequestHead()
    var reader = HeadReader(limits: HeadLimits())
    let text = get(
      "Authorization: evil", "Cookie: a", "Connection: X-Hop", "X-Hop: 1", target: "/api/x?a=1&api_key=evil")
    _ = try reader.readRequest(Array(text.utf8).span, into: &head)
    let edited = try snapshot {
      $0.headers.set = [.init(name: "X-Team", value: [0x31])]
      $0.options.via = true
    }
    let explained = Explanation(head, caller: caller, listener: 0, snapshot: edited)
    #expect(explained.notes.removed == ["Authorization", "Cookie", "X-Hop"])
    #expect(explained.notes.added == ["X-Team", "Via", "authorization"])
    #expect(explained.notes.removedParameters == ["api_key"])
    #expect(explained.path == "/api/x" && explained.grant?.name == "token")
  }

  private static let upgrade = "Connection: upgrade\r\nUpgrade: websocket"
  private static let login = "Authorization: NTLM TlRMTVNTUAABAAAA"

  @Test(
    arguments: [
      (.auto, "https", "", .ofUpstream), (.auto, "http", "", .withoutTLS), (.http1, "https", "", .configured(.http1)),
      (.http1, "https", upgrade, .configured(.http1)), (.http2, "https", "", .configured(.http2)),
      (.http2, "http", "", .configured(.http2)), (.auto, "https", upgrade, .upgrade),
      (.http2, "https", upgrade, .upgrade),
      (.auto, "https", login, .login),
    ] as [(ServiceProtocol, String, String, VersionChoice)])
  func `explain says which version a request has`(
    key: ServiceProtocol, scheme: String, field: String, choice: VersionChoice
  ) throws {
    let snapshot = try snapshot(
      upstream: scheme == "https" ? "https://up.test/" : "http://127.0.0.1:9000/",
      credential: field == Self.login ? .pass : .none
    ) {
      $0.options.serviceProtocol = key
    }
    #expect(try explain(field, snapshot).version == choice)
  }

  @Test func `explain says which credentials need HTTP/1.1`() throws {
    let asked = try snapshot(authRetry: .challenged(.basic))
    #expect(try explain("", asked).version == .challenge)
    let dedicated = try snapshot(credential: .pass) { $0.options.dedicatedConnections = true }
    #expect(try explain("", dedicated).version == .dedicated)
    #expect(try explain("", try snapshot { $0.rules = [] }).version == nil)
  }

  private func explain(_ field: String, _ snapshot: Snapshot) throws -> Explanation {
    var head = RequestHead()
    var reader = HeadReader(limits: HeadLimits())
    _ = try reader.readRequest(Array((field.isEmpty ? get() : get(field)).utf8).span, into: &head)
    return Explanation(head, caller: caller, listener: 0, snapshot: snapshot)
  }

  @Test func `the message of a deny rule is the detail of the error, with JSON escapes`() throws {
    let text = "Use \"archive\" \\ ask Zoë"
    let denied = try snapshot { service in
      service.rules = [
        Rule(
          pattern: try! URLPattern(parsing: "/a"), methods: .every, action: .deny, headers: HeaderPolicy(),
          description: nil, line: 1, message: text),
        Rule(
          pattern: try! URLPattern(parsing: "/b"), methods: .every, action: .deny, headers: HeaderPolicy(),
          description: nil, line: 2),
      ]
    }
    var played = Conversation(denied)
    played.client(get(target: "/api/a"))
    #expect(status(played.response) == "403")
    #expect(
      played.response.contains(",\"status\":403,\"detail\":\"Use \\\"archive\\\" \\\\ ask Zo\\u00eb\",\"help\""),
      "\(played.response)")
    for target in ["/api/b", "/api/c"] {
      var other = Conversation(denied)
      other.client(get(target: target))
      #expect(status(other.response) == "403" && !other.response.contains("detail\""))
    }
  }

  private func rich() throws -> Snapshot {
    func rule(_ pattern: String, _ methods: [String] = [], _ action: Rule.Action) throws -> Rule {
      Rule(
        pattern: try URLPattern(parsing: pattern), methods: try MethodSet(methods), action: action,
        headers: HeaderPolicy(),
        description: nil, line: 1)
    }
    return try snapshot(more: [try service("nested", at: "/api/in/", upstream: "http://127.0.0.1:9000/n/")]) {
      service in
      service.rules = [
        try! rule("/a/**", ["DELETE"], .deny), try! rule("/a/*", ["GET", "OPTIONS"], .forward(.inject(0))),
        try! rule("/b", [], .forward(.none)), try! rule("/a/**", [], .forward(.pass)),
      ]
    }
  }

  private func request(_ random: inout SeededGenerator) -> String {
    let methods = ["GET", "GET", "GET", "POST", "DELETE", "OPTIONS", "TRACE", "PATCH"]
    let starts = ["/api/", "/api/", "/api/", "/api/in/", "/", "http://localhost:7070/api/"]
    let segments = ["a", "b", "c", "%61", "a;x", "a%2Fb", "", "..", "%41", "in"]
    let queries = ["", "", "?x=1", "?access_token=1&y", "?%61pi_key=2"]
    let fields = [
      "Authorization: x", "Cookie: a=b", "X-Api-Key: k", "Sudo: r", "Accept: */*", "Connection: close",
      "Connection: X-A",
      "X-A: 1", "Connection: Cookie", "TE: trailers", "Origin: null", "Expect: 100-continue",
      "Connection: upgrade\r\nUpgrade: h2c, websocket", "Upgrade: websocket",
    ]
    let path = (0..<Int.random(in: 0...3, using: &random)).compactMap { _ in segments.randomElement(using: &random) }
    var text = methods.randomElement(using: &random) ?? ""
    text += " " + (starts.randomElement(using: &random) ?? "") + path.joined(separator: "/")
    text += (queries.randomElement(using: &random) ?? "") + " HTTP/1.1\r\nHost: "
    text += Int.random(in: 0..<20, using: &random) == 0 ? "evil.test\r\n" : "localhost:7070\r\n"
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      let field = fields.randomElement(using: &random) ?? ""
      // Two Expect fields make a request invalid.
      if !text.contains("Expect") || !field.hasPrefix("Expect") { text += field + "\r\n" }
    }
    return text + "\r\n"
  }
}
