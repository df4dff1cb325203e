import HTTP1
import HTTP2
import Policy
import Primitives
import Settings
import System
import TestServer
import TLS
import TestSupport
import Testing

@_spi(SecretBytes) @testable import Credentials
@_spi(SecretBytes) @testable import Secrets

/// Credentials of every scheme in HTTP/2, as a server decodes them, and the form of each field in the compressed bytes.
@Suite struct HTTP2HeadEncoderTests {
  private let scratch: Scratch
  private let token: SecretSource

  init() throws {
    scratch = try Scratch()
    token = .file(try scratch.write("token", "TOKEN"))
  }

  private func request(_ target: String, _ length: BodyLength, type: String = "text/plain") -> OutgoingRequest {
    var request = OutgoingRequest("POST \(target) HTTP/1.1\r\nHost: h:8443\r\nContent-Type: \(type)\r\nX-UP: y\r\n")
    request.cookie.append("a=1; b=2")
    (request.acceptsTrailers, request.isLast, request.bodyLength) = (true, true, length)
    return request
  }

  private static let start = [":method: POST", ":scheme: https", ":authority: h:8443"]
  private static let middle = ["content-type: text/plain", "x-up: y!", "te: trailers", "content-length: 4"]
  private static let clientCookie = "cookie: a=1; b=2!"

  private func keyring(_ scheme: AuthScheme, cookie: String? = nil) throws -> Keyring {
    let grant = Grant(
      name: "api", origins: [try origin("https://upstream.test")], callers: nil, fieldNames: ["authorization"],
      cookie: cookie)
    return try CredentialsTests.keyring(scheme, grant: grant)
  }

  /// Sends the request with a body of four bytes, three times on one connection. Returns the fields of the last request
  /// that belong to the credential, after a check of the others.
  private func sent(
    _ scheme: AuthScheme, path: String = "/p?q!", cookie: String? = nil, challenge: String? = nil,
    prepare: (Keyring) throws -> JarTicket? = { _ in nil }
  ) throws -> [String] {
    let keyring = try keyring(scheme, cookie: cookie)
    let ticket = try prepare(keyring)
    var attempt: ChallengeAttempt?
    let received = try receivedInHTTP2(3) { (session, connection) in
      let body = Array("body".utf8)
      let sent = try keyring.authorize(
        grant: 0, request: request("/p?q", .length(4)), body: body.span, endsBody: true, caller: me, now: unixTime(),
        cookies: ticket, through: connection, over: &session.verified)
      #expect(keyring.isStagingClear)
      if let challenge {
        let head = DigestTests.head(challenge)
        if attempt == nil {
          _ = sent.attempt?.rejected(with: DigestChallenge.strongest(in: head, of: Set(DigestHash.allCases)))
        }
        attempt = sent.attempt
      }
      return sent.stream
    }
    #expect(received.map(\.stream) == [1, 3, 5])
    #expect(received.allSatisfy { $0.body == "body" && $0.isEnded })
    // The second and third requests are encoded with the table that the first request filled.
    let fields = received[1].fields.filter { !$0.hasPrefix("authorization: ") }
    #expect(received[2].fields.filter { !$0.hasPrefix("authorization: ") } == fields)
    let last = try #require(received.last).fields
    let start = Self.start + [":path: \(path)"] + Self.middle + [Self.clientCookie]
    #expect(Array(last.prefix(start.count)) == start)
    return Array(last.dropFirst(start.count))
  }

  @Test func `each scheme sends one TLS record, and its fields are never indexed`() throws {
    #expect(try sent(.bearer(token)) == ["authorization: Bearer TOKEN!"])
    #expect(try sent(.basic(user: .plain("u"), password: .secret(token))) == ["authorization: Basic dTpUT0tFTg==!"])
    let header = HeaderTemplate(name: "X-Key", prefix: "Bot ", value: .secret(token))
    #expect(try sent(.headers([header])) == ["x-key: Bot TOKEN!"])
    #expect(try sent(.query(name: "k", value: token), path: "/p?q&k=TOKEN!") == [])
    #expect(
      try sent(.all([.query(name: "k", value: token), .bearer(token), .headers([header])]), path: "/p?q&k=TOKEN!")
        == ["authorization: Bearer TOKEN!", "x-key: Bot TOKEN!"])
  }

  @Test func `a credential's cookie and the jar's cookies are fields of their own`() throws {
    let cookie = HeaderTemplate(name: "Cookie", prefix: "S=", value: .secret(token))
    #expect(try sent(.headers([cookie]), cookie: "S") == ["cookie: S=TOKEN!"])
    #expect(try sent(.headers([cookie])) == ["cookie: S=TOKEN!"])
    let jars = CookieJars(isShared: true)
    let origin = try origin("https://upstream.test")
    jars.update(to: [CookieJars.Key(credential: "api", origin: origin)], mustLock: false)
    let fields = try sent(.bearer(token)) { keyring in
      keyring.keepCookies(in: jars)
      keyring.keepCookies(of: "api")
      let ticket = try #require(keyring.jarTicket(ofGrant: 0, to: origin, holder: 0))
      for (name, path) in [("j", "/"), ("other", "/other"), ("k", "/p")] {
        let (name, value) = (Array(name.utf8), Array("1".utf8))
        jars.store(name: name.span, value: value.span, path: Array(path.utf8), lifetime: nil, with: ticket)
      }
      return ticket
    }
    #expect(fields == ["authorization: Bearer TOKEN!", "cookie: k=1; j=1!"])
  }

  @Test func `responses to challenges and signatures are computed as for HTTP/1`() throws {
    let digest = try sent(
      .digest(user: .plain("u"), password: token, hashes: Set(DigestHash.allCases)),
      challenge: #"Digest realm="r", nonce="n""#)
    #expect(digest.count == 1 && digest[0].hasSuffix("!"))
    #expect(digest[0].hasPrefix(#"authorization: Digest username="u", realm="r", nonce="n", uri="/p?q", "#))
    let client = OAuth1Client(consumerKey: .plain("consumer"), consumerSecret: token)
    let signed = try sent(.oauth1(client))
    #expect(signed.count == 1 && signed[0].hasSuffix("\"!") && !signed[0].contains("TOKEN"))
    #expect(signed[0].hasPrefix(#"authorization: OAuth oauth_consumer_key="consumer", "#))
    let both = try sent(.all([.oauth1(client), .query(name: "k", value: token)]), path: "/p?q&k=TOKEN!")
    #expect(both.count == 1 && both[0].hasPrefix("authorization: OAuth "))
  }

  // MARK: bodies

  private func form(_ length: BodyLength) -> OutgoingRequest {
    request("/f", length, type: "application/x-www-form-urlencoded")
  }

  private func signer() throws -> Keyring {
    try keyring(.oauth1(OAuth1Client(consumerKey: .plain("consumer"), consumerSecret: token)))
  }

  @Test(arguments: [
    (BodyLength.length(3), "a=b", true), (.length(3), "a=b", false), (.chunked, "a=b", true), (.chunked, "", true),
    (.none, "", false), (.length(0), "", false),
  ])
  func `a form is signed without the framing of HTTP/1.1`(_ length: BodyLength, _ text: String, _ endsBody: Bool) throws
  {
    let keyring = try signer()
    let received = try receivedInHTTP2(1) { (session, connection) in
      let body = Array(text.utf8)
      return try keyring.authorize(
        grant: 0, request: form(length), body: body.span, endsBody: endsBody, caller: me, now: unixTime(),
        through: connection, over: &session.verified
      ).stream
    }
    let isEnded = length == .none || length == .length(0) || endsBody
    #expect(received.first?.body == text && received.first?.isEnded == isEnded)
    let signature = try #require(received.first?.fields.last)
    #expect(signature.hasPrefix("authorization: OAuth "))
    // The signature is the same as of the same form in HTTP/1.1.
    let expected = try OAuth1Check(signature, secret: "TOKEN").signature(of: text)
    #expect(signature.contains(try #require(expected)))
  }

  @Test(arguments: [(BodyLength.length(4), "a=b", true), (.length(4), "a=b", false), (.chunked, "a=b", false)])
  func `a form that is not complete is neither signed nor sent`(
    _ length: BodyLength, _ text: String, _ endsBody: Bool
  ) throws {
    let keyring = try signer()
    let refused = try #require(try refusal(keyring, form(length), text, endsBody: endsBody))
    #expect(refused.detail.hasSuffix("the request cannot be signed"))
  }

  @Test func `a request that is too large for one TLS record is sent in several records`() throws {
    let long = String(repeating: "t", count: 20_000)
    let keyring = try keyring(.bearer(.file(scratch.write("long", long))))
    let body = (0..<40_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    let received = try receivedInHTTP2(1, records: nil) { (session, connection) in
      let stream = try keyring.authorize(
        grant: 0, request: request("/p", .chunked), body: body.span, endsBody: true, caller: me, now: unixTime(),
        through: connection, over: &session.verified
      ).stream
      #expect(keyring.isStagingClear && session.records > 3)
      return stream
    }
    #expect(received.first?.fields.last == "authorization: Bearer \(long)!")
    #expect(received.first?.body == String(decoding: body, as: UTF8.self) && received.first?.isEnded == true)
  }

  // MARK: refusals

  /// Returns why a request was refused, after a check that nothing was sent. `nil` if the request was sent.
  private func refusal(
    _ keyring: Keyring, _ request: OutgoingRequest, _ text: String = "", endsBody: Bool = true, caller: Caller = me,
    selected: ApplicationProtocol = .http2
  ) throws -> AuthorizationError? {
    let upstream = try Upstream(selectedProtocol: selected)
    var refusal: AuthorizationError?
    do {
      var session = try upstream.session(protocols: [.http2, .http1])
      let connection = try HTTP2Session(.client)
      let body = Array(text.utf8)
      do throws(AuthorizationError) {
        try keyring.authorize(
          grant: 0, request: request, body: body.span, endsBody: endsBody, caller: caller, now: unixTime(),
          through: connection, over: &session.verified)
      } catch {
        refusal = error
      }
      #expect(session.records == (refusal == nil ? 1 : 0) && keyring.isStagingClear)
    }
    #expect(refusal == nil || upstream.finish() == [""])
    return refusal
  }

  @Test func `a session that uses HTTP/1.1 carries no request in HTTP/2`() throws {
    let keyring = try keyring(.bearer(token))
    #expect(try refusal(keyring, request("/", .none)) == nil)
    let refused = try #require(try refusal(keyring, request("/", .none), selected: .http1))
    #expect(refused.reason == .wrongSession && refused.detail.contains("uses HTTP/1.1, and the request is HTTP/2"))
  }

  @Test func `a refused request leaves the connection usable`() throws {
    let keyring = try keyring(.bearer(token))
    let received = try receivedInHTTP2(2) { (session, connection) in
      let nothing: [UInt8] = []
      var upgrade = OutgoingRequest("GET /ws HTTP/1.1")
      upgrade.upgrade = "websocket"
      var stream: HTTP2Session.StreamID = 0
      for (request, isRefused) in [(upgrade, true), (request("/", .none), false)] {
        var reason: AuthorizationError.Reason?
        do throws(AuthorizationError) {
          stream = try keyring.authorize(
            grant: 0, request: request, body: nothing.span, endsBody: true, caller: me, now: unixTime(),
            through: connection, over: &session.verified
          ).stream
        } catch {
          reason = error.reason
        }
        #expect(reason == (isRefused ? .streamRefused : nil) && keyring.isStagingClear)
      }
      return stream
    }
    #expect(received.count == 2)
  }

  @Test func `a connection without a free stream refuses the request`() throws {
    let keyring = try keyring(.bearer(token))
    let upstream = try Upstream(selectedProtocol: .http2)
    var session = try upstream.session(protocols: [.http2, .http1])
    let connection = try HTTP2Session(.client)
    let nothing: [UInt8] = []
    var reason: AuthorizationError.Reason?
    var sent = 0
    while reason == nil, sent < 1_000 {
      do throws(AuthorizationError) {
        try keyring.authorize(
          grant: 0, request: request("/", .none), body: nothing.span, endsBody: true, caller: me, now: unixTime(),
          through: connection, over: &session.verified)
        sent += 1
      } catch {
        reason = error.reason
      }
    }
    #expect(reason == .streamRefused && sent == connection.maximumStreams && session.records == sent)
    upstream.server.stop()
  }

  @Test func `a connection whose peer violated HTTP/2 carries no credential`() throws {
    let keyring = try keyring(.bearer(token))
    let upstream = try Upstream(selectedProtocol: .http2)
    do {
      var session = try upstream.session(protocols: [.http2, .http1])
      let connection = try HTTP2Session(.client)
      let (answer, nothing) = (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), [UInt8]())
      #expect(throws: HTTP2Error.self) { try connection.receive(answer.span) }
      do throws(AuthorizationError) {
        try keyring.authorize(
          grant: 0, request: request("/", .none), body: nothing.span, endsBody: true, caller: me, now: unixTime(),
          through: connection, over: &session.verified)
        Issue.record("sent")
      } catch {
        if case .sessionFailed = error.reason {} else { Issue.record("\(error.reason)") }
      }
    }
    #expect(upstream.finish().allSatisfy { !$0.contains("TOKEN") })
  }

  @Test func `a request that HTTP/2 cannot carry is refused`() throws {
    let keyring = try keyring(.bearer(token))
    var upgrade = OutgoingRequest("GET /ws HTTP/1.1")
    upgrade.upgrade = "websocket"
    #expect(try refusal(keyring, upgrade)?.detail.contains("needs HTTP/1.1") == true)
    for target in ["http://h/", "h:443", "**"] {
      let refused = try refusal(keyring, OutgoingRequest("OPTIONS \(target) HTTP/1.1"))
      #expect(refused?.detail.contains("must be a path") == true, "\(target)")
    }
    #expect(try refusal(keyring, OutgoingRequest("GET / HTTP/1.1"), "a body") != nil)
    #expect(try refusal(keyring, OutgoingRequest("OPTIONS * HTTP/1.1")) == nil)
    #expect(try refusal(self.keyring(.query(name: "k", value: token)), OutgoingRequest("OPTIONS * HTTP/1.1")) != nil)
  }
}

/// Computes the signature of a form from the parameters of the OAuth field that signs the form.
private struct OAuth1Check {
  private let parameters: [String: String]
  private let secret: String

  init(_ field: String, secret: String) {
    var parameters: [String: String] = [:]
    for match in field.matches(of: /(oauth_[a-z_]+)="([^"]*)"/) { parameters[String(match.1)] = String(match.2) }
    (self.parameters, self.secret) = (parameters, secret)
  }

  func signature(of form: String) throws -> String? {
    guard let nonce = parameters["oauth_nonce"], let time = parameters["oauth_timestamp"].flatMap({ Int64($0) }) else {
      return nil
    }
    let client = OAuth1Client(consumerKey: .plain("consumer"), consumerSecret: .env("A"))
    let signature = OAuth1Signature(
      client: client, stamp: OAuth1Signature.Stamp(timestamp: time, nonce: nonce), arena: SecretArena())
    return try lend(["POST", "/f", form, "consumer", secret, ""].map { Array($0.utf8) }) { parts in
      let keys = OAuth1Signature.Keys(
        consumer: parts[3], consumerSecret: parts[4], token: parts[5], tokenSecret: parts[5])
      let line = try signature.line(
        method: parts[0], origin: "https://upstream.test", target: parts[1], form: parts[2], keys: keys)
      switch line {
      case .none: return nil
      case .some(let line):
        let text = line.withBytes { String(decoding: $0, as: UTF8.self) }
        return text.firstMatch(of: /oauth_signature="[^"]*"/).map { String($0.0) }
      }
    }
  }
}

extension Keyring {
  /// Whether the buffer for TLS records is zero.
  fileprivate var isStagingClear: Bool { staging.bytes.allSatisfy { $0 == 0 } }
}
