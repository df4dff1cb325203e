import HTTP1
import Policy
import Settings
import TestSupport
import Testing

@_spi(SecretBytes) @testable import Credentials
@_spi(SecretBytes) @testable import Secrets

/// Digest authentication (RFC 7616).
@Suite struct DigestTests {
  let scratch: Scratch
  let arena = SecretArena()

  init() throws { scratch = try Scratch() }

  static func head(_ challenge: String) -> ResponseHead {
    var head = ResponseHead()
    head.bytes = Array("WWW-Authenticate:\(challenge)".utf8)
    head.fields = [Field(name: 0..<16, value: 17..<head.bytes.count, known: .wwwAuthenticate)]
    return head
  }

  private func challenge(_ text: String) throws -> DigestChallenge {
    try #require(DigestChallenge.strongest(in: Self.head(text), of: Set(DigestHash.allCases)))
  }

  private func secret(_ text: String) throws -> Secret {
    var secret = try Secret(capacity: 16, in: arena)
    try secret.append(text)
    return secret
  }

  private func line(_ text: String, pair: String, _ method: String, _ target: String, number: String) throws -> String {
    let challenge = try challenge(text)
    let pair = try secret(pair)
    let number = Array(number.utf8)
    let key = try DigestResponse.key(of: pair, for: challenge, clientNonce: number, in: arena)
    var line = try secret("")
    try Array(method.utf8).withUnsafeBytes { method in
      try Array(target.utf8).withUnsafeBytes { target in
        let response = DigestResponse(
          challenge: challenge, method: method, target: target, count: 1, clientNonce: number, in: arena)
        try response.append(key: key, pair: pair, to: &line)
      }
    }
    return line.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  private static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
  private static let number = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
  private static let opaque = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"

  @Test(arguments: [
    ("algorithm=MD5, qop=\"auth, auth-int\"", "8ca523f5e9506fed4657c9700eebdbec"),
    (
      "algorithm=SHA-256, qop=\"auth, auth-int\"",
      "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"
    ),
    // Not in the RFC. Computed with Python's hashlib.
    ("algorithm=MD5-sess, qop=auth", "e783283f46242139c486a698fec7211d"),
    ("algorithm=SHA-256-sess, qop=auth", "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7"),
    ("algorithm=MD5", "7b2cc3b30e75b4777ea31027084363fd"),
    ("algorithm=SHA-256", "a1306b0595a6c7fe96c448631fb5cfbd5107bd1fe1da729d978dd7446b812363"),
  ])
  func `a Digest response matches RFC 7616 section 3.9.1`(_ rest: String, _ response: String) throws {
    let line = try line(
      #"Digest realm="http-auth@example.org", nonce="\#(Self.nonce)", opaque="\#(Self.opaque)", "# + rest,
      pair: "Mufasa:Circle of Life", "GET", "/dir/index.html", number: Self.number)
    let hash = rest.split(separator: ",")[0]
    let quality = rest.contains("qop") ? #", qop=auth, nc=00000001, cnonce="\#(Self.number)""# : ""
    #expect(
      line == #"Authorization: Digest username="Mufasa", realm="http-auth@example.org", nonce="\#(Self.nonce)", "#
        + #"uri="/dir/index.html", response="\#(response)", \#(hash)\#(quality), opaque="\#(Self.opaque)""# + "\r\n")
  }

  /// The expected values are in erratum 4897. The values in the RFC itself are wrong.
  @Test
  func `a hashed user name matches RFC 7616 section 3.9.2`() throws {
    let line = try line(
      #"Digest realm="api@example.org", nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", qop="auth", "#
        + #"algorithm=SHA-512-256, charset=UTF-8, userhash=true"#,
      pair: "J\u{E4}s\u{F8}n Doe:Secret, or not?", "GET", "/doe.json",
      number: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v")
    #expect(
      line.contains(#"username="793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b""#)
        && line.contains(#"response="3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5""#)
        && line.hasSuffix(", userhash=true\r\n") && !line.contains("Doe"))
  }

  @Test
  func `T43: quotation marks in a realm, a nonce or a user name are escaped`() throws {
    let line = try line(
      #"Digest realm="r\", x=\"\\", nonce="n\"", opaque="o\\", qop=auth"#, pair: #"a"b\c:p:w"#, "GET", #"/"x""#,
      number: "c")
    #expect(
      line.hasPrefix(#"Authorization: Digest username="a\"b\\c", realm="r\", x=\"\\", nonce="n\"", uri="/\"x\"", "#))
    #expect(line.hasSuffix(#"opaque="o\\""# + "\r\n") && line.utf8.count { $0 == 0x0D || $0 == 0x0A } == 2)
  }

  // MARK: protection spaces and nonces

  private func keyring(_ hashes: Set<DigestHash> = Set(DigestHash.allCases)) throws -> Keyring {
    let file = try scratch.write("password", "Circle of Life\n")
    return try CredentialsTests.keyring(.digest(user: .plain("Mufasa"), password: .file(file), hashes: hashes))
  }

  private func send(_ keyring: Keyring, _ upstream: Upstream, _ target: String = "/x") throws -> ChallengeAttempt {
    var session = try upstream.session()
    let request = OutgoingRequest("GET \(target) HTTP/1.1")
    let nothing: [UInt8] = []
    return try #require(
      try keyring.authorize(
        grant: 0, request: request, body: nothing.span, caller: me, now: unixTime(), over: &session.verified))
  }

  private func value(_ name: String, _ request: String) -> String? {
    let found = try? Regex("[ ,]" + name + "=\"?([^\",]*)").firstMatch(in: request)
    return found.flatMap { $0[1].substring.map(String.init) }
  }

  @Test
  func `the first request is sent without a credential, and requests of each nonce are counted`() throws {
    let (keyring, upstream) = (try keyring(), try Upstream())
    let first = try challenge(#"Digest realm="r", nonce="one", qop="auth""#)
    let bare = try send(keyring, upstream)
    #expect(bare.isBare && bare.rejected(with: first))
    let second = try send(keyring, upstream)
    #expect(!second.isBare)
    second.accepted(next: nil)
    // Another request without credential gets the same challenge. The count of the nonce continues.
    #expect(bare.rejected(with: first))
    _ = try send(keyring, upstream, "/y?z")
    second.accepted(next: Array("two".utf8))
    _ = try send(keyring, upstream)
    let stale = try challenge(#"Digest realm="r", nonce="three", qop="auth", stale=true"#)
    #expect(try send(keyring, upstream).rejected(with: stale))
    _ = try send(keyring, upstream)
    let requests = upstream.finish()
    #expect(!requests[0].contains("Authorization"))
    #expect(requests.dropFirst().map { value("nonce", $0) } == ["one", "one", "two", "two", "three"])
    #expect(
      requests.dropFirst().map { value("nc", $0) } == ["00000001", "00000002", "00000001", "00000002", "00000001"])
    #expect(requests.map { value("uri", $0) } == [nil, "/x", "/y?z", "/x", "/x", "/x"])
    let numbers = requests.compactMap { value("cnonce", $0) }
    #expect(Set(numbers).count == 5 && numbers.allSatisfy { $0.utf8.count == 32 })
  }

  @Test
  func `T41: a rejected Digest response is repeated only if its nonce was accepted before`() throws {
    let (keyring, upstream) = (try keyring(), try Upstream())
    #expect(try send(keyring, upstream).rejected(with: try challenge(#"Digest realm="r", nonce="1", qop="auth""#)))
    let wrong = try send(keyring, upstream)
    #expect(!wrong.rejected(with: try challenge(#"Digest realm="r", nonce="2", qop="auth""#)))
    #expect(!wrong.rejected(with: nil))
    // Some servers never send `stale`. If the old nonce was accepted before, a response with a new nonce may be
    // accepted.
    let right = try send(keyring, upstream)
    right.accepted(next: nil)
    #expect(!right.rejected(with: try challenge(#"Digest realm="r", nonce="2", qop="auth""#)))
    let again = try send(keyring, upstream)
    again.accepted(next: nil)
    #expect(again.rejected(with: try challenge(#"Digest realm="r", nonce="3", qop="auth""#)))
    // The new nonce was never accepted, so the password may be wrong.
    #expect(try !send(keyring, upstream).rejected(with: challenge(#"Digest realm="r", nonce="4", qop="auth""#)))
    _ = upstream.finish()
  }

  @Test
  func `each protection space has its own nonce, and the longest matching path decides`() throws {
    let (keyring, upstream) = (try keyring(), try Upstream())
    let all = try challenge(#"Digest realm="all", nonce="a", qop="auth""#)
    let part = try challenge(#"Digest realm="part", nonce="p", qop="auth", domain="/part/""#)
    let bare = try send(keyring, upstream)
    #expect(bare.rejected(with: all))
    // A challenge of another protection space does not mean that the password is wrong.
    #expect(try send(keyring, upstream, "/part/1").rejected(with: part))
    _ = try send(keyring, upstream, "/part/1")
    _ = try send(keyring, upstream, "/other")
    #expect(upstream.finish().map { value("realm", $0) } == [nil, "all", "part", "all"])
  }

  @Test
  func `a session keeps its client nonce until the password changes`() throws {
    let (keyring, upstream) = (try keyring(), try Upstream())
    #expect(
      try send(keyring, upstream).rejected(
        with: try challenge(#"Digest realm="r", nonce="1", qop="auth", algorithm=SHA-256-sess"#)))
    let one = try send(keyring, upstream)
    one.accepted(next: Array("2".utf8))
    _ = try send(keyring, upstream)
    try scratch.write("password", "another\n")
    #expect(keyring.reload(grant: 0))
    #expect(try send(keyring, upstream).isBare)
    let requests = upstream.finish()
    #expect(requests.map { value("nonce", $0) } == [nil, "1", "1", nil])
    #expect(value("cnonce", requests[1]) == value("cnonce", requests[2]))
  }

  @Test
  func `an upstream cannot fill the memory with protection spaces`() throws {
    let (keyring, upstream) = (try keyring(), try Upstream())
    let bare = try send(keyring, upstream, "/0")
    for index in 0..<40 {
      _ = bare.rejected(with: try challenge(#"Digest realm="r\#(index)", nonce="n", domain="/\#(index)/""#))
    }
    #expect(try send(keyring, upstream, "/39/").isBare == false && send(keyring, upstream, "/3/").isBare)
    _ = upstream.finish()
  }
}
