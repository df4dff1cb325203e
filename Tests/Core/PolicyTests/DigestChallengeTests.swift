import HTTP1
import Policy
import Testing

/// Only challenges that bearerd can meet safely are used (RFC 7616 section 3.3).
@Suite struct DigestChallengeTests {
  /// Builds a response head with these field values, without a parser.
  static func head(_ lines: [[UInt8]], name: String = "WWW-Authenticate", known: KnownField = .wwwAuthenticate)
    -> ResponseHead
  {
    var head = ResponseHead()
    head.status = 401
    for line in lines {
      let start = head.bytes.count
      head.bytes += Array(name.utf8) + [0x3A]
      let value = head.bytes.count..<(head.bytes.count + line.count)
      head.bytes += line + [0x0D, 0x0A]
      head.fields.append(Field(name: start..<(start + name.utf8.count), value: value, known: known))
    }
    return head
  }

  static func challenge(_ lines: String..., of hashes: Set<DigestHash> = Set(DigestHash.allCases)) -> DigestChallenge? {
    DigestChallenge.strongest(in: head(lines.map { Array($0.utf8) }), of: hashes)
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func `every parameter of a challenge is parsed`() throws {
    let found = try #require(
      Self.challenge(
        #"dIgEsT realm="a, \"b\"", domain="/x https://other.test/y /z", nonce="n\\1", opaque="o", stale=TRUE, "#
          + #"algorithm=sha-256-SESS, qop="auth-int , Auth", userhash=true, charset=UTF-8, strange=1"#))
    #expect(text(found.realm) == #"a, "b""# && text(found.nonce) == #"n\1"# && found.opaque.map(text) == "o")
    #expect(found.hash == .sha256 && found.isSession && found.hasAlgorithm && found.hasQOP)
    #expect(found.isStale && found.hashesUserName && found.domain.map(text) == ["/x", "/z"])
    let least = try #require(Self.challenge(#"Digest realm="", nonce="n""#))
    #expect(least.hash == .md5 && !least.hasAlgorithm && !least.hasQOP && !least.isStale && least.opaque == nil)
  }

  @Test(arguments: [
    #"Digest realm="r""#, #"Digest nonce="n""#, #"Digest realm="r", nonce="""#, "Digest", "Digest abc=",
    #"Digest realm="r", nonce="n", qop="auth-int""#, #"Digest realm="r", nonce="n", qop="""#,
    #"Digest realm="r", nonce="n", algorithm=SHA-1"#, #"Digest realm="r", nonce="n", algorithm="MD5,SHA-256""#,
    #"Digest realm="r", nonce="n", algorithm=MD5-sess"#, #"Basic realm="r", nonce="n""#,
    #"Digest realm="r", nonce="n", realm="s""#, #"Digest realm="r", nonce="n"#,
    "Digest realm=r, nonce=\"\(String(repeating: "n", count: 1_025))\"",
    "Digest realm=\"\(String(repeating: "r", count: 1_025))\", nonce=n",
    "Digest realm=r, nonce=n, opaque=\"\(String(repeating: "o", count: 1_025))\"",
  ])
  func `a challenge that bearerd cannot meet is ignored`(_ line: String) {
    #expect(Self.challenge(line) == nil)
  }

  @Test(arguments: [0x00, 0x01, 0x09, 0x0A, 0x0D, 0x1F, 0x7F] as [UInt8])
  func `T43: a challenge with control bytes is ignored`(_ byte: UInt8) {
    for name in ["realm", "nonce", "opaque"] {
      for prefix in [[], [0x5C]] as [[UInt8]] {
        let others = ["realm", "nonce"].filter { $0 != name }.map { ", \($0)=\"x\"" }.joined()
        let line = Array("Digest \(name)=\"a".utf8) + prefix + [byte] + Array("X: y\"\(others)".utf8)
        #expect(DigestChallenge.strongest(in: Self.head([line]), of: Set(DigestHash.allCases)) == nil)
      }
    }
  }

  @Test func `the challenge with the strongest allowed hash is chosen, whatever the order`() {
    let md5 = #"Digest realm="r", nonce="1", qop="auth""#
    let sha256 = #"Digest realm="r", nonce="2", qop="auth", algorithm=SHA-256"#
    let half = #"Digest realm="r", nonce="3", qop="auth", algorithm=SHA-512-256"#
    for lines in [[md5, sha256, half], [half, sha256, md5], ["Basic realm=\"x\", \(half), \(md5)", sha256]] {
      let head = Self.head(lines.map { Array($0.utf8) })
      func nonce(_ hashes: Set<DigestHash>) -> String? {
        DigestChallenge.strongest(in: head, of: hashes).map { text($0.nonce) }
      }
      #expect(nonce(Set(DigestHash.allCases)) == "3" && nonce([.md5, .sha256]) == "2" && nonce([.md5]) == "1")
    }
    #expect(Self.challenge(md5, of: [.sha256, .sha512Truncated]) == nil)
    let old = #"Digest realm="r", nonce="4""#
    #expect(Self.challenge(old, md5).map { text($0.nonce) } == "1")
    #expect(Self.challenge(md5, old).map { text($0.nonce) } == "1")
  }

  @Test func `one malformed challenge field invalidates all challenges`() {
    let good = #"Digest realm="r", nonce="1", qop="auth""#
    #expect(Self.challenge(good, #"Basic realm="unterminated"#) == nil)
    #expect(Self.challenge(String(repeating: ",", count: 60_000), good) != nil)
  }

  @Test func `T60: a head with more than 32 challenges is ignored`() {
    let line = Array(repeating: #"Digest realm="r", nonce="n", qop="auth""#, count: 16).joined(separator: ", ")
    #expect(Self.challenge(line, line) != nil)
    #expect(Self.challenge(line, line, "Basic") == nil)
  }

  @Test func `the next nonce comes from a valid Authentication-Info`() throws {
    func nonce(_ value: String) -> [UInt8]? {
      DigestChallenge.nextNonce(
        in: Self.head([Array(value.utf8)], name: "Authentication-Info", known: .authenticationInfo))
    }
    #expect(nonce(#"nextnonce="n2", qop=auth, rspauth="0123", cnonce="c", nc=00000001"#).map(text) == "n2")
    #expect(nonce(#"NextNonce=n2"#).map(text) == "n2")
    for value in ["", "rspauth=\"1\"", #"nextnonce="n2"#, "nextnonce=1, Digest nextnonce=2", "x"] {
      #expect(nonce(value) == nil, "\(value)")
    }
    let challenge = try #require(Self.challenge(#"Digest realm="r", nonce="1", stale=true"#))
    #expect(challenge.with(nonce: Array("2".utf8)).map { text($0.nonce) } == "2")
    #expect(challenge.with(nonce: []) == nil && challenge.with(nonce: [0x31, 0x0A]) == nil)
  }

  @Test func `a challenge applies to its whole origin, or to the paths in its domain`() throws {
    func reach(_ domain: String, _ target: String) -> Int? {
      Self.challenge(#"Digest realm="r", nonce="1", domain="\#(domain)""#)?.domainPrefixLength(
        of: Array(target.utf8).span)
    }
    #expect(reach("", "/x") == 0 && reach("https://other.test/", "/x") == 0)
    #expect(reach("/a /a/b", "/a/b/c") == 4 && reach("/a", "/a") == 2 && reach("/a", "/") == nil)
  }
}
