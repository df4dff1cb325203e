import HTTP1
import Policy
import Testing

@Suite struct AdmissionTests {
  static let names = [
    "localhost:7070", "127.0.0.1:7070", "[::1]:7070", "localhost:80", "github.localhost:7070",
    "host.docker.internal:7070",
  ]

  func admit(_ head: RequestHead, uid: UInt32? = 1000, names: [String]? = names) -> Result<
    AdmittedRequest, PolicyRefusal
  > {
    Result { () throws(PolicyRefusal) in try admission(names).admit(head, caller: uid.map(Caller.init), listener: 3) }
  }

  @Test func onlyListedCallers() {
    #expect(admit(requestHead(), uid: nil) == .failure(.callerUnknown))
    for uid: UInt32 in [0, 1, 999, 1001, 65534, .max] {
      #expect(admit(requestHead(), uid: uid) == .failure(.callerNotAllowed(uid: uid)))
    }
    let request = try? admit(requestHead()).get()
    #expect(request?.caller == caller)
    #expect(request?.listener == 3)
    #expect(request?.host == nil)
    #expect(request?.isNavigation == false)
  }

  /// DNS rebinding (T1): exact names with exact ports.
  static let hosts: [(String?, Bool, String?)] = [
    ("localhost:7070", true, nil), ("LOCALHOST:7070", true, nil), ("127.0.0.1:7070", true, nil),
    ("[::1]:7070", true, nil),
    ("localhost", true, nil), ("localhost:80", true, nil), ("GitHub.LocalHost:7070", true, "github.localhost"),
    ("host.docker.internal:7070", true, "host.docker.internal"), ("github.localhost", false, nil),
    ("127.0.0.1", false, nil),
    ("evil.test:7070", false, nil), ("evil.test", false, nil), ("localhost.evil.test:7070", false, nil),
    ("127.0.0.1.nip.io:7070", false, nil), ("localhost:7071", false, nil), ("localhost:07070", false, nil),
    ("localhost:", false, nil), ("localhost.:7070", false, nil), ("", false, nil), (nil, false, nil),
    ("localhost:70700", false, nil),
    ("0.0.0.0:7070", false, nil), ("127.1:7070", false, nil), ("[::ffff:127.0.0.1]:7070", false, nil),
    ("::1:7070", false, nil),
    ("localhost:7070#", false, nil), ("localhost:7070/", false, nil), ("localhost@evil.test:7070", false, nil),
    ("evil.test@localhost:7070", false, nil), ("localhost:7070,localhost:7070", false, nil),
    ("127.0.0.2:7070", false, nil),
  ]

  @Test(arguments: hosts) func hostMustBeOneOfTheNames(_ host: String?, _ isAdmitted: Bool, _ selects: String?) {
    switch admit(requestHead(host: host)) {
    case .success(let request): #expect(isAdmitted && request.host == selects)
    case .failure(let refusal): #expect(!isAdmitted && refusal == .hostNotAllowed)
    }
  }

  /// Absolute-form targets (T10): the second name must be ours, too, and mean the same service.
  static let absolutes: [(String, String, Bool)] = [
    ("localhost:7070", "localhost:7070", true), ("localhost:7070", "LOCALHOST:7070", true),
    ("localhost:7070", "[::1]:7070", true),
    ("localhost", "localhost:80", true), ("localhost:7070", "evil.test", false),
    ("localhost:7070", "evil.test:7070", false),
    ("localhost:7070", "", false), ("localhost:7070", "api.github.com", false),
    ("localhost:7070", "localhost:7071", false),
    ("localhost:7070", "github.localhost:7070", false), ("github.localhost:7070", "localhost:7070", false),
    ("github.localhost:7070", "github.localhost:7070", true), ("localhost:7070", "x@localhost:7070", false),
  ]

  @Test(arguments: absolutes) func absoluteFormMustAgree(_ host: String, _ absolute: String, _ isAdmitted: Bool) {
    switch admit(requestHead(host: host, absolute: absolute)) {
    case .success: #expect(isAdmitted)
    case .failure(let refusal): #expect(!isAdmitted && refusal == .authorityMismatch)
    }
    #expect(admit(requestHead(host: "evil.test", absolute: absolute)) == .failure(.hostNotAllowed))
  }

  @Test func unixSocketsTakeAnyHost() throws {
    let rows: [(String?, String?, String?)] = [
      ("localhost", nil, nil), (nil, nil, nil), ("", nil, nil), ("api.example.com", nil, "api.example.com"),
      ("GitHub.localhost:7070", nil, "github.localhost"), ("127.0.0.1", nil, nil), ("[::1]:1", nil, nil),
      ("a", "A", "a"), (nil, "x.localhost", "x.localhost"), ("a b", nil, nil),
      (String(repeating: "a", count: 254), nil, nil),
    ]
    for (host, absolute, selects) in rows {
      #expect(try admit(requestHead(host: host, absolute: absolute), names: nil).get().host == selects)
    }
    #expect(admit(requestHead(host: "a", absolute: "b"), names: nil) == .failure(.authorityMismatch))
  }

  static let browsers: [([(KnownField, String)], PolicyRefusal?, Bool)] = [
    ([], nil, false), ([(.origin, "https://evil.test")], .originNotAllowed, false),
    ([(.origin, "null")], .originNotAllowed, false),
    ([(.origin, "http://localhost:7070")], .originNotAllowed, false), ([(.origin, "")], .originNotAllowed, false),
    ([(.secFetchSite, "cross-site")], .crossSite, false), ([(.secFetchSite, "same-site")], .crossSite, false),
    ([(.secFetchSite, "same-origin")], .crossSite, false), ([(.secFetchSite, "")], .crossSite, false),
    ([(.secFetchSite, "None")], .crossSite, false), ([(.secFetchSite, "none, cross-site")], .crossSite, false),
    ([(.secFetchSite, "none"), (.secFetchSite, "cross-site")], .crossSite, false),
    ([(.secFetchSite, "cross-site"), (.secFetchSite, "none")], .crossSite, false),
    ([(.secFetchSite, "none")], nil, false),
    ([(.secFetchSite, "cross-site"), (.origin, "https://evil.test")], .originNotAllowed, false),
    // Node's fetch (T2)
    ([(.secFetchMode, "cors")], nil, false), ([(.secFetchMode, "navigate")], nil, false),
    ([(.secFetchSite, "none"), (.secFetchMode, "navigate")], nil, true),
    ([(.secFetchMode, "navigate"), (.secFetchSite, "none")], nil, true),
    ([(.secFetchSite, "none"), (.secFetchMode, "no-cors")], nil, false),
  ]

  @Test(arguments: browsers)
  func pagesAreRefused(_ fields: [(KnownField, String)], _ refusal: PolicyRefusal?, _ isNavigation: Bool) {
    switch admit(requestHead(fields: fields)) {
    case .success(let request): #expect(refusal == nil && request.isNavigation == isNavigation)
    case .failure(let error): #expect(error == refusal)
    }
  }

  @Test func noTunnelsAndNoEchoes() {
    for method in ["TRACE", "CONNECT", "TRACK", "track", "Trace", "connect"] {
      #expect(admit(requestHead(method)) == .failure(.methodNotSupported), "\(method)")
    }
    for method in ["GET", "OPTIONS", "PROPFIND", "TRACKS", "TRAC"] {
      #expect(throws: Never.self) { try admit(requestHead(method)).get() }
    }
  }

  /// The first of several reasons is the one that is told.
  @Test func orderOfReasons() {
    let origin: [(KnownField, String)] = [(.origin, "https://evil.test")]
    let all = requestHead("TRACE", host: "evil.test", fields: origin)
    #expect(admit(all, uid: 1) == .failure(.callerNotAllowed(uid: 1)))
    #expect(admit(all) == .failure(.hostNotAllowed))
    #expect(admit(requestHead("TRACE", fields: origin)) == .failure(.originNotAllowed))
    #expect(admit(requestHead("TRACE")) == .failure(.methodNotSupported))
  }

  @Test func namesMayChange() {
    var changing = admission(["a:1"])
    changing.authorities = ["b:2"]
    #expect(changing == admission(["b:2"]))
    #expect(throws: PolicyRefusal.hostNotAllowed) {
      try changing.admit(requestHead(host: "a:1"), caller: caller, listener: 0)
    }
    #expect(throws: Never.self) { try changing.admit(requestHead(host: "b:2"), caller: caller, listener: 0) }
  }
}
