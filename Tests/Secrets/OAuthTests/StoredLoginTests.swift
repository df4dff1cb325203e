@_spi(SecretBytes) import Credentials
@_spi(SecretBytes) import Secrets
import Glibc
import OAuth
import Policy
import Settings
import TestSupport
import Testing

/// The file that stores a refresh token.
@Suite struct StoredLoginTests {
  private static let salt = Array(0..<16) as [UInt8]

  private static func stored(
    _ token: String = "rt-2", of source: TokenSource? = nil, first: String? = "rt-1"
  ) throws -> StoredLogin.Content {
    let source = try source ?? OAuthTests.source(.refreshToken(first: somewhere))
    let secrets = try secrets(first.map { [.refreshToken: $0] } ?? [:])
    return try StoredLogin.encode(try secret(token.utf8), of: source, secrets, salt: salt, mustLock: false)
  }

  private static func token(
    _ content: StoredLogin.Content, of source: TokenSource? = nil, first: String? = "rt-1"
  ) throws -> String? {
    let source = try source ?? OAuthTests.source(.refreshToken(first: somewhere))
    let secrets = try secrets(first.map { [.refreshToken: $0] } ?? [:])
    switch try StoredLogin.decode(content, of: source, secrets, in: arena) {
    case .some(let login):
      if login.kind == .loggedOut { return "logged out" }
      let secrets = TokenSecrets()
      login.put(into: secrets)
      return secrets.withBytes(of: .refreshToken) { String(decoding: $0, as: UTF8.self) }
    case .none: return nil
    }
  }

  @Test func `a stored login is read back unchanged`() throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/mail.login"
    #expect(try StoredLogin.Content.read(path, mustLock: false) == nil)
    for token in ["rt-2", "a b |:~!", String(repeating: "x", count: TokenGrant.longestToken)] {
      try Self.stored(token).write(path)
      let content = try #require(try StoredLogin.Content.read(path, mustLock: false))
      #expect(try Self.token(content) == token)
    }
  }

  @Test func `a login file has four lines, and the first token only as a digest`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("login", "")
    try Self.stored().write(path)
    #expect(
      try fileText(path) == """
        bearerd login 1
        for 000102030405060708090a0b0c0d0e0f:ddf7d45489d798b3783020ded7072c7e83b4238dad0f34f9e7fe63f3bd15ace4
        first 3390ce30d946490ae62743cd8297916fd15c04f406fd5439cfc0c94be5cb09bc
        refresh_token rt-2

        """)
  }

  @Test func `a stored login belongs to one endpoint and one client`() throws {
    let content = try Self.stored()
    #expect(try Self.token(content) == "rt-2")
    var other = try source(.refreshToken(first: somewhere))
    other.endpoint = try Endpoint(parsing: "https://evil.example.com/oauth2/token")
    #expect(try Self.token(content, of: other) == nil)
    other = try source(.refreshToken(first: somewhere), id: "other")
    #expect(try Self.token(content, of: other) == nil)
    // Other settings do not matter.
    other = try source(.refreshToken(first: nil), .basic(somewhere))
    (other.credential, other.scope) = ("renamed", ["x"])
    #expect(try Self.token(content, of: other) == "rt-2")
  }

  @Test func `a new first token replaces the stored login, and a missing first token does not`() throws {
    let content = try Self.stored()
    #expect(try Self.token(content, first: "rt-9") == nil)
    #expect(try Self.token(content, first: "rt-10") == nil)
    #expect(try Self.token(content, first: nil) == "rt-2")
    let withoutFirst = try Self.stored(first: nil)
    #expect(try Self.token(withoutFirst, first: nil) == "rt-2")
    #expect(try Self.token(withoutFirst, first: "rt-1") == nil)
  }

  @Test(
    arguments: [
      (nil, nil, 0, true), (nil, nil, Int64.max, true), (1_000, 600_000, 400, true), (1_000, 1_000, 999, true),
      (1_000, nil, 1_000, false), (1_000, nil, Int64.max, false), (1_000, 2_000_000, -1_000, true),
      (Int64.max, nil, -1, false), (Int64.max, nil, 0, false),
    ] as [(Int64?, UInt64?, Int64, Bool)])
  func `a stored access token is used for the rest of its lifetime`(
    _ end: Int64?, _ lifetime: UInt64?, _ now: Int64, _ isGood: Bool
  ) throws {
    let (source, scratch) = (try source(.refreshToken(first: nil)), try Scratch())
    let path = "\(scratch.path)/mail.login"
    let content = try StoredLogin.encode(
      try secret("at-1".utf8), .accessToken(until: end), of: source, TokenSecrets(), salt: Self.salt, mustLock: false)
    try content.write(path)
    #expect(try fileText(path).hasSuffix("\nfirst -\naccess_token \(end.map { "\($0)" } ?? "-") at-1\n"))
    guard let login = try StoredLogin.decode(content, of: source, TokenSecrets(), in: arena) else {
      Issue.record("not read")
      return
    }
    #expect(login.kind == .accessToken(until: end))
    switch login.grant(now: now) {
    case .none: #expect(!isGood)
    case .some(let grant): #expect(isGood && grant.lifetime == lifetime && text(grant.accessToken) == "at-1")
    }
    guard let kept = try StoredLogin.decode(try Self.stored(), of: source, TokenSecrets(), in: arena) else { return }
    #expect(kept.kind == .refreshToken)
    switch kept.grant(now: 0) {
    case .none: break
    case .some: Issue.record("a refresh token is used as an access token")
    }
  }

  @Test func `T46: a logged-out login stays logged out for its endpoint, client and first token`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("login", "")
    let first = try secrets([.refreshToken: "rt-1"])
    let source = try source(.refreshToken(first: somewhere))
    let end = try StoredLogin.encodeEndMarker(of: source, first, salt: Self.salt, mustLock: false)
    try Self.stored().write(path)
    try end.write(path)
    #expect(try fileText(path).hasSuffix("\nlogged_out\n") && !fileText(path).contains("rt-"))
    let content = try #require(try StoredLogin.Content.read(path, mustLock: false))
    #expect(try Self.token(content) == "logged out")
    #expect(try Self.token(content, first: nil) == "logged out")
    #expect(try Self.token(content, first: "rt-9") == nil, "a new first token starts a new login")
    var other = source
    other.client.id = "other"
    #expect(try Self.token(content, of: other) == nil)
    let text = try fileText(path)
    for bad in [text + "\n", String(text.dropLast()), text.replacing("logged_out", with: "logged_out x")] {
      try scratch.write("login", bad)
      let content = try #require(try StoredLogin.Content.read(path, mustLock: false))
      #expect(throws: SecretProblem.self) { _ = try Self.token(content) }
    }
  }

  @Test func `a token that would break the login file is not stored`() throws {
    for token in ["", "a\nb", "a\u{0}", "é", String(repeating: "x", count: TokenGrant.longestToken + 1)] {
      #expect(throws: SecretProblem.self) { _ = try Self.stored(token) }
    }
    #expect(throws: SecretProblem.self) {
      _ = try StoredLogin.encode(try secret("a".utf8), of: source(), TokenSecrets(), salt: [], mustLock: false)
    }
  }

  @Test func `a malformed login file is refused`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("login", "")
    try Self.stored().write(path)
    let good = try fileText(path)
    var bad = [
      "", "\n", "rt-2\n", good + "\n", good + good, String(good.dropLast()), "\u{FEFF}" + good,
      good + "refresh_token x\n",
      good.replacing("login 1", with: "login 2"), good.replacing("\n", with: "\r\n"), good.replacing("rt-2", with: ""),
      good.replacing("rt-2", with: "rt\u{7}"), good.replacing("rt-2", with: "é"), good.replacing("0102", with: "010"),
      good.replacing("0a0b", with: "0A0B"), good.replacing("0102", with: "01021"), good.replacing("0102", with: "0 02"),
      good.replacing("0102", with: "+102"), good.replacing("first ", with: "first"),
      good.replacing("for ", with: "FOR "),
    ]
    bad += [
      "access_token", "access_token ", "access_token 0 x", "access_token 01 x", "access_token -1 x",
      "access_token +1 x",
      "access_token 1", "access_token  x", "access_token 99999999999999999999 x", "access_token 1 ",
    ].map { good.replacing("refresh_token rt-2", with: $0) }
    bad += []
    for end in good.indices { bad.append(String(good[..<end])) }
    for text in bad {
      try scratch.write("login", text)
      let content = try #require(try StoredLogin.Content.read(path, mustLock: false))
      do throws(SecretProblem) {
        let secrets = (try? secrets([.refreshToken: "rt-1"])) ?? TokenSecrets()
        let source = try! source(.refreshToken(first: somewhere))
        _ = try StoredLogin.decode(content, of: source, secrets, in: arena)
        Issue.record("\(text.debugDescription) is accepted")
      } catch {
        #expect(!error.sentence.contains("rt-2"))
      }
    }
  }

  @Test(
    arguments: [(0o644, "open to others"), (0o620, "open to others"), (0o601, "open to others")] as [(mode_t, String)])
  func `a login file that others can open is neither read nor replaced`(_ mode: mode_t, _ words: String) throws {
    let scratch = try Scratch()
    let path = try scratch.write("login", "x", mode: mode)
    for attempt in [{ _ = try StoredLogin.Content.read(path, mustLock: false) }, { try Self.stored().write(path) }] {
      do {
        try attempt()
        Issue.record("accepted")
      } catch {
        #expect("\(error)".contains(words))
      }
    }
    #expect(try fileText(path) == "x")
  }
}

private func fileText(_ path: String) throws -> String {
  let file = try #require(fopen(path, "r"))
  defer { fclose(file) }
  var bytes: [UInt8] = []
  while case let byte = fgetc(file), byte >= 0 { bytes.append(UInt8(byte)) }
  return String(decoding: bytes, as: UTF8.self)
}
