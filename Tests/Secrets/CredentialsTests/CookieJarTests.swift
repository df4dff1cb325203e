@_spi(SecretBytes) @testable import Credentials
@_spi(SecretBytes) @testable import Secrets
import Policy
import TLS
import TestSupport
import Testing

/// Jars: whose they are, what goes out of them, and how much is in them.
@Suite struct CookieJarTests {
  private let jars = CookieJars(isShared: true)
  private let own = SecretArena()

  private func place(_ credential: String = "api", _ text: String = "https://upstream.test") throws -> CookieJars.Place
  {
    CookieJars.Place(credential: credential, origin: try origin(text))
  }

  private func take(
    _ name: String, _ value: String, path: String = "/", lifetime: UInt64? = nil, with ticket: JarTicket
  ) {
    let (name, value) = (Array(name.utf8), Array(value.utf8))
    jars.take(name: name.span, value: value.span, path: Array(path.utf8), lifetime: lifetime, with: ticket)
  }

  private func line(_ ticket: JarTicket, path: String = "/") throws -> String? {
    try Array(path.utf8).withUnsafeBytes { path in
      try jars.line(with: ticket, for: path, in: own)?.secret.withBytes { String(decoding: $0, as: UTF8.self) }
    }
  }

  @Test func `T34: longer paths first, then what was there first; a newer value takes the place of the older`() throws {
    jars.follow([try place()], mustLock: false)
    let ticket = try #require(jars.ticket(to: place(), of: .value("1")))
    #expect(try line(ticket) == nil)
    take("a", "1", with: ticket)
    take("b", "2", path: "/x/y", with: ticket)
    take("c", "3", path: "/x", with: ticket)
    take("d", "\"4\"", with: ticket)
    take("a", "5", with: ticket)
    take("A", "6", with: ticket)
    #expect(try line(ticket, path: "/x/y/z") == "Cookie: b=2; c=3; a=5; d=\"4\"; A=6\r\n")
    take("a", "", lifetime: 0, with: ticket)
    take("b", "", lifetime: 0, with: ticket)
    #expect(try line(ticket, path: "/x/y/z") == "Cookie: b=2; c=3; d=\"4\"; A=6\r\n", "b has another path")
  }

  private static let paths: [(String, String, Bool)] = [
    ("/", "/", true), ("/", "/x", true), ("/x", "/x", true), ("/x", "/x/y", true), ("/x/", "/x/y", true),
    ("/x", "/xy", false), ("/x/", "/x", false), ("/x", "/X", false), ("/x/y", "/x", false), ("/x", "/", false),
  ]

  @Test(arguments: Self.paths.indices) func `T34: Below its path, and nowhere else`(_ index: Int) throws {
    let (cookie, request, isMeant) = Self.paths[index]
    jars.follow([try place()], mustLock: false)
    let ticket = try #require(jars.ticket(to: place(), of: .value("1")))
    take("a", "1", path: cookie, with: ticket)
    #expect(try line(ticket, path: request) == (isMeant ? "Cookie: a=1\r\n" : nil), "\(cookie) at \(request)")
  }

  @Test func `T34: one jar for each credential and each origin, port included`() throws {
    let places = try [
      place(), place("other"), place("api", "https://upstream.test:8443"), place("api", "https://x.upstream.test"),
    ]
    jars.follow(Set(places), mustLock: false)
    let tickets = try places.map { try #require(jars.ticket(to: $0, of: .value("1"))) }
    for (index, ticket) in tickets.enumerated() { take("n", String(index), with: ticket) }
    for (index, ticket) in tickets.enumerated() { #expect(try line(ticket) == "Cookie: n=\(index)\r\n") }
    #expect(jars.ticket(to: try place("api", "https://another.test"), of: .value("1")) == nil)
    #expect(jars.count(of: "api") == 3 && jars.count(of: "other") == 1 && jars.count(of: "none") == nil)
  }

  @Test func `T46: after a logout there is nothing in it, and nothing of before comes in`() throws {
    jars.follow([try place(), try place("other")], mustLock: false)
    let ticket = try #require(jars.ticket(to: place(), of: .value("1")))
    let other = try #require(jars.ticket(to: place("other"), of: .value("1")))
    take("a", "1", with: ticket)
    take("b", "1", with: ticket)
    take("a", "2", with: other)
    #expect(jars.forget("api") == 2)
    take("late", "1", with: ticket)
    #expect(try line(ticket) == nil)
    let next = try #require(jars.ticket(to: place(), of: .value("1")))
    #expect(try line(next) == nil)
    #expect(try line(other) == "Cookie: a=2\r\n")
  }

  @Test func `T34: another holder finds nothing, and the one before comes too late`() throws {
    jars.follow([try place()], mustLock: false)
    let first = try #require(jars.ticket(to: place(), of: .value("1")))
    take("a", "1", with: first)
    jars.keep("api", of: .value("1"))
    #expect(try line(first) == "Cookie: a=1\r\n")
    let second = try #require(jars.ticket(to: place(), of: .value("2")))
    #expect(try line(second) == nil)
    take("late", "1", with: first)
    #expect(try line(second) == nil)
    take("b", "2", with: second)
    jars.keep("api", of: .value("3"))
    #expect(jars.count(of: "api") == 0)
    #expect(try line(second) == nil)
  }

  @Test func `T34: where there is no jar any more nothing is kept, and a later one is another`() throws {
    jars.follow([try place()], mustLock: false)
    let ticket = try #require(jars.ticket(to: place(), of: .value("1")))
    take("a", "1", with: ticket)
    jars.follow([try place()], mustLock: false)
    #expect(try line(ticket) == "Cookie: a=1\r\n")
    jars.follow([], mustLock: false)
    #expect(try line(ticket) == nil && jars.count(of: "api") == nil)
    jars.follow([try place()], mustLock: false)
    take("late", "1", with: ticket)
    #expect(try line(ticket) == nil && jars.count(of: "api") == 0)
  }

  @Test func `at most 50 and 8 KiB, and the oldest goes first`() throws {
    jars.follow([try place()], mustLock: false)
    let ticket = try #require(jars.ticket(to: place(), of: .value("1")))
    for index in 0..<60 { take("n\(index)", "v", with: ticket) }
    #expect(jars.count(of: "api") == 50)
    #expect(try line(ticket)?.hasPrefix("Cookie: n10=v; n11=v; ") == true)
    take("big", String(repeating: "x", count: 4_000), with: ticket)
    take("bigger", String(repeating: "y", count: 4_090), with: ticket)
    #expect(try line(ticket)?.hasPrefix("Cookie: n") == true)
    #expect((try line(ticket)?.utf8.count ?? 0) <= 8_192 + 10)
    take("third", String(repeating: "z", count: 4_000), with: ticket)
    #expect(try line(ticket)?.contains("big=x") == false)
    take("huge", "", path: "/" + String(repeating: "p", count: 9_000), with: ticket)
    #expect(jars.count(of: "api") == 2, "it alone would be too much")
  }

  @Test func `T34: the door lends a jar to its own credential and origin alone`() throws {
    let scratch = try Scratch()
    let keyring = try keyring(.bearer(.file(try scratch.write("token", "CANARY"))))
    jars.follow([try place(), try place("other"), try place("api", "https://other.test")], mustLock: false)
    keyring.keepCookies(in: jars)
    keyring.keepCookies(of: "api")
    let ticket = try #require(keyring.jarTicket(ofGrant: 0, to: origin("https://upstream.test"), holder: 0))
    take("a", "1", with: ticket)
    take("b", "2", path: "/x", with: ticket)
    let head = Array("GET /x?y HTTP/1.1\r\nHost: upstream.test\r\n".utf8)
    let nothing: [UInt8] = []
    let upstream = try Upstream()
    do {
      var session = try upstream.session()
      try keyring.authorize(
        grant: 0, head: head.span, body: nothing.span, caller: me, now: unixTime(), cookies: ticket,
        over: &session.verified)
      let elsewhere = try #require(jars.ticket(to: place("api", "https://other.test"), of: .value("1")))
      let anothers = try #require(jars.ticket(to: place("other"), of: .value("1")))
      for wrong in [elsewhere, anothers] {
        let denied = #expect(throws: AuthorizationError.self) {
          try keyring.authorize(
            grant: 0, head: head.span, body: nothing.span, caller: me, now: unixTime(), cookies: wrong,
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

  @Test func `T34: another value of a file empties it at once`() throws {
    let scratch = try Scratch()
    let source = SecretSource.file(try scratch.write("token", "CANARY"))
    let keyring = try keyring(.bearer(source))
    jars.follow([try place()], mustLock: false)
    keyring.keepCookies(in: jars)
    keyring.keepCookies(of: "api")
    let ticket = try #require(keyring.jarTicket(ofGrant: 0, to: origin("https://upstream.test"), holder: 0))
    take("a", "1", with: ticket)
    keyring.fileContents.take(SecretFileSnapshot(of: source, mustLock: false))
    _ = keyring.reload(file: source)
    #expect(jars.count(of: "api") == 1, "the same value")
    try scratch.write("token", "ANOTHER")
    keyring.fileContents.take(SecretFileSnapshot(of: source, mustLock: false))
    _ = keyring.reload(file: source)
    #expect(jars.count(of: "api") == 0)
  }
}
