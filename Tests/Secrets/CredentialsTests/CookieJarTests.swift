@_spi(SecretBytes) @testable import Credentials
@_spi(SecretBytes) @testable import Secrets
import HTTP1
import Policy
import Settings
import TLS
import TestSupport
import Testing

@Suite struct CookieJarTests {
  private let jars = CookieJars(isShared: true)
  private let own = SecretArena()

  private func key(_ credential: String = "api", _ text: String = "https://upstream.test") throws -> CookieJars.Key {
    CookieJars.Key(credential: credential, origin: try origin(text))
  }

  private func store(
    _ name: String, _ value: String, path: String = "/", lifetime: UInt64? = nil, with ticket: JarTicket
  ) {
    let (name, value) = (Array(name.utf8), Array(value.utf8))
    jars.store(name: name.span, value: value.span, path: Array(path.utf8), lifetime: lifetime, with: ticket)
  }

  private func line(_ ticket: JarTicket, path: String = "/") throws -> String? {
    try Array(path.utf8).withUnsafeBytes { path in
      try jars.line(with: ticket, for: path, in: own)?.secret.withBytes { String(decoding: $0, as: UTF8.self) }
    }
  }

  @Test func `T34: cookies with longer paths are sent first, and a new value replaces the old value`() throws {
    jars.update(to: [try key()], mustLock: false)
    let ticket = try #require(jars.ticket(to: key(), of: .value("1")))
    #expect(try line(ticket) == nil)
    store("a", "1", with: ticket)
    store("b", "2", path: "/x/y", with: ticket)
    store("c", "3", path: "/x", with: ticket)
    store("d", "\"4\"", with: ticket)
    store("a", "5", with: ticket)
    store("A", "6", with: ticket)
    #expect(try line(ticket, path: "/x/y/z") == "Cookie: b=2; c=3; a=5; d=\"4\"; A=6\r\n")
    store("a", "", lifetime: 0, with: ticket)
    store("b", "", lifetime: 0, with: ticket)
    #expect(try line(ticket, path: "/x/y/z") == "Cookie: b=2; c=3; d=\"4\"; A=6\r\n", "cookie b has another path")
  }

  private static let paths: [(String, String, Bool)] = [
    ("/", "/", true), ("/", "/x", true), ("/x", "/x", true), ("/x", "/x/y", true), ("/x/", "/x/y", true),
    ("/x", "/xy", false), ("/x/", "/x", false), ("/x", "/X", false), ("/x/y", "/x", false), ("/x", "/", false),
  ]

  @Test(arguments: Self.paths.indices) func `T34: a cookie is sent only below its path`(_ index: Int) throws {
    let (cookie, request, isSent) = Self.paths[index]
    jars.update(to: [try key()], mustLock: false)
    let ticket = try #require(jars.ticket(to: key(), of: .value("1")))
    store("a", "1", path: cookie, with: ticket)
    #expect(try line(ticket, path: request) == (isSent ? "Cookie: a=1\r\n" : nil), "\(cookie) at \(request)")
  }

  @Test func `T34: each credential and origin has its own cookie jar`() throws {
    let keys = try [
      key(), key("other"), key("api", "https://upstream.test:8443"), key("api", "https://x.upstream.test"),
    ]
    jars.update(to: Set(keys), mustLock: false)
    let tickets = try keys.map { try #require(jars.ticket(to: $0, of: .value("1"))) }
    for (index, ticket) in tickets.enumerated() { store("n", String(index), with: ticket) }
    for (index, ticket) in tickets.enumerated() { #expect(try line(ticket) == "Cookie: n=\(index)\r\n") }
    #expect(jars.ticket(to: try key("api", "https://another.test"), of: .value("1")) == nil)
    #expect(jars.count(of: "api") == 3 && jars.count(of: "other") == 1 && jars.count(of: "none") == nil)
  }

  @Test func `T46: a logout empties the jar, and cookies of earlier requests are not stored`() throws {
    jars.update(to: [try key(), try key("other")], mustLock: false)
    let ticket = try #require(jars.ticket(to: key(), of: .value("1")))
    let other = try #require(jars.ticket(to: key("other"), of: .value("1")))
    store("a", "1", with: ticket)
    store("b", "1", with: ticket)
    store("a", "2", with: other)
    #expect(jars.forget("api") == 2)
    store("late", "1", with: ticket)
    #expect(try line(ticket) == nil)
    let next = try #require(jars.ticket(to: key(), of: .value("1")))
    #expect(try line(next) == nil)
    #expect(try line(other) == "Cookie: a=2\r\n")
  }

  @Test func `T34: a new credential value gets an empty jar, and cookies of the old value are not stored`() throws {
    jars.update(to: [try key()], mustLock: false)
    let first = try #require(jars.ticket(to: key(), of: .value("1")))
    store("a", "1", with: first)
    jars.keep("api", of: .value("1"))
    #expect(try line(first) == "Cookie: a=1\r\n")
    let second = try #require(jars.ticket(to: key(), of: .value("2")))
    #expect(try line(second) == nil)
    store("late", "1", with: first)
    #expect(try line(second) == nil)
    store("b", "2", with: second)
    jars.keep("api", of: .value("3"))
    #expect(jars.count(of: "api") == 0)
    #expect(try line(second) == nil)
  }

  @Test func `T34: no cookies are stored after their jar is removed, and a new jar is empty`() throws {
    jars.update(to: [try key()], mustLock: false)
    let ticket = try #require(jars.ticket(to: key(), of: .value("1")))
    store("a", "1", with: ticket)
    jars.update(to: [try key()], mustLock: false)
    #expect(try line(ticket) == "Cookie: a=1\r\n")
    jars.update(to: [], mustLock: false)
    #expect(try line(ticket) == nil && jars.count(of: "api") == nil)
    jars.update(to: [try key()], mustLock: false)
    store("late", "1", with: ticket)
    #expect(try line(ticket) == nil && jars.count(of: "api") == 0)
  }

  @Test func `a jar keeps at most 50 cookies and 8 KiB, and removes the oldest cookie first`() throws {
    jars.update(to: [try key()], mustLock: false)
    let ticket = try #require(jars.ticket(to: key(), of: .value("1")))
    for index in 0..<60 { store("n\(index)", "v", with: ticket) }
    #expect(jars.count(of: "api") == 50)
    #expect(try line(ticket)?.hasPrefix("Cookie: n10=v; n11=v; ") == true)
    store("big", String(repeating: "x", count: 4_000), with: ticket)
    store("bigger", String(repeating: "y", count: 4_090), with: ticket)
    #expect(try line(ticket)?.hasPrefix("Cookie: n") == true)
    #expect((try line(ticket)?.utf8.count ?? 0) <= 8_192 + 10)
    store("third", String(repeating: "z", count: 4_000), with: ticket)
    #expect(try line(ticket)?.contains("big=x") == false)
    store("huge", "", path: "/" + String(repeating: "p", count: 9_000), with: ticket)
    #expect(jars.count(of: "api") == 2, "a cookie larger than the jar is not stored")
  }

  @Test func `T34: authorize uses a jar only for its own credential and origin`() throws {
    let scratch = try Scratch()
    let keyring = try keyring(.bearer(.file(try scratch.write("token", "CANARY"))))
    jars.update(to: [try key(), try key("other"), try key("api", "https://other.test")], mustLock: false)
    keyring.keepCookies(in: jars)
    keyring.keepCookies(of: "api")
    let ticket = try #require(keyring.jarTicket(ofGrant: 0, to: origin("https://upstream.test"), holder: 0))
    store("a", "1", with: ticket)
    store("b", "2", path: "/x", with: ticket)
    let request = OutgoingRequest("GET /x?y HTTP/1.1")
    let nothing: [UInt8] = []
    let upstream = try Upstream()
    do {
      var session = try upstream.session()
      try keyring.authorize(
        grant: 0, request: request, body: nothing.span, caller: me, now: unixTime(), cookies: ticket,
        over: &session.verified)
      let otherOrigin = try #require(jars.ticket(to: key("api", "https://other.test"), of: .value("1")))
      let ofOther = try #require(jars.ticket(to: key("other"), of: .value("1")))
      for wrong in [otherOrigin, ofOther] {
        let denied = #expect(throws: AuthorizationError.self) {
          try keyring.authorize(
            grant: 0, request: request, body: nothing.span, caller: me, now: unixTime(), cookies: wrong,
            over: &session.verified)
        }
        #expect(denied?.reason == .wrongSession)
      }
    }
    #expect(
      upstream.finish() == [
        "GET /x?y HTTP/1.1\r\nHost: upstream.test\r\nAuthorization: Bearer CANARY\r\nCookie: b=2; a=1\r\n\r\n"
      ])
  }

  @Test func `T34: a new value in the secret file empties the jar`() throws {
    let scratch = try Scratch()
    let source = SecretSource.file(try scratch.write("token", "CANARY"))
    let keyring = try keyring(.bearer(source))
    jars.update(to: [try key()], mustLock: false)
    keyring.keepCookies(in: jars)
    keyring.keepCookies(of: "api")
    let ticket = try #require(keyring.jarTicket(ofGrant: 0, to: origin("https://upstream.test"), holder: 0))
    store("a", "1", with: ticket)
    keyring.fileContents.store(SecretFileSnapshot(of: source, mustLock: false))
    _ = keyring.reload(file: source)
    #expect(jars.count(of: "api") == 1, "the same value")
    try scratch.write("token", "ANOTHER")
    keyring.fileContents.store(SecretFileSnapshot(of: source, mustLock: false))
    _ = keyring.reload(file: source)
    #expect(jars.count(of: "api") == 0)
  }
}
