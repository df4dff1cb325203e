import Gateway
import HTTP1
import Policy
import Primitives
import Testing

@Suite struct DiscoveryTests {
  private static func service(
    _ name: String, at mount: Mount, _ credential: CredentialChoice, callers: Callers? = nil, rules: [Rule]? = nil
  ) throws -> Service {
    var service = Service(
      name: name, listener: 0, mount: mount, upstream: try Upstream(parsing: "https://up.test/"),
      credential: credential)
    service.callers = callers
    service.rules = rules
    return service
  }

  private static func rule(_ action: Rule.Action) throws -> Rule {
    Rule(
      pattern: try URLPattern(parsing: "/**"), methods: .every, action: action, headers: HeaderPolicy(),
      description: nil, line: 1)
  }

  private static func grant(_ name: String, _ callers: Callers? = nil, parts: [Grant] = []) -> Grant {
    Grant(name: name, origins: [], callers: callers, fieldNames: ["authorization"], parts: parts)
  }

  /// - Parameter isOn: whether the listener has `discovery`.
  private static func snapshot(isOn: Bool = true) throws -> Snapshot {
    let (own, other) = (grant("own"), grant("other", Callers(uids: [1])))
    let services = [
      // Would get the request if bearerd did not respond itself.
      try service("all", at: .path(Array("/".utf8)), .inject(0)),
      try service("hidden", at: .path(Array("/hidden/".utf8)), .inject(0), callers: Callers(uids: [1])),
      try service("forbidden", at: .path(Array("/forbidden/".utf8)), .inject(1)),
      try service("denied", at: .path(Array("/denied/".utf8)), .inject(0), rules: [try rule(.deny)]),
      try service("pair", at: .host("pair.localhost"), .inject(2)),
      try service(
        "mixed", at: .path(Array("/mixed/".utf8)), .inject(0),
        rules: [try rule(.forward(.inject(1))), try rule(.forward(.none)), try rule(.forward(.inject(0)))]),
    ]
    let names = ["localhost:7070"]
    return Snapshot(
      generation: 1,
      rules: RuleSet(services: services, grants: [own, other, grant("own+third", parts: [own, grant("third")])]),
      admissions: [Admission(callers: Callers(uids: [1, 1000]), authorities: names)], headLimits: HeadLimits(),
      ownAuthorities: Set(names), discoveryListeners: isOn ? [0] : [])
  }

  @Test(arguments: [
    ("GET", "/.well-known/bearerd", true), ("HEAD", "/.well-known/bearerd", true),
    ("GET", "http://localhost:7070/.well-known/bearerd", true), ("POST", "/.well-known/bearerd", false),
    ("GET", "/.well-known/bearerd/", false), ("GET", "/.well-known/bearerd?x", false),
    ("GET", "/.well-known/bearer%64", false), ("GET", "//.well-known/bearerd", false),
  ])
  func `bearerd responds itself only to GET and HEAD of the exact target, and only if discovery is on`(
    method: String, target: String, isLocal: Bool
  ) throws {
    for isOn in [true, false] {
      var played = Conversation(try Self.snapshot(isOn: isOn))
      played.client(get(target: target, method: method))
      #expect(played.sessions.isEmpty == (isOn && isLocal))
      guard isOn, isLocal else { continue }
      #expect(played.records.map(\.status) == [200] && played.records[0].refusal == nil)
      #expect(played.phase == .awaitingHead)
    }
  }

  @Test func `a caller who is not admitted learns nothing`() throws {
    for (caller, host) in [(Caller(uid: 2), "localhost:7070"), (Caller(uid: 1000), "evil.test")] {
      var played = Conversation(try Self.snapshot(), caller: caller)
      played.client("GET /.well-known/bearerd HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      #expect(status(played.response) == "403" || status(played.response) == "421", "\(played.response)")
    }
  }

  @Test func `the document lists the services and credentials that the caller may use`() throws {
    let snapshot = try Self.snapshot()
    func document(_ uid: UInt32, _ authority: String = "localhost:7070") -> String {
      let body = Discovery.document(
        for: Caller(uid: uid), authority: authority, snapshot.discoveryOffers[0] ?? [], snapshot.rules
      ) { name, _, _ in
        name == "third"
          ? Discovery.Credential(isAvailable: false, expires: nil, remedy: "bearerctl login third")
          : Discovery.Credential(isAvailable: true, expires: 1_800_000_000, remedy: nil)
      }
      return String(decoding: body, as: UTF8.self)
    }
    let own = "{\"name\":\"own\",\"available\":true,\"expires\":1800000000,\"run\":null}"
    let third = "{\"name\":\"third\",\"available\":false,\"expires\":null,\"run\":\"bearerctl login third\"}"
    func row(_ name: String, _ url: String, _ credentials: String) -> String {
      "{\"name\":\"\(name)\",\"url\":\"http://\(url)\",\"credentials\":[\(credentials)]}"
    }
    let rows = [
      row("all", "localhost:7070/", own), row("pair", "pair.localhost:7070/", "\(own),\(third)"),
      row("mixed", "localhost:7070/mixed/", own),
    ]
    #expect(document(1000) == "{\"services\":[\(rows.joined(separator: ","))]}\n")
    let all = document(1)
    for name in ["hidden", "forbidden", "other"] { #expect(all.contains("\"name\":\"\(name)\"")) }
    #expect(!all.contains("\"denied\""))
    #expect(document(1000, "[::1]:7070").contains("http://[::1]:7070/mixed/"))
    #expect(document(1000, "[::1]").contains("http://pair.localhost/"))
  }
}
