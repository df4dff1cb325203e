import Foundation
import HTTP1
import Redaction
import Policy
import Settings
import TLS
import TestSupport
import Testing

@_spi(SecretBytes) @testable import Credentials
@_spi(SecretBytes) @testable import Secrets

/// An upstream that repeats a request shows nothing of the credential, whatever its kind (T33). The requests are read
/// at the other end of a real TLS session.
@Suite struct SentValueRedactionTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Texts that are sent and must be masked.
    let masked: [String]
    /// Texts that are sent and must not be masked.
    var shown: [String] = []
    let send: @Sendable (SentValueRedactionTests) throws -> Sent
  }

  /// One request, and the patterns for its response.
  struct Sent {
    let request: String
    let patterns: SecretPatterns
  }

  private let scratch: Scratch
  private static let secret = "CANARY-x7Kq+9.dE3_vT/5~mZ="
  private static let other = "SECOND-0123456789abcdef"

  init() throws { scratch = try Scratch() }

  private func file(_ name: String = "secret", _ text: String = secret) throws -> SecretSource {
    .file(try scratch.write(name, text))
  }

  private static let rows: [Row] = [
    Row(testDescription: "bearer", masked: [secret], shown: ["Authorization: Bearer "]) {
      try $0.sent(keyring(.bearer($0.file())))
    },
    Row(testDescription: "headers", masked: [secret, other], shown: ["X-A: Key ", "X-C: plain-value"]) {
      try $0.sent(
        keyring(
          .headers([
            HeaderTemplate(name: "X-A", prefix: "Key ", value: .secret($0.file())),
            HeaderTemplate(name: "X-B", prefix: "", value: .secret($0.file("other", other))),
            HeaderTemplate(name: "X-C", prefix: "", value: .plain("plain-value")),
          ])))
    },
    Row(testDescription: "Basic", masked: [Data("me:\(secret)".utf8).base64EncodedString()]) {
      try $0.sent(keyring(.basic(user: .plain("me"), password: .secret($0.file()))))
    },
    Row(
      testDescription: "Basic, with a short password", masked: [Data("me:short".utf8.dropLast()).base64EncodedString()]
    ) {
      try $0.sent(keyring(.basic(user: .plain("me"), password: .secret($0.file("short", "shor")))))
    },
    Row(
      testDescription: "Basic, with a user that is secret",
      masked: [Data("\(other):\(secret)".utf8).base64EncodedString()]
    ) {
      try $0.sent(keyring(.basic(user: .secret($0.file("other", other)), password: .secret($0.file()))))
    },
    Row(testDescription: "query", masked: ["CANARY-x7Kq%2B9.dE3_vT%2F5~mZ%3D"], shown: ["?api_key="]) {
      try $0.sent(keyring(.query(name: "api_key", value: $0.file())))
    },
    Row(
      testDescription: "OAuth 1.0", masked: ["SECOND-0123456789abcdef"],
      shown: ["oauth_signature=\"", "oauth_consumer_key=\"consumer-of-mine\""]
    ) {
      var client = OAuth1Client(consumerKey: .plain("consumer-of-mine"), consumerSecret: try $0.file())
      client.token = try $0.file("other", other)
      client.tokenSecret = try $0.file("third", "THIRD-0123456789")
      return try $0.sent(keyring(.oauth1(client)))
    },
    Row(testDescription: "a token of an endpoint", masked: [secret]) {
      try $0.sent($0.granted { .bearer(.token($0)) })
    },
    Row(testDescription: "a login's cookie", masked: [secret], shown: ["Cookie: sid="]) {
      try $0.sent(
        $0.granted { .headers([HeaderTemplate(name: "Cookie", prefix: "sid=", value: .secret(.token($0)))]) })
    },
    Row(testDescription: "several together", masked: [secret, other], shown: ["?k="]) {
      try $0.sent(
        keyring(.all([.bearer($0.file()), .query(name: "k", value: $0.file("other", other))])))
    },
    Row(testDescription: "mode: challenge", masked: [secret]) {
      let grant = Grant(
        name: "api", origins: [try origin("https://upstream.test")], callers: nil, fieldNames: ["authorization"],
        replayBuffer: 16, authRetry: .challenged(.bearer))
      return try $0.sent(keyring(.bearer($0.file()), grant: grant), isAsked: true)
    },
    Row(testDescription: "Digest", masked: [other], shown: ["response=\"", "nonce=\"NONCE-0123456789\""]) {
      let keyring = try keyring(.digest(user: .secret($0.file("other", other)), password: $0.file(), hashes: [.sha256]))
      return try $0.sent(keyring) { attempt in
        let challenge = DigestChallenge.strongest(
          in: DigestTests.head("Digest realm=\"r\", nonce=\"NONCE-0123456789\", qop=auth, algorithm=SHA-256"),
          of: [.sha256])
        #expect(attempt.rejected(with: challenge))
      }
    },
    Row(testDescription: "registry", masked: [other], shown: ["Authorization: Bearer "]) { test in
      let source = TokenSource(
        credential: "api", endpoint: try Endpoint(parsing: "https://auth.test/token"), grant: .clientCredentials,
        client: TokenClient(id: "bearerd", authentication: .none))
      let login = RegistryLogin(user: .plain("deploy"), password: try test.file())
      return try test.sent(keyring(.registry(login: login, source))) { attempt in
        let challenge = try #require(
          RegistryChallenge.find(
            in: DigestTests.head(#"Bearer realm="https://auth.test/token", scope="repository:a:pull""#),
            realm: source.endpoint))
        _ = attempt.rejected(with: challenge)
        let arena = SecretArena()
        var token = try Secret(capacity: 64, in: arena)
        try token.append(other)
        try attempt.put(token, for: challenge, lifetime: 60_000, in: arena)
      }
    },
    Row(
      testDescription: "cookies of a jar", masked: [secret, "SESSION-0123456789"],
      shown: ["; lang=solarized-dark", "Cookie: sid="]
    ) {
      let keyring = try keyring(.bearer($0.file()))
      let (jars, origin) = (CookieJars(isShared: false), try origin("https://upstream.test"))
      jars.update(to: [CookieJars.Key(credential: "api", origin: origin)], mustLock: false)
      keyring.keepCookies(in: jars)
      keyring.keepCookies(of: "api")
      let ticket = try #require(keyring.jarTicket(ofGrant: 0, to: origin, holder: 0))
      for (name, value) in [("sid", "SESSION-0123456789"), ("lang", "solarized-dark")] {
        jars.store(
          name: Array(name.utf8).span, value: Array(value.utf8).span, path: Array("/".utf8), lifetime: nil, with: ticket
        )
      }
      return try $0.sent(keyring, cookies: ticket)
    },
  ]

  @Test(arguments: rows)
  func `T33: every sent value of every kind of credential is masked in the response`(row: Row) throws {
    let sent = try row.send(self)
    for text in row.masked + row.shown { try #require(sent.request.contains(text), "\(text) was sent") }
    let whole = try masked(sent) { try $0.whole($1) }
    let streamed = try masked(sent) { try $0.stream($1.map { [$0] }) }
    #expect(whole == streamed)
    for text in row.masked { #expect(!whole.contains(text) && !whole.contains(text.suffix(8)), "\(text) in \(whole)") }
    for text in row.shown { #expect(whole.contains(text), "\(text) in \(whole)") }
    for text in [Self.secret, "THIRD-0123456789"] { #expect(!whole.contains(text)) }
  }

  /// The login itself is sent only to the token server.
  @Test func `T33: a registry's login is masked in addition to its token`() throws {
    let row = try #require(Self.rows.first { $0.testDescription == "registry" })
    let sent = try row.send(self)
    let pair = Data("deploy:\(Self.secret)".utf8).base64EncodedString()
    let text = try Masked(sent.patterns).whole(Array("<\(Self.secret)> <\(pair)> <\(Self.other)>".utf8))
    #expect(!String(decoding: text, as: UTF8.self).contains { $0.isLetter })
  }

  @Test func `T33: the patterns of a request are returned only once`() throws {
    let keyring = try keyring(.bearer(file()))
    #expect(keyring.popSentPatterns(ofGrant: 0) == nil)
    _ = try sent(keyring)
    #expect(keyring.popSentPatterns(ofGrant: 0) == nil)
  }

  @Test func `T33: patterns of cookies are prepared again only when a cookie changes`() throws {
    let row = try #require(Self.rows.first { $0.testDescription == "cookies of a jar" })
    let sent = try row.send(self)
    let arena = SecretArena()
    let cache = CookiePatterns()
    func line(_ value: String) throws -> CookieLine {
      var secret = try Secret(capacity: 64, in: arena)
      try secret.append("Cookie: sid=\(value)\r\n")
      return CookieLine(secret, values: [12..<(12 + value.utf8.count)])
    }
    let first = try cache.patterns(of: line("SESSION-0123456789"), beside: sent.patterns, in: arena)
    #expect(try cache.patterns(of: line("SESSION-0123456789"), beside: sent.patterns, in: arena) === first)
    #expect(try cache.patterns(of: line("SESSION-9876543210"), beside: sent.patterns, in: arena) !== first)
    #expect(try cache.patterns(of: line("short"), beside: sent.patterns, in: arena) === sent.patterns)
  }

  // MARK: -

  private func masked(_ sent: Sent, by mask: (Masked, [UInt8]) throws -> [UInt8]) throws -> String {
    String(decoding: try mask(Masked(sent.patterns), Array((sent.request + "\n").utf8)), as: UTF8.self)
  }

  private func granted(_ scheme: (TokenSource) -> AuthScheme) throws -> Keyring {
    let source = TokenSource(
      credential: "api", endpoint: try Endpoint(parsing: "https://login.test/t"), grant: .clientCredentials,
      client: TokenClient(id: "bearerd", authentication: .none))
    let values = TokenValues()
    var token = try Secret(capacity: 64, in: values.arena)
    try token.append(Self.secret)
    values.store(source, token)
    return try Keyring(
      entries: [Keyring.Entry(grant: grant(), scheme: scheme(source))], requireLockedMemory: false, tokens: values)
  }

  /// Sends a request. With `respond`, sends two requests: `respond` handles the response to the first, and the second
  /// is returned.
  private func sent(
    _ keyring: Keyring, isAsked: Bool = false, cookies: JarTicket? = nil,
    respond: ((ChallengeAttempt) throws -> Void)? = nil
  ) throws -> Sent {
    let upstream = try Upstream()
    var patterns: SecretPatterns?
    for isLast in respond == nil ? [true] : [false, true] {
      var session = try upstream.session()
      let request = OutgoingRequest("GET /v2/a/tags/list HTTP/1.1")
      let attempt = try keyring.authorize(
        grant: 0, request: request, body: [UInt8]().span, caller: me, now: unixTime(), isChallenged: isAsked,
        cookies: cookies, over: &session.verified)
      patterns = keyring.popSentPatterns(ofGrant: 0)
      if !isLast { try respond?(#require(attempt)) }
    }
    return Sent(request: upstream.finish().last ?? "", patterns: try #require(patterns))
  }
}
