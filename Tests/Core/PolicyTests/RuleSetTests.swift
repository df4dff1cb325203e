import HTTP1
import Policy
import Testing

@Suite struct RuleSetTests {
  @Test func `the service with the longest matching path gets the request`() throws {
    let rules = RuleSet(
      services: [
        try service("root", .path(Array("/".utf8))), try service("git", .path(Array("/git/".utf8))),
        try service("hub", .path(Array("/git/hub/".utf8))), try service("own", .whole, listener: 1),
        try service("name", .host("git.localhost")), try service("other", .path(Array("/git/".utf8)), listener: 2),
      ], grants: [])
    let rows: [(String, Int, String?, Int?)] = [
      ("/", 0, nil, 0), ("/x", 0, nil, 0), ("/git", 0, nil, 0), ("/gitx/", 0, nil, 0), ("/git/", 0, nil, 1),
      ("/git/x", 0, nil, 1), ("/git/hub", 0, nil, 1), ("/git/hub/", 0, nil, 2), ("/git/hub/x/y", 0, nil, 2),
      ("/%67it/x", 0, nil, 1), ("/GIT/x", 0, nil, 0), ("/x", 1, nil, 3), ("/git/x", 1, nil, 3), ("/x", 2, nil, nil),
      ("/git", 2, nil, nil), ("/git/", 2, nil, 5), ("/git/", 3, nil, nil), ("/", 0, "git.localhost", 4),
      ("/git/hub/", 0, "git.localhost", 4), ("/git/", 0, "host.docker.internal", 1), ("/git/", 2, "git.localhost", 5),
    ]
    for (target, listener, host, expected) in rows {
      let outcome = try decide(rules, target, listener: listener, host: host)
      let wanted: Outcome = expected.map { .route($0, nil, .inject(0)) } ?? .refused(.noService)
      #expect(outcome == wanted, "\(target) \(listener) \(host ?? "-")")
    }
  }

  @Test func `the first matching rule decides`() throws {
    let rules = RuleSet(
      services: [
        try service(rules: [
          rule("/status", ["GET"], credential: .none), rule("/repos/**", ["DELETE", "PURGE"], deny: true),
          rule("/pass/*", credential: .pass), rule("/repos/**"),
        ]), try service("empty", .path(Array("/e/".utf8)), rules: []), try service("open", .path(Array("/o/".utf8))),
      ], grants: [])
    let rows: [(String, String, Outcome)] = [
      ("GET", "/s/status", .route(0, 0, .none)), ("GET", "/s/status?x=/repos/", .route(0, 0, .none)),
      ("POST", "/s/status", .refused(.noRule(service: 0))), ("HEAD", "/s/status", .refused(.noRule(service: 0))),
      ("get", "/s/status", .refused(.noRule(service: 0))), ("PROPFIND", "/s/status", .refused(.noRule(service: 0))),
      ("DELETE", "/s/repos/a", .refused(.denied(service: 0, rule: 1))),
      ("PURGE", "/s/repos/a", .refused(.denied(service: 0, rule: 1))),
      ("PURGEX", "/s/repos/a", .route(0, 3, .inject(0))),
      ("purge", "/s/repos/a", .refused(.denied(service: 0, rule: 1))), ("GET", "/s/repos/a", .route(0, 3, .inject(0))),
      ("GET", "/s/pass/x", .route(0, 2, .pass)), ("GET", "/s/", .refused(.noRule(service: 0))),
      ("GET", "/e/", .refused(.noRule(service: 1))), ("GET", "/o/x", .route(2, nil, .inject(0))),
      // OPTIONS is sent without the credential, unless a rule names OPTIONS (T18)
      ("OPTIONS", "/s/repos/a", .route(0, 3, .none)), ("OPTIONS", "/s/pass/x", .route(0, 2, .pass)),
      ("OPTIONS", "/o/x", .route(2, nil, .none)),
    ]
    for (method, target, expected) in rows {
      #expect(try decide(rules, target, method: method) == expected, "\(method) \(target)")
    }
    let named = RuleSet(services: [try service(rules: [rule("/**", ["OPTIONS"])])], grants: [])
    #expect(try decide(named, "/s/", method: "OPTIONS") == .route(0, 0, .inject(0)))
  }

  @Test func `the forwarded path begins with the last slash of the mount path`() throws {
    let rules = RuleSet(
      services: [try service(), try service("w", .whole, listener: 1), try service("h", .host("h.localhost"))],
      grants: [])
    var trace: [RuleVerdict]?
    let get = Array("GET".utf8)
    func start(_ target: String, listener: Int = 0, host: String? = nil, method: HTTP1.Method = .get) throws -> Int {
      try rules.decide(
        admitted(listener: listener, host: host), method: method, methodName: get.span, target: canonical(target),
        trace: &trace
      ).pathStart
    }
    #expect(try start("/s/x") == 2)
    #expect(try start("/s/") == 2)
    #expect(try start("/%73//x") == 2)
    #expect(try start("/s/x", listener: 1) == 0)
    #expect(try start("/x", host: "h.localhost") == 0)
    #expect(try start("*", listener: 1, method: .options) == 0)
  }

  @Test func `the target * reaches only a service that has a whole listener`() throws {
    let rules = RuleSet(
      services: [
        try service(), try service("w", .whole, listener: 1),
        try service("r", .whole, listener: 2, rules: [rule("/**")]),
      ],
      grants: [])
    #expect(try decide(rules, "*", method: "OPTIONS") == .refused(.noService))
    #expect(try decide(rules, "*", method: "OPTIONS", listener: 1) == .route(1, nil, .none))
    #expect(try decide(rules, "*", method: "OPTIONS", listener: 2) == .refused(.noRule(service: 2)))
    #expect(try decide(rules, "*", method: "GET", listener: 1) == .refused(.badPath))
  }

  @Test func `a service can restrict the callers of its listener`() throws {
    var narrowed = try service(rules: [rule("/x")])
    narrowed.callers = Callers(uids: [7])
    let rules = RuleSet(services: [narrowed], grants: [])
    #expect(try decide(rules, "/s/x") == .refused(.callerNotAllowedHere(service: 0, uid: 1000)))
    #expect(try decide(rules, "/s/y") == .refused(.callerNotAllowedHere(service: 0, uid: 1000)))
    narrowed.callers = Callers(uids: [7, 1000])
    #expect(try decide(RuleSet(services: [narrowed], grants: []), "/s/x") == .route(0, 0, .inject(0)))
  }

  @Test func `a credential can restrict the callers of its services`() throws {
    let services = [try service(rules: [rule("/x"), rule("/open", credential: .none)])]
    for (uids, isAllowed) in [([7], false), ([7, 1000], true), ([], false)] as [(Set<UInt32>, Bool)] {
      let grant = Grant(name: "g", origins: [], callers: Callers(uids: uids), fieldNames: [])
      let rules = RuleSet(services: services, grants: [grant])
      let refused = Outcome.refused(.callerNotGranted(service: 0, grant: 0, uid: 1000))
      #expect(try decide(rules, "/s/x") == (isAllowed ? .route(0, 0, .inject(0)) : refused))
      #expect(try decide(rules, "/s/open") == .route(0, 1, .none))
    }
  }

  @Test func `an ambiguous path is refused only if its readings are decided differently`() throws {
    let deny = [try rule("/admin/**", deny: true), try rule("/**")]
    let allow = [
      try rule("/public/*"), try rule("/a/*/c", credential: .none), try rule("/a/**", credential: .inject(1)),
    ]
    let twice = [try rule("/a/*"), try rule("/a/**")]
    let last = [try rule("/a;x/b", deny: true), try rule("/**")]
    let order = [try rule("/;a/b"), try rule("/*/b", deny: true), try rule("/**")]
    let rows: [([Rule], String, Outcome)] = [
      (last, "/s/a;x/b;y", .refused(.ambiguousPath)), (last, "/s/a;x/c;y", .route(0, 1, .inject(0))),
      (order, "/s//;a/b", .refused(.ambiguousPath)), (order, "/s//;a/c", .route(0, 2, .inject(0))),
      (deny, "/s/admin/x", .refused(.denied(service: 0, rule: 0))), (deny, "/s/x%2Fy", .route(0, 1, .inject(0))),
      (deny, "/s//x", .route(0, 1, .inject(0))), (deny, "/s/a;b/c", .route(0, 1, .inject(0))),
      (deny, "/s/%61dmin/x", .refused(.denied(service: 0, rule: 0))), (deny, "/s//admin/x", .refused(.ambiguousPath)),
      (deny, "/s/admin%2Fx", .refused(.ambiguousPath)), (deny, "/s/admin;x/y", .refused(.ambiguousPath)),
      (deny, "/s/admin%5Cx", .refused(.ambiguousPath)), (deny, "/s/x%5Cy", .route(0, 1, .inject(0))),
      (deny, "/s/x%5C..%5Cadmin%5Cy", .refused(.dotSegment)), (deny, "/s%5Cx", .refused(.ambiguousPath)),
      (deny, "/s/[admin]/x", .route(0, 1, .inject(0))), (deny, "/s/%5Cadmin/x", .refused(.ambiguousPath)),
      ([try rule("/a%5Cb"), try rule("/**", deny: true)], "/s/a%5Cb", .refused(.ambiguousPath)),
      ([try rule("/a%5Cb"), try rule("/a/b")], "/s/a%5cb", .route(0, 0, .inject(0))),
      ([try rule("/%5Bid%5D"), try rule("/**", deny: true)], "/s/[id]", .route(0, 0, .inject(0))),
      ([try rule("/%C3%A9"), try rule("/**", deny: true)], "/s/é", .route(0, 0, .inject(0))),
      (deny, "/s/%2561dmin/x", .refused(.ambiguousPath)), (deny, "/s/admin%3Bx/y", .refused(.ambiguousPath)),
      (deny, "/s/%2Fadmin/x", .refused(.ambiguousPath)), (deny, "/s/;/admin/x", .refused(.ambiguousPath)),
      (deny, "/s/admin//x", .refused(.denied(service: 0, rule: 0))),
      (deny, "/s/Admin/x", .refused(.denied(service: 0, rule: 0))),
      (allow, "/s/public/x%2Fy", .refused(.ambiguousPath)), (allow, "/s/public/x", .route(0, 0, .inject(0))),
      (allow, "/s/public/a%20b", .route(0, 0, .inject(0))), (allow, "/s/a/x%2Fy/c", .refused(.ambiguousPath)),
      (allow, "/s/a/x%24/c", .route(0, 1, .none)), (allow, "/s/a/b/c%2Fd", .route(0, 2, .inject(1))),
      (allow, "/s/x%2Fy", .refused(.noRule(service: 0))), (twice, "/s/a/x%2Fy", .route(0, 0, .inject(0))),
      // readings that belong to different services
      (deny, "/s%2Fx", .refused(.ambiguousPath)), (deny, "//s/x", .refused(.ambiguousPath)),
      (deny, "/s;v=1/x", .refused(.ambiguousPath)), (deny, "/t%2Fx", .refused(.noService)),
      (deny, "/s", .refused(.noService)),
      (deny, "/%2573/x", .refused(.ambiguousPath)),
      // only one reading, decoded once and without parameters, ends with `%61`
      ([try rule("/**a")], "/s/b%2F%2561%3Ba", .refused(.ambiguousPath)),
    ]
    for (rules, target, expected) in rows {
      let set = RuleSet(services: [try service(rules: rules)], grants: [])
      #expect(try decide(set, target) == expected, "\(target)")
    }
  }

  @Test func `T12: a path with single-dot segments is decided like the path without them`() throws {
    let set = RuleSet(
      services: [try service(rules: [rule("/admin/**", deny: true), rule("/**")])], grants: [])
    for target in ["/s/./admin/x", "/./s/admin/./x", "/s/admin/.", "/s/././admin/x"] {
      #expect(try decide(set, target) == .refused(.denied(service: 0, rule: 0)), "\(target)")
    }
    for target in ["/s/./x", "/./s/.", "/s/."] {
      #expect(try decide(set, target) == .route(0, 1, .inject(0)), "\(target)")
    }
    #expect(try decide(set, "/.") == .refused(.noService))
  }

  @Test func `the target * is allowed only by a rule for *`() throws {
    let rows: [([Rule], String, Outcome)] = try [
      ([rule("*")], "OPTIONS", .route(0, 0, .none)), ([rule("*", ["OPTIONS"])], "OPTIONS", .route(0, 0, .inject(0))),
      ([rule("/**"), rule("**", ["OPTIONS"])], "OPTIONS", .refused(.noRule(service: 0))),
      ([rule("*", deny: true)], "OPTIONS", .refused(.denied(service: 0, rule: 0))),
      ([rule("/**"), rule("*", ["OPTIONS"], credential: .pass)], "OPTIONS", .route(0, 1, .pass)),
      ([rule("*", ["OPTIONS"])], "GET", .refused(.badPath)),
    ]
    for (rules, method, expected) in rows {
      for mount in [Mount.whole, .path(Array("/".utf8))] {
        let set = RuleSet(services: [try service("w", mount, rules: rules)], grants: [])
        #expect(try decide(set, "*", method: method) == expected, "\(rules.map(\.pattern.text)) \(mount)")
        if rules.count == 1 { #expect(try decide(set, "/x") == .refused(.noRule(service: 0)), "no path fits it") }
      }
    }
    let elsewhere = RuleSet(services: [try service(rules: [rule("*")])], grants: [])
    #expect(try decide(elsewhere, "*", method: "OPTIONS") == .refused(.noService))
    let twice = RuleSet(
      services: [try service("w", .whole, rules: [rule("*"), rule("/**"), rule("*", ["OPTIONS"])])], grants: [])
    #expect(
      twice.shadowedRules().map { "\($0.rule) \($0.by) \($0.witnessMethod) \($0.witnessPath)" } == ["2 [0] OPTIONS *"])
  }

  @Test func `T63: deny rules ignore the case of letters, and allow rules do not`() throws {
    let secret = [try rule("/acme/Secret/**", ["DELETE", "PURGE"], deny: true), try rule("/acme/**")]
    let any = [try rule("/acme/secret/**", deny: true), try rule("/acme/**")]
    let exact = [try rule("/acme/secret/**", ["DELETE"], deny: true, isExact: true), try rule("/acme/**")]
    let denied = Outcome.refused(.denied(service: 0, rule: 0))
    let passed = Outcome.route(0, 1, .inject(0))
    let rows: [([Rule], String, String, Outcome)] = [
      (any, "GET", "/s/acme/secret/x", denied), (any, "GET", "/s/ACME/SECRET/x", denied),
      (any, "GET", "/s/acme/%53ecreT/x", denied), (any, "GET", "/s/acme//sEcret/x", .refused(.ambiguousPath)),
      (any, "GET", "/s/acme/%2553ecret/x", .refused(.ambiguousPath)),
      (any, "GET", "/s/acme/SECRET%2Fx", .refused(.ambiguousPath)), (any, "GET", "/s/acme/secre/x", passed),
      (any, "GET", "/s/acme/\u{7B}", passed), (any, "GET", "/s/acme/<", .refused(.forbiddenCharacter)),
      (any, "GET", "/s/acme/secret@x", passed),
      (any, "GET", "/s/Acme/x", .refused(.noRule(service: 0))), (any, "GET", "/S/acme/secret/x", .refused(.noService)),
      (secret, "DELETE", "/s/acme/secret/x", denied), (secret, "delete", "/s/acme/secret/x", denied),
      (secret, "Purge", "/s/ACME/secret/x", denied), (secret, "GET", "/s/acme/secret/x", passed),
      (secret, "deletes", "/s/acme/secret/x", passed), (exact, "DELETE", "/s/acme/secret/x", denied),
      (exact, "delete", "/s/acme/secret/x", passed), (exact, "DELETE", "/s/acme/Secret/x", passed),
    ]
    for (rules, method, target, expected) in rows {
      let set = RuleSet(services: [try service(rules: rules)], grants: [])
      #expect(try decide(set, target, method: method) == expected, "\(method) \(target)")
    }
  }

  /// An upstream that resolves `//any/repos/y` as a reference reads host `any` and path `/repos/y`.
  @Test func `a path that begins with two slashes does not bypass a deny rule`() throws {
    let rules = [try rule("/repos/**", deny: true), try rule("/**")]
    let rows: [(String, String, Outcome)] = [
      ("https://up.example.com/", "/s//any/repos/y", .refused(.ambiguousPath)),
      ("https://up.example.com/", "/s///any/repos/y", .refused(.ambiguousPath)),
      ("https://up.example.com/", "/s/%2Fany/repos/y", .refused(.ambiguousPath)),
      ("https://up.example.com/", "/s//any//repos//y", .refused(.ambiguousPath)),
      ("https://up.example.com/", "/s//any/x", .route(0, 1, .inject(0))),
      ("https://up.example.com/", "/s/any/repos/y", .route(0, 1, .inject(0))),
      ("https://up.example.com/v1/", "/s//any/repos/y", .route(0, 1, .inject(0))),
    ]
    for (upstream, target, expected) in rows {
      var service = Service(
        name: "s", listener: 0, mount: .path(Array("/s/".utf8)), upstream: try Upstream(parsing: upstream),
        credential: .inject(0))
      service.rules = rules
      #expect(try decide(RuleSet(services: [service], grants: []), target) == expected, "\(upstream) \(target)")
    }
  }

  @Test func `an ambiguous path is refused if its readings get different header settings`() throws {
    var headers = HeaderPolicy()
    headers.remove = ["x-trace"]
    let plain = try rule("/a/*")
    let other = Rule(
      pattern: try URLPattern(parsing: "/a/**"), methods: .every, action: plain.action, headers: headers,
      description: nil, line: 0)
    let set = RuleSet(services: [try service(rules: [plain, other])], grants: [])
    #expect(try decide(set, "/s/a/x%2Fy") == .refused(.ambiguousPath))
  }

  /// Otherwise a path that servers read as strictly limited could be counted under a generous rate.
  @Test func `T8: an ambiguous path is refused if its readings have different rate limits`() throws {
    func decided(_ one: RuleRate, _ other: RuleRate, ofService rate: Rate? = nil) throws -> Outcome {
      let rules = try [("/a/*", one), ("/a/**", other)].map { pattern, rate in
        let plain = try rule(pattern)
        return Rule(
          pattern: plain.pattern, methods: .every, action: plain.action, headers: HeaderPolicy(), description: nil,
          line: 0, rate: rate)
      }
      var service = try service(rules: rules)
      service.rate = rate
      return try decide(RuleSet(services: [service], grants: []), "/s/a/x%2Fy")
    }
    let rate = Rate(requests: 60, per: .minute)
    for (one, other) in [(RuleRate.own(rate), RuleRate.inherited), (.inherited, .own(rate)), (.own(rate), .own(rate))] {
      #expect(try decided(one, other) == .refused(.ambiguousPath))
    }
    #expect(try decided(.none, .inherited, ofService: rate) == .refused(.ambiguousPath))
    #expect(try decided(.inherited, .inherited, ofService: rate) == .route(0, 0, .inject(0)))
    #expect(try decided(.none, .inherited) == .route(0, 0, .inject(0)))
  }

  @Test func `the trace has a verdict for every rule`() throws {
    let set = RuleSet(
      services: [try service(rules: [rule("/a", ["POST"]), rule("/b"), rule("/b", ["PUT"]), rule("/*"), rule("/**")])],
      grants: [])
    var trace: [RuleVerdict]? = []
    let name = Array("GET".utf8)
    let route = try set.decide(
      admitted(), method: .get, methodName: name.span, target: canonical("/s/a"), trace: &trace)
    #expect(route.rule == 3)
    #expect(trace?.map(\.rule) == [0, 1, 2, 3, 4])
    #expect(trace?.map(\.outcome) == [.methodDiffers, .pathDiffers, .pathDiffers, .won, .notReached])
    var none: [RuleVerdict]?
    #expect(
      try set.decide(admitted(), method: .get, methodName: name.span, target: canonical("/s/a"), trace: &none) == route)
    #expect(none == nil)
  }

  @Test func `a decision among 1,000 services costs about as much as with one service`() throws {
    func set(_ count: Int) throws -> RuleSet {
      let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
      let rules = try names.map { try rule("/\($0)/**", ["PUT"]) } + [rule("/**")]
      return RuleSet(
        services: try (0..<count).map { try service("s\($0)", .path(Array("/s\($0)/".utf8)), rules: rules) }, grants: []
      )
    }
    let request = try admitted()
    let name = Array("GET".utf8)
    func time(_ set: RuleSet, _ target: String) throws -> Duration {
      let target = try canonical(target)
      var trace: [RuleVerdict]?
      var best = Duration.seconds(1)
      for _ in 0..<20 {
        best = min(
          best,
          try ContinuousClock().measure {
            for _ in 0..<200 {
              _ = try set.decide(request, method: .get, methodName: name.span, target: target, trace: &trace)
            }
          })
      }
      return best
    }
    let (one, many) = (try set(1), try set(1000))
    #expect(try decide(many, "/s999/x/y") == .route(999, 9, .inject(0)))
    #expect(try time(many, "/s999/x/y") < time(one, "/s0/x/y") * 4)
  }
}
