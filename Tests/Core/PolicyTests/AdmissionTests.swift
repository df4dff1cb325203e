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

  @Test func `only listed users are admitted`() {
    #expect(admit(requestHead(), uid: nil) == .failure(.callerUnknown))
    for uid: UInt32 in [0, 1, 999, 1001, 65534, .max] {
      #expect(admit(requestHead(), uid: uid) == .failure(.callerNotAllowed(uid: uid)))
    }
    let request = try? admit(requestHead()).get()
    #expect(request?.caller == caller)
    #expect(request?.listener == 3)
    #expect(request?.host == nil)
    #expect(request?.isSandboxed == false)
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

  @Test(arguments: hosts) func `T1: a request is admitted only if Host is one of the listener's names`(
    _ host: String?, _ isAdmitted: Bool, _ selects: String?
  ) {
    switch admit(requestHead(host: host)) {
    case .success(let request): #expect(isAdmitted && request.host == selects)
    case .failure(let refusal): #expect(!isAdmitted && refusal == .hostNotAllowed)
    }
  }

  private func tunnelled(_ ports: LoopbackPorts, pages: [String] = []) throws -> Admission {
    Admission(
      callers: Callers(uids: [1000]), authorities: Self.names, loopbackPorts: ports,
      pages: PageOrigins(try pages.map { try PageOrigin(parsing: $0) }))
  }

  /// In a DNS rebinding attack, Host has the attacker's name (T1). The port of a loopback name therefore does not
  /// matter.
  static let tunnels: [(String, UInt16?, String?)] = [
    ("localhost:20100", 20100, nil), ("LOCALHOST:1", 1, nil), ("localhost", nil, nil), ("localhost:65535", 65535, nil),
    ("127.0.0.1:20100", 20100, nil), ("127.0.0.1", 80, nil), ("127.5.6.7:7070", 7070, nil),
    ("127.255.255.254", 80, nil),
    ("[::1]:20100", 20100, nil), ("[::1]", 80, nil), ("[0:0:0:0:0:0:0:1]:7070", 7070, nil),
    ("[::ffff:127.0.0.1]:7070", 7070, nil), ("[::FFFF:7f05:0607]", 80, nil), ("localhost.:7070", 7070, nil),
    ("localhost.", 80, nil), ("GitHub.localhost:20100", 20100, "github.localhost"),
    ("github.localhost.", 80, "github.localhost"), ("localhost:7071", 7071, nil),
  ]

  @Test(arguments: tunnels) func `a loopback listener accepts every loopback name with every port`(
    _ host: String, _ port: UInt16?, _ selects: String?
  ) throws {
    let request = try tunnelled(.any(except: [7072])).admit(requestHead(host: host), caller: caller, listener: 0)
    #expect(request.host == selects && request.tunneledPort == port)
    // Browsers normalize these names, and may not treat them as loopback names.
    let isOdd = [".:", ":0", ":f", ":F"].contains { host.contains($0) } || host.hasSuffix(".")
    #expect(request.isSandboxed == isOdd)
  }

  @Test(arguments: [
    "evil.test:7070", "evil.test", "localhost.evil.test:7070", "127.0.0.1.nip.io:7070", "127.0.0.1.evil.test",
    "xlocalhost",
    "localhost:07070", "localhost:", "localhost:0", "localhost:65536", "localhost:x", "localhost:70700", "",
    "localhost..:7070",
    "localhost:7072", "127.0.0.1:7072", "[::1]:7072", "other.localhost:7070", "x.github.localhost:7070", ".localhost",
    "0.0.0.0:7070", "[::]:7070", "127.1:7070", "2130706433:7070", "0x7f.0.0.1", "0177.0.0.1:7070", "128.0.0.1:7070",
    "10.0.0.1:7070", "[::2]:7070", "[::ffff:10.0.0.1]:7070", "[::127.0.0.1]:7070", "[64:ff9b::7f00:1]:7070",
    "::1:7070", "[::1", "[::1]7070", "[::1]:7070:1", "localhost:7070#", "localhost:7070/", "localhost@evil.test:7070",
    "evil.test@localhost:7070", "localhost:7070,localhost:7070", "localhost evil.test", "local_host",
    String(repeating: "a", count: 300) + ".localhost",
  ])
  func `T1: other names, and ports of services, are refused`(host: String) throws {
    #expect(throws: PolicyRefusal.hostNotAllowed) {
      try tunnelled(.any(except: [7072])).admit(requestHead(host: host), caller: caller, listener: 0)
    }
  }

  @Test func `T1: a service's own listener accepts only its port, and a network listener only its names`() throws {
    let service = try tunnelled(.only([7071]))
    for host in ["localhost:7071", "127.5.6.7:7071", "localhost.:7071", "[::ffff:127.0.0.1]:7071"] {
      #expect(throws: Never.self) { try service.admit(requestHead(host: host), caller: caller, listener: 0) }
    }
    for (ports, hosts) in [
      (LoopbackPorts.only([7071]), ["localhost:20100", "127.0.0.1:7073", "127.0.0.1", "127.5.6.7:7070"]),
      (.none, ["localhost:7071", "127.5.6.7:7070", "localhost.:7070", "[::ffff:127.0.0.1]:7070", "127.0.0.1"]),
    ] {
      for host in hosts {
        #expect(throws: PolicyRefusal.hostNotAllowed, "\(host)") {
          try tunnelled(ports).admit(requestHead(host: host), caller: caller, listener: 0)
        }
      }
    }
  }

  /// A program that uses bearerd as a forward proxy sends the URL of another local server in this form.
  @Test(arguments: [
    ("localhost:3000", "localhost:3000"), ("localhost:7070", "localhost:3000"), ("localhost:20100", "localhost:7070"),
    ("localhost:20100", "evil.test"), ("127.5.6.7:7070", "127.5.6.7:7070"),
  ])
  func `T10: an absolute-form target with an unlisted port is refused`(host: String, absolute: String) throws {
    #expect(throws: PolicyRefusal.authorityMismatch) {
      try tunnelled(.any(except: [])).admit(
        requestHead(host: host, absolute: absolute), caller: caller, listener: 0)
    }
  }

  @Test func `T2: a web page is admitted only by its listed origin, whatever port it calls`() throws {
    let open = try tunnelled(.any(except: []), pages: ["http://localhost:20100", "https://app.test"])
    func ask(_ host: String, _ fields: [(KnownField, String)]) throws(PolicyRefusal) -> AdmittedRequest {
      try open.admit(requestHead(host: host, fields: fields), caller: caller, listener: 0)
    }
    for host in ["localhost:20100", "localhost", "127.5.6.7:1", "localhost.:7070", "[::ffff:127.0.0.1]:7070"] {
      #expect(throws: PolicyRefusal.originNotAllowed) { try ask(host, [(.origin, "http://evil.test")]) }
      #expect(throws: PolicyRefusal.originNotAllowed) { try ask(host, [(.origin, "http://localhost:7070")]) }
      #expect(throws: PolicyRefusal.originNotAllowed) { try ask(host, [(.origin, "null")]) }
      #expect(throws: PolicyRefusal.crossSite) { try ask(host, [(.secFetchSite, "same-origin")]) }
      #expect(throws: PolicyRefusal.crossSite) { try ask(host, [(.secFetchSite, "cross-site")]) }
      #expect(throws: Never.self) { try ask(host, [(.origin, "https://app.test")]) }
    }
    // A page from bearerd's own origin, with the tunnel's port, is refused even if the origin is listed for another
    // server (T35).
    let own: [(KnownField, String)] = [(.origin, "http://localhost:20100")]
    #expect(throws: PolicyRefusal.originNotAllowed) { try ask("localhost:20100", own) }
    for host in ["LOCALHOST:20100", "127.0.0.1:20100", "[::1]:20100", "localhost.:20100"] {
      #expect(throws: PolicyRefusal.originNotAllowed) { try ask(host, own) }
    }
    #expect(throws: Never.self) { try ask("localhost:20101", own) }
    #expect(throws: Never.self) { try ask("localhost:7070", own) }
  }

  @Test(arguments: ["localhost.:7070", "[::ffff:127.0.0.1]:7070", "localhost.:20100"])
  func `T2: for loopback names that browsers may not trust, a browser must send Sec-Fetch-Site`(
    host: String
  ) throws {
    let agent = "User-Agent: Mozilla/5.0 (X11) AppleWebKit/537.36\r\nAccept-Language: en\r\n"
    let open = try tunnelled(.any(except: []))
    #expect(throws: PolicyRefusal.siteUnknown) { try open.admit(read(agent, host: host), caller: caller, listener: 0) }
    let typed = try open.admit(
      read(agent + "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n", host: host), caller: caller, listener: 0)
    #expect(typed.isSandboxed)
  }

  static let origins: [(String, String?)] = [
    ("https://App.test:443", "https://app.test"), ("http://tauri.localhost", "http://tauri.localhost"),
    ("app://obsidian.md", "app://obsidian.md"), ("APP://Obsidian.md", "app://Obsidian.md"), ("app://-", "app://-"),
    ("app://.", "app://."), ("tauri://localhost", "tauri://localhost"),
    ("ionic://localhost:8100", "ionic://localhost:8100"),
    ("chrome-extension://abcdefghijklmnop", "chrome-extension://abcdefghijklmnop"),
    ("moz-extension://0a1b2c3d-4e5f-6789", "moz-extension://0a1b2c3d-4e5f-6789"),
    ("vscode-webview://0a_b", "vscode-webview://0a_b"), ("vscode-file://vscode-app", "vscode-file://vscode-app"),
    ("null", nil), ("*", nil), ("file://", nil), ("file:///x", nil), ("FILE://host", nil), ("app://", nil),
    ("app:x", nil),
    ("app://a/", nil), ("app://a/b", nil), ("app://a?b", nil), ("app://a#b", nil), ("app://u@a", nil), ("app://*", nil),
    ("app://a b", nil), ("app://a:0", nil), ("app://a:65536", nil), ("app://a:", nil), ("app://a:01", nil),
    ("app://é", nil), ("1app://a", nil), ("://a", nil), ("blob:https://a.test", nil), ("a,b://c", nil),
    ("app://a,https://b.test", nil), ("app://[::1]", nil), ("app://" + String(repeating: "a", count: 400), nil),
  ]

  @Test(arguments: origins) func `origins of web pages and apps are parsed, and matched byte for byte`(
    _ text: String, _ written: String?
  ) throws {
    #expect((try? PageOrigin(parsing: text))?.description == written)
    guard let written else { return }
    let listed = try pages([text])
    let request = try listed.admit(requestHead(fields: [(.origin, written)]), caller: caller, listener: 0)
    #expect(request.page.map { PolicyTests.text($0) } == written)
    for other in [written + "x", written.uppercased(), written + "/", String(written.dropLast()), "null"] {
      #expect(throws: PolicyRefusal.originNotAllowed, "\(other)") {
        try listed.admit(requestHead(fields: [(.origin, other)]), caller: caller, listener: 0)
      }
    }
    // The suggestion in a refusal would admit the page.
    #expect(PageOrigins.origin(of: requestHead(fields: [(.origin, written)]))?.description == written)
  }

  @Test(arguments: ["null", "file://", "APP://x", "app://x/", "chrome-extension://", "x"])
  func `an origin that cannot be listed is not suggested`(text: String) {
    #expect(PageOrigins.origin(of: requestHead(fields: [(.origin, text)])) == nil)
  }

  /// Absolute-form targets (T10): the target's name must also be a name of the listener, and select the same service.
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

  @Test(arguments: absolutes) func `the authority of an absolute-form target must agree with Host`(
    _ host: String, _ absolute: String, _ isAdmitted: Bool
  ) {
    switch admit(requestHead(host: host, absolute: absolute)) {
    case .success: #expect(isAdmitted)
    case .failure(let refusal): #expect(!isAdmitted && refusal == .authorityMismatch)
    }
    #expect(admit(requestHead(host: "evil.test", absolute: absolute)) == .failure(.hostNotAllowed))
  }

  @Test(arguments: [
    ("192.0.2.2:7070", "192.0.2.2:7070", true), ("192.0.2.2:80", "192.0.2.2", true),
    ("[2001:db8::1]:7070", "[2001:DB8::1]:7070", true), ("192.0.2.2:7070", "192.0.2.2", false),
    ("192.0.2.2:7070", "192.0.2.3:7070", false), ("192.0.2.2:7070", "192.0.2.2:7071", false),
    ("192.0.2.2:7070", "192.0.2.2.evil.test:7070", false), ("192.0.2.2:7070", "0.0.0.0:7070", false),
    ("192.0.2.2:7070", "[::ffff:192.0.2.2]:7070", false), ("192.0.2.2:7070", "localhost:7070", true),
  ])
  func `T1: Host may be the local address of the connection, but no other address`(
    _ end: String, _ host: String, _ isAdmitted: Bool
  ) throws {
    let localEnd = try #require(LocalEnd(end))
    let open = admission()
    func ask(_ head: RequestHead) -> Bool {
      (try? open.admit(head, caller: caller, listener: 0, localEnd: localEnd)) != nil
    }
    #expect(ask(requestHead(host: host)) == isAdmitted)
    #expect(ask(requestHead(host: host, absolute: host)) == isAdmitted)
    #expect(!ask(requestHead(host: host, absolute: "evil.test")))
  }

  @Test(arguments: [
    "localhost:7070", "", ":", "192.0.2.2:", "192.0.2.2:x", "192.0.2.2:70707", "0.0.0.0:7070", "[::]:80", "0x7f.1:80",
    "[::1", "a",
  ])
  func `only a literal address with a port is a local address`(text: String) { #expect(LocalEnd(text) == nil) }

  @Test func `a Unix socket accepts every Host`() throws {
    let rows: [(String?, String?, String?)] = [
      ("localhost", nil, nil), (nil, nil, nil), ("", nil, nil), ("api.example.com", nil, "api.example.com"),
      ("GitHub.localhost:7070", nil, "github.localhost"), ("127.0.0.1", nil, nil), ("[::1]:1", nil, nil),
      ("a", "A", "a"), (nil, "x.localhost", "x.localhost"), ("a b", nil, nil),
      (String(repeating: "a", count: 254), nil, nil), ("my_service:1", nil, "my_service"),
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
    ([(.origin, "https://app.test"), (.secFetchMode, "cors")], .originNotAllowed, false),
    ([(.secFetchSite, "none"), (.secFetchMode, "navigate")], nil, true),
    ([(.secFetchMode, "navigate"), (.secFetchSite, "none")], nil, true),
    ([(.secFetchSite, "none"), (.secFetchMode, "no-cors")], nil, false),
  ]

  @Test(arguments: browsers)
  func `T2: web pages are refused`(_ fields: [(KnownField, String)], _ refusal: PolicyRefusal?, _ isSandboxed: Bool) {
    switch admit(requestHead(fields: fields)) {
    case .success(let request): #expect(refusal == nil && request.isSandboxed == isSandboxed)
    case .failure(let error): #expect(error == refusal)
    }
  }

  /// Requests of ordinary programs, some of which resemble those of browsers.
  static let programs: [(String, String)] = [
    ("curl", "User-Agent: curl/8.5.0\r\nAccept: */*\r\n"),
    (
      "Node's fetch",
      "connection: keep-alive\r\naccept: */*\r\naccept-language: *\r\nsec-fetch-mode: cors\r\nuser-agent: node\r\n"
        + "accept-encoding: gzip, deflate\r\n"
    ),
    ("Deno", "accept: */*\r\naccept-language: *\r\nuser-agent: Deno/2.1\r\naccept-encoding: gzip,br\r\n"),
    (
      "Python's requests",
      "User-Agent: python-requests/2.32.3\r\nAccept-Encoding: gzip, deflate\r\nAccept: */*\r\nConnection: keep-alive\r\n"
    ),
    ("Python's urllib", "Accept-Encoding: identity\r\nUser-Agent: Python-urllib/3.11\r\nConnection: close\r\n"),
    ("Go", "User-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n"),
    ("git", "User-Agent: git/2.39.5\r\nAccept: */*\r\nAccept-Encoding: deflate, gzip\r\nPragma: no-cache\r\n"),
    ("PowerShell", "User-Agent: Mozilla/5.0 (Windows NT 10.0; Microsoft Windows 10.0; en-US) PowerShell/7.4.6\r\n"),
    ("a crawler", "User-Agent: Mozilla/5.0 (compatible; Checker/1.0)\r\nAccept: */*\r\n"),
    (
      "a person's browser",
      "sec-ch-ua-mobile: ?0\r\nUpgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0\r\nSec-Fetch-Site: none\r\n"
        + "Sec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\nSec-Fetch-Dest: document\r\n"
    ),
  ]

  @Test(arguments: programs, [[], ["https://app.test"]])
  func `T2: ordinary programs are admitted, with and without listed origins`(
    program: (String, String), listed: [String]
  ) throws {
    let request = try pages(listed).admit(read(program.1), caller: caller, listener: 0)
    #expect(request.page == nil && request.isSandboxed == (program.0 == "a person's browser"))
  }

  func read(_ fields: String, host: String = "localhost:7070") throws -> RequestHead {
    var head = RequestHead()
    var reader = HeadReader(limits: HeadLimits())
    let bytes = Array("GET / HTTP/1.1\r\nHost: \(host)\r\n\(fields)\r\n".utf8)
    try #require(try reader.readRequest(bytes.span, into: &head) == bytes.count)
    return head
  }

  func pages(_ origins: [String], names: [String] = names, clients: [Client] = []) throws -> Admission {
    Admission(
      callers: Callers(uids: [1000]), authorities: names, clients: clients,
      pages: PageOrigins(try origins.map { try PageOrigin(parsing: $0) }))
  }

  static let listed = ["https://app.test", "http://localhost:3000", "https://App.Test:8443", "http://[::1]:80"]

  static let listedRows: [([(KnownField, String)], PolicyRefusal?, String?)] = [
    ([(.origin, "https://app.test")], nil, "https://app.test"),
    ([(.secFetchSite, "cross-site"), (.origin, "https://app.test")], nil, "https://app.test"),
    ([(.origin, "http://localhost:3000"), (.secFetchSite, "same-site")], nil, "http://localhost:3000"),
    ([(.origin, "https://app.test:8443")], nil, "https://app.test:8443"),
    ([(.origin, "http://[::1]")], nil, "http://[::1]"),
    ([], nil, nil), ([(.secFetchSite, "none")], nil, nil),
    // Compared byte for byte: browsers always write the canonical form.
    ([(.origin, "https://APP.test")], .originNotAllowed, nil),
    ([(.origin, "https://app.test:443")], .originNotAllowed, nil),
    ([(.origin, "https://app.test/")], .originNotAllowed, nil),
    ([(.origin, "http://app.test")], .originNotAllowed, nil),
    ([(.origin, "https://app.test.evil.test")], .originNotAllowed, nil),
    ([(.origin, "https://evil.test/https://app.test")], .originNotAllowed, nil),
    ([(.origin, "https://app.test https://app.test")], .originNotAllowed, nil),
    ([(.origin, "app.test")], .originNotAllowed, nil), ([(.origin, "null")], .originNotAllowed, nil),
    ([(.origin, "")], .originNotAllowed, nil), ([(.origin, "*")], .originNotAllowed, nil),
    ([(.origin, "http://localhost:7070")], .originNotAllowed, nil),
    ([(.origin, "http://localhost")], .originNotAllowed, nil),
    ([(.origin, "https://app.test"), (.origin, "https://app.test")], .originNotAllowed, nil),
    ([(.origin, "https://app.test"), (.origin, "https://evil.test")], .originNotAllowed, nil),
    // Without Origin, the page is not known.
    ([(.secFetchSite, "cross-site"), (.referer, "https://app.test/")], .crossSite, nil),
    ([(.secFetchSite, "same-origin"), (.referer, "http://localhost:3000/")], .crossSite, nil),
  ]

  @Test(arguments: listedRows)
  func `T2: a web page is admitted only if its Origin field is a listed origin`(
    _ fields: [(KnownField, String)], _ refusal: PolicyRefusal?, _ page: String?
  ) throws {
    let admission = try pages(Self.listed)
    let result = Result { () throws(PolicyRefusal) in
      try admission.admit(requestHead(fields: fields), caller: caller, listener: 0)
    }
    switch result {
    case .success(let request):
      #expect(refusal == nil && request.page.map(text) == page && request.variesByOrigin && !request.isSandboxed)
    case .failure(let error): #expect(error == refusal)
    }
    // A listed origin replaces no other check.
    #expect(throws: PolicyRefusal.callerNotAllowed(uid: 7)) {
      try admission.admit(requestHead(fields: fields), caller: Caller(uid: 7), listener: 0)
    }
    #expect(throws: PolicyRefusal.hostNotAllowed) {
      try admission.admit(requestHead(host: "evil.test:7070", fields: fields), caller: caller, listener: 0)
    }
  }

  @Test func `T35: a navigation from a listed page is sandboxed`() throws {
    let fields: [(KnownField, String)] = [
      (.origin, "https://app.test"), (.secFetchSite, "cross-site"), (.secFetchMode, "navigate"),
    ]
    let request = try pages(Self.listed).admit(requestHead("POST", fields: fields), caller: caller, listener: 0)
    #expect(request.isSandboxed)
  }

  @Test func `the suggested configuration line keeps the listed origins`() throws {
    let none = PageOrigins([])
    #expect(
      none.line(adding: try PageOrigin(parsing: "https://app.test:443")) == "browsers: { origins: [https://app.test] }")
    #expect(
      try pages(["https://app.test", "http://[::1]:3000"]).pages.line(adding: PageOrigin(parsing: "https://app.test"))
        == "browsers: { origins: [\"http://[::1]:3000\", https://app.test] }")
  }

  @Test func `methods that tunnel or echo are refused`() {
    for method in ["TRACE", "CONNECT", "TRACK", "track", "Trace", "connect"] {
      #expect(admit(requestHead(method)) == .failure(.methodNotSupported), "\(method)")
    }
    for method in ["GET", "OPTIONS", "PROPFIND", "TRACKS", "TRAC"] {
      #expect(throws: Never.self) { try admit(requestHead(method)).get() }
    }
  }

  @Test func `the first failed check is the reason of a refusal`() {
    let origin: [(KnownField, String)] = [(.origin, "https://evil.test")]
    let all = requestHead("TRACE", host: "evil.test", fields: origin)
    #expect(admit(all, uid: 1) == .failure(.callerNotAllowed(uid: 1)))
    #expect(admit(all) == .failure(.hostNotAllowed))
    #expect(admit(requestHead("TRACE", fields: origin)) == .failure(.originNotAllowed))
    #expect(admit(requestHead("TRACE")) == .failure(.methodNotSupported))
  }

  @Test func `the names of a listener can change`() {
    var changing = admission(["a:1"])
    changing.authorities = ["b:2"]
    #expect(changing == admission(["b:2"]))
    #expect(throws: PolicyRefusal.hostNotAllowed) {
      try changing.admit(requestHead(host: "a:1"), caller: caller, listener: 0)
    }
    #expect(throws: Never.self) { try changing.admit(requestHead(host: "b:2"), caller: caller, listener: 0) }
  }
}
