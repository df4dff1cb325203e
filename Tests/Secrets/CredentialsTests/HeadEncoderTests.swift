import HTTP1
import Policy
import Primitives
import Settings
import Synchronization
import TestServer
import TLS
import TestSupport
import Testing

@_spi(SecretBytes) @testable import Credentials
@_spi(SecretBytes) @testable import Secrets

/// Credentials of every scheme in HTTP/1.1, and as the parts that other encoders get.
@Suite struct HeadEncoderTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func file(_ text: String) throws -> SecretSource { .file(try scratch.write(text, text)) }

  /// A request with all fields that the encoder of HTTP/1.1 adds itself.
  private func request(_ target: String, _ length: BodyLength, type: String = "text/plain") -> OutgoingRequest {
    var request = OutgoingRequest("POST \(target) HTTP/1.1\r\nHost: h:8443\r\nContent-Type: \(type)\r\nX: y\r\n")
    request.cookie.append("a=1; b=2")
    (request.acceptsTrailers, request.isLast, request.bodyLength) = (true, true, length)
    return request
  }

  private static let start = "POST /p?q HTTP/1.1\r\nHost: h:8443\r\nContent-Type: text/plain\r\nX: y\r\n"
  private static let connection = "TE: trailers\r\nConnection: TE, close\r\n"
  private static let length = "Content-Length: 4\r\n"
  private static let cookies = "Cookie: a=1; b=2\r\n"

  /// Sends the request with a body of four bytes. Returns the text after the fields about the connection and the
  /// framing, which are checked.
  private func sent(
    _ scheme: AuthScheme, target: String = "/p?q", cookie: String? = nil, isDigest: Bool = false
  ) throws -> String {
    let grant = Grant(
      name: "api", origins: [try origin("https://upstream.test")], callers: nil, fieldNames: ["authorization"],
      cookie: cookie)
    let keyring = try keyring(scheme, grant: grant)
    let upstream = try Upstream()
    for isLast in isDigest ? [false, true] : [true] {
      var session = try upstream.session()
      let body = Array("body".utf8)
      let attempt = try keyring.authorize(
        grant: 0, request: request("/p?q", .length(4)), body: body.span, caller: me, now: unixTime(),
        over: &session.verified)
      #expect(session.records == 1)
      if isLast { continue }
      let head = DigestTests.head(#"Digest realm="r", nonce="n""#)
      _ = attempt?.rejected(with: DigestChallenge.strongest(in: head, of: Set(DigestHash.allCases)))
    }
    let text = try #require(upstream.finish().last)
    let start = Self.start.replacing(" /p?q ", with: " \(target) ") + Self.connection + Self.length
    #expect(text.hasPrefix(start) && text.hasSuffix("\r\n\r\nbody"), "\(text)")
    return String(text.dropFirst(start.count).dropLast(5))
  }

  @Test func `HTTP/1.1: each scheme sends one TLS record with the fields in their order`() throws {
    let token = try file("TOKEN")
    #expect(try sent(.bearer(token)) == Self.cookies + "Authorization: Bearer TOKEN\r\n")
    #expect(
      try sent(.basic(user: .plain("u"), password: .secret(token))) == Self.cookies
        + "Authorization: Basic dTpUT0tFTg==\r\n")
    let header = HeaderTemplate(name: "X-Key", prefix: "Bot ", value: .secret(token))
    #expect(try sent(.headers([header])) == Self.cookies + "X-Key: Bot TOKEN\r\n")
    #expect(try sent(.query(name: "k", value: token), target: "/p?q&k=TOKEN") == Self.cookies)
    let cookie = HeaderTemplate(name: "Cookie", prefix: "S=", value: .secret(token))
    #expect(try sent(.headers([cookie]), cookie: "S") == "Cookie: a=1; b=2; S=TOKEN\r\n")
    #expect(
      try sent(.all([.query(name: "k", value: token), .bearer(token), .headers([header])]), target: "/p?q&k=TOKEN")
        == Self.cookies + "Authorization: Bearer TOKEN\r\nX-Key: Bot TOKEN\r\n")
    let digest = try sent(
      .digest(user: .plain("u"), password: token, hashes: Set(DigestHash.allCases)), isDigest: true)
    #expect(digest.hasPrefix(Self.cookies + #"Authorization: Digest username="u", realm="r", nonce="n", uri="/p?q", "#))
    let client = OAuth1Client(consumerKey: .plain("consumer"), consumerSecret: token)
    let signed = try sent(.oauth1(client))
    #expect(signed.hasPrefix(Self.cookies + #"Authorization: OAuth oauth_consumer_key="consumer", "#))
    #expect(!signed.contains("TOKEN") && signed.contains("\r\n") && !signed.dropLast(2).contains("\r\nX"))
  }

  @Test(arguments: [
    (BodyLength.length(3), "a=b", "Content-Length: 3\r\n"),
    (.chunked, "3\r\na=b\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\n"), (.none, "", ""),
  ])
  func `HTTP/1.1: a signed form is sent in one TLS record with its head`(
    _ length: BodyLength, _ body: String, _ framing: String
  ) throws {
    let client = OAuth1Client(consumerKey: .plain("consumer"), consumerSecret: try file("SECRET"))
    let keyring = try keyring(.all([.oauth1(client), .query(name: "k", value: try file("TOKEN"))]))
    let upstream = try Upstream()
    do {
      var session = try upstream.session()
      let request = request("/f", length, type: "application/x-www-form-urlencoded")
      try keyring.authorize(grant: 0, request: request, body: Array(body.utf8), over: &session)
      #expect(session.records == 1)
    }
    let text = upstream.finish()[0]
    #expect(
      text.hasPrefix(
        "POST /f?k=TOKEN HTTP/1.1\r\nHost: h:8443\r\nContent-Type: application/x-www-form-urlencoded\r\nX: y\r\n"
          + Self.connection + framing + Self.cookies + "Authorization: OAuth oauth_consumer_key="))
    #expect(text.hasSuffix("\"\r\n\r\n" + body))
  }

  @Test func `a request that asks for another protocol has one Connection field`() throws {
    let keyring = try keyring(.bearer(file("TOKEN")))
    let upstream = try Upstream()
    do {
      var session = try upstream.session()
      var request = OutgoingRequest("GET /ws HTTP/1.1")
      (request.upgrade, request.acceptsTrailers) = ("websocket", true)
      try keyring.authorize(grant: 0, request: request, over: &session)
    }
    #expect(
      upstream.finish() == [
        "GET /ws HTTP/1.1\r\nHost: upstream.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
          + "Authorization: Bearer TOKEN\r\n\r\n"
      ])
  }

  // MARK: other encoders

  /// Records the parts of a credential and sends nothing.
  private final class Recorder: HeadEncoder {
    let parts = Mutex<[String]>([])
    let applicationProtocol = ApplicationProtocol.http1

    func content(of request: borrowing OutgoingRequest, in body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
      nil
    }

    func send(
      _ request: borrowing OutgoingRequest, with credential: borrowing CredentialParts, body: Span<UInt8>,
      over session: inout VerifiedSession
    ) throws(AuthorizationError) {
      var parts = [String(decoding: credential.parameter, as: UTF8.self)]
      parts.append(String(decoding: credential.cookie, as: UTF8.self))
      credential.forEachField { name, value in
        parts.append(String(decoding: name, as: UTF8.self))
        parts.append(String(decoding: value, as: UTF8.self))
      }
      self.parts.withLock { [parts] in $0 = parts }
    }
  }

  private func recorded(_ scheme: AuthScheme, cookie: String? = nil, caller: Caller = me) throws -> [String] {
    let grant = Grant(
      name: "api", origins: [try origin("https://upstream.test")], callers: Callers(uids: [1000]),
      fieldNames: ["authorization"], cookie: cookie)
    let keyring = try keyring(scheme, grant: grant)
    let upstream = try Upstream()
    defer { upstream.server.stop() }
    var session = try upstream.session()
    let (recorder, nothing) = (Recorder(), [UInt8]())
    defer { #expect(session.records == 0) }
    _ = try keyring.authorize(
      grant: 0, request: OutgoingRequest("GET / HTTP/1.1"), body: nothing.span, caller: caller, now: unixTime(),
      isChallenged: false, cookies: nil, with: recorder, over: &session.verified)
    return recorder.parts.withLock { $0 }
  }

  @Test func `any encoder gets the credential's fields as names and values, and checks come first`() throws {
    let token = try file("TOKEN")
    #expect(try recorded(.bearer(token)) == ["", "", "Authorization", "Bearer TOKEN"])
    let cookie = HeaderTemplate(name: "Cookie", prefix: "S=", value: .secret(token))
    #expect(try recorded(.headers([cookie]), cookie: "S") == ["", "S=TOKEN"])
    #expect(try recorded(.headers([cookie])) == ["", "", "Cookie", "S=TOKEN"])
    let header = HeaderTemplate(name: "X-Key", prefix: "a: ", value: .secret(token))
    #expect(
      try recorded(.all([.query(name: "k", value: token), .bearer(token), .headers([header])])) == [
        "k=TOKEN", "", "Authorization", "Bearer TOKEN", "X-Key", "a: TOKEN",
      ])
    let client = OAuth1Client(consumerKey: .plain("consumer"), consumerSecret: token)
    let signed = try recorded(.oauth1(client))
    #expect(signed.count == 4 && signed[2] == "Authorization" && signed[3].hasPrefix("OAuth oauth_consumer_key="))
    #expect(throws: AuthorizationError.self) { try recorded(.bearer(token), caller: Caller(uid: 1001)) }
  }
}

extension CredentialParts {
  /// Calls `body` with the name and the value of each field, except the cookie that joins the request's cookies.
  fileprivate func forEachField(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    forEachPart { part in
      var pairs = FieldPairs()
      while let pair = pairs.next(in: Span(_unsafeBytes: part)) {
        body(UnsafeRawBufferPointer(rebasing: part[pair.name]), UnsafeRawBufferPointer(rebasing: part[pair.value]))
      }
    }
  }
}
