import HTTP1
import Policy
import TestSupport
import Testing

/// The cost of checking one request or challenge is linear in its size, whatever its content (T60).
@Suite struct CostTests {
  @Test(arguments: walkers)
  func `T60: checking a request or a challenge takes linear time`(walker: Walker) throws {
    #expect(try walker.complaint() == nil, "\(walker)")
  }

  private static let target = HeadLimits().targetBytes
  private static let head = HeadLimits().headBytes

  /// Parts that are repeated to fill a path.
  private static let paths = [
    "x", "/", "a/", "%20", "%2F", "%25", ";", ";a", ";a/", "//a", "%2F;", "//;a", "%252F", "%253B", "%2561", "%2F%3B//",
    "/;b;b%2F%253B//%2F%24;//%253B%252F%24//%3B%2F/%3B%252F;b/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
  ]
  /// Parts that are used once in a long path, which has several readings.
  private static let tails = [
    ";a", "%2F", "//b", ";a/b;c//d", "/a%2F;b//c%253Bd", "//a%2F;b//c%253Bd", "a;b%2F%253B//%2F%24;c",
  ]

  private static func path(_ tail: String, _ count: Int) -> [UInt8] {
    let end = Array(tail.utf8)
    return [UInt8(ascii: "/")] + repeated("x", bytes: count - end.count - 1) + end
  }

  static let walkers = fullPaths + endings + parts + requests + responses

  private static let fullPaths: [Walker] = paths.flatMap { text in
    [
      Walker("CanonicalTarget", "paths of \(text.prefix(20))", upTo: target) { count in
        let bytes = [UInt8(ascii: "/")] + repeated(text, bytes: count - 1)
        return { read(bytes) }
      },
      Walker("RuleSet", "paths of \(text.prefix(20))", upTo: target) { count in
        try decision([UInt8(ascii: "/")] + repeated(text, bytes: count - 1))
      },
    ]
  }

  private static let endings: [Walker] = tails.flatMap { tail in
    [
      Walker("PathReading", "a path that ends with \(tail)", upTo: target) { count in
        let bytes = path(tail, count)
        return { read(bytes) }
      },
      Walker("PathReading", "a path that begins with \(tail)", upTo: target) { count in
        let bytes = [UInt8(ascii: "/")] + Array(tail.utf8) + repeated("x", bytes: count - tail.utf8.count - 1)
        return { read(bytes) }
      },
      Walker("RuleSet", "a path that ends with \(tail)", upTo: target) { count in try decision(path(tail, count)) },
      Walker("RuleSet", "a path that begins with /\(tail)", upTo: target) { count in
        try decision(Array("/s//".utf8) + Array(tail.utf8) + repeated("x", bytes: count - tail.utf8.count - 4))
      },
    ]
  }

  private static let parts: [Walker] = [
    Walker("CanonicalTarget", "a query", upTo: target) { count in
      let bytes = Array("/?".utf8) + repeated("a&", bytes: count - 2)
      return { read(bytes) }
    },
    Walker("MountIndex", "slashes", upTo: target) { count in try decision(repeated("/", bytes: count)) },
    Walker("Glob", "a pattern with many stars", upTo: target) { count in
      let pattern = try URLPattern(parsing: "/" + String(repeating: "*a", count: 8) + "/b")
      let bytes = [UInt8(ascii: "/")] + repeated("a", bytes: count)
      return { _ = pattern.matches(bytes.span) }
    },
    Walker("Glob", "a pattern that may begin anywhere", upTo: target) { count in
      let pattern = try URLPattern(parsing: "/**/b")
      let bytes = repeated("/a", bytes: count)
      return { _ = pattern.matches(bytes.span) }
    },
  ]

  private static let agents: [(String, KnownField, String)] = [
    ("user agents", KnownField.userAgent, "Mozilla/ AppleWebKi"), ("origins", .origin, "https://a"),
    ("sites", .secFetchSite, "none"), ("hosts", .host, "localhost"),
    ("keys", .authorization, "Bearer bearerd_"), ("logins", .authorization, "Basic YTpi"),
  ]

  private static let requests: [Walker] = agents.flatMap { name, known, text in
    [(1, head - 100), (60, 1_000)].map { fields, length in
      Walker("Admission", "\(name), in \(fields) fields", upTo: head) { count in
        let value = String(decoding: repeated(text, bytes: length * count / head), as: UTF8.self)
        return admitting(Array(repeating: (known, value), count: fields))
      }
    }
  }

  private static let schemes: [(String, String)] = [
    ("challenges", "Digest "), ("parameters", "Digest a=b,"), ("schemes", "Basic,"),
    ("realms", "Digest realm=\"a\",nonce=b,domain=\"/ / / /\","),
    ("qualities", "Digest realm=\"a\",nonce=b,qop=\"\(String(repeating: "a,", count: 200))\","),
    ("domains", "Digest realm=\"a\",nonce=b,domain=\"\(String(repeating: "/ ", count: 200))\","),
    ("scopes", "Bearer realm=\"https://auth.test/token\",scope=\"\(scopes)\", "),
  ]

  private static let responses: [Walker] = schemes.flatMap { name, text in
    [
      Walker("DigestChallenge", name, upTo: head) { count in
        let head = challenging(text, count)
        return {
          _ = DigestChallenge.strongest(in: head, of: Set(DigestHash.allCases))
          _ = DigestChallenge.nextNonce(in: head)
        }
      },
      Walker("RegistryChallenge", name, upTo: head) { count in
        let head = challenging(text, count)
        let realm = try Endpoint(parsing: "https://auth.test/token")
        return { _ = RegistryChallenge.find(in: head, realm: realm) }
      },
      Walker("ChallengedScheme", name, upTo: head) { count in
        let head = challenging(text, count)
        return { _ = ChallengedScheme.bearer.isRequested(by: head) }
      },
    ]
  }

  /// As many different scopes as fit.
  private static let scopes = (100..<350).map { "\($0)" }.joined(separator: " ")

  private static func read(_ bytes: [UInt8]) {
    var target = CanonicalTarget()
    try? target.read(bytes.span)
  }

  /// Decides about a path of a service with rules, whose upstream has the base path `/`.
  private static func decision(_ path: [UInt8]) throws -> () -> Void {
    let rules = [
      try rule("/admin/**", deny: true), try rule("/**/secret", ["GET"], deny: true), try rule("/repos/*/x", ["POST"]),
      try rule("/**"),
    ]
    let upstream = try Upstream(parsing: "https://up.example.com/")
    let services = [Mount.path(Array("/s/".utf8)), .path([UInt8(ascii: "/")])].map { mount in
      var service = Service(name: "s", listener: 0, mount: mount, upstream: upstream, credential: .inject(0))
      service.rules = rules
      return service
    }
    let set = RuleSet(services: services, grants: [])
    let admitted = try admitted()
    return {
      var target = CanonicalTarget()
      guard (try? target.read(path.span)) != nil else { return }
      var trace: [RuleVerdict]?
      _ = try? set.decide(
        admitted, method: .get, methodName: Array("GET".utf8).span, target: target, trace: &trace)
    }
  }

  private static func admitting(_ fields: [(KnownField, String)]) -> () -> Void {
    let head = requestHead(fields: fields)
    let open = admission(["localhost:7070", "a.test:7070"])
    let other = requestHead(host: "a.test:7070", fields: fields)
    var asking = open
    asking.clients = [Client(name: "c", digests: [])]
    let closed = asking
    return {
      for head in [head, other] {
        _ = try? open.admit(head, caller: caller, listener: 0)
        _ = try? closed.admit(head, caller: caller, listener: 0)
      }
    }
  }

  private static func challenging(_ text: String, _ count: Int) -> ResponseHead {
    var head = ResponseHead()
    head.status = 401
    // As many fields as a head may have.
    let line = min(count, max(count / 120, text.utf8.count))
    while head.bytes.count + line <= count {
      let start = head.bytes.count
      head.bytes += repeated(text, bytes: line)
      head.fields.append(Field(name: 0..<0, value: start..<head.bytes.count, known: .wwwAuthenticate))
    }
    return head
  }
}
