import HTTP1
import Credentials
import Secrets
import Settings
import TestServer
import Policy
import TestSupport
import Testing

/// The header fields of each scheme (T43).
@Suite struct FieldTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  private let start = "GET / HTTP/1.1\r\nHost: upstream.test\r\n"

  @Test(arguments: [
    ("t0k", "t0k"), ("t0k\n", "t0k"), ("t0k\r\n", "t0k"), ("mF_9.B5f-4.1JqM==", "mF_9.B5f-4.1JqM=="),
    ("a~b+c/d_e-f.9", "a~b+c/d_e-f.9"), ("x", "x"), ("T=", "T="),
  ]) func `one line break at the end of a bearer token is removed`(file: String, token: String) throws {
    let path = try scratch.write("token", file)
    #expect(try sent(keyring(.bearer(.file(path)))) == start + "Authorization: Bearer \(token)\r\n\r\n")
  }

  /// Characters that users copy by mistake together with a token.
  @Test(arguments: [
    ("\"t0k\"", "quotation marks"), ("'t0k'", "quotation marks"), ("`t0k`", "quotation marks"),
    ("\"\"", "quotation marks"),
    ("GITHUB_TOKEN=t0k", "NAME=value"), ("token=t0k", "NAME=value"), ("export T=t0k", "NAME=value"),
    ("export T='t0k'", "NAME=value"), ("set T=t0k", "NAME=value"), ("$env:T = \"t0k\"", "NAME=value"),
    ("T = t0k", "NAME=value"),
    ("{\"token\":\"t0k\"}", "JSON"), ("a|b", "RFC 6750"), ("a:b", "RFC 6750"), ("a\"b", "RFC 6750"), ("=", "RFC 6750"),
    ("a=b.", "NAME=value"), ("a.=b", "RFC 6750"), ("Bearer t0k", "a space or tab"), ("t0k;", "RFC 6750"),
    // T20: variables are not expanded.
    ("${HOME}{{env:HOME}}$(id)%s%41\\n", "RFC 6750"),
  ]) func `a bearer token with surrounding characters is refused with the reason`(file: String, says: String) throws {
    let path = try scratch.write("token", file + "\n")
    let status = try keyring(.bearer(.file(path))).status(ofGrant: 0)
    let problem = try #require(status.problem)
    #expect(status.secretVersion == 0 && problem.contains(path) && problem.contains(says), "\(problem)")
    #expect(!problem.contains("t0k"))
  }

  @Test(arguments: [
    ("a|b:c~!", "", true), ("${HOME}{{env:HOME}}$(id)%s%41\\n", "", true), ("\"t0k\"", "", false),
    ("'t0k'", "Key ", false),
    ("\"t0k\"", "token=", true), ("export KEY=t0k", "", false), ("session=t0k", "", true), ("\"", "", true),
  ]) func `a header value may contain any visible character, but no surrounding quotation marks`(
    file: String, prefix: String, isGood: Bool
  ) throws {
    let path = try scratch.write("token", file)
    let template = HeaderTemplate(name: "X-Key", prefix: prefix, value: .secret(.file(path)))
    let keyring = try keyring(.headers([template]))
    #expect((keyring.status(ofGrant: 0).problem == nil) == isGood)
    if isGood { #expect(try sent(keyring) == start + "X-Key: \(prefix)\(file)\r\n\r\n") }
    let query = try CredentialsTests.keyring(.query(name: "key", value: .file(path))).status(ofGrant: 0)
    #expect((query.problem == nil) == (isGood && prefix.isEmpty), "\(query)")
  }

  @Test(arguments: [("sk_live_x", "c2tfbGl2ZV94Og=="), ("s", "czo=")])
  func `a Basic credential may have a secret user name and an empty password`(user: String, encoded: String) throws {
    let path = try scratch.write("user", user + "\n")
    let keyring = try keyring(.basic(user: .secret(.file(path)), password: .plain("")))
    #expect(keyring.status(ofGrant: 0).problem == nil)
    #expect(try sent(keyring) == start + "Authorization: Basic \(encoded)\r\n\r\n")
    let empty = try scratch.write("empty", "")
    for scheme in [
      AuthScheme.basic(user: .secret(.file(empty)), password: .plain("")),
      .basic(user: .plain(""), password: .secret(.file(empty))),
    ] {
      #expect(try CredentialsTests.keyring(scheme).status(ofGrant: 0).problem != nil)
    }
  }

  @Test(arguments: [
    ("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123£", "dGVzdDoxMjPCow=="),
    ("user", "p@ss:w/ord", "dXNlcjpwQHNzOncvb3Jk"), ("", "pw", "OnB3"), ("ü", "ß", "w7w6w58="),
    ("u", " p ", "dTogcCA="),
    ("u", "a%40b", "dTphJTQwYg=="), ("u", "😀", "dTrwn5iA"),
  ]) func `a Basic credential is encoded as in RFC 7617`(user: String, password: String, encoded: String) throws {
    let path = try scratch.write("password", password + "\n")
    let keyring = try keyring(.basic(user: .plain(user), password: .secret(.file(path))))
    #expect(keyring.status(ofGrant: 0).problem == nil)
    #expect(try sent(keyring) == start + "Authorization: Basic \(encoded)\r\n\r\n")
    let userPath = try scratch.write("user", user)
    guard !user.isEmpty else { return }
    let other = try CredentialsTests.keyring(.basic(user: .secret(.file(userPath)), password: .secret(.file(path))))
    #expect(try sent(other) == start + "Authorization: Basic \(encoded)\r\n\r\n")
  }

  @Test(arguments: [(47, 64), (48, 64), (49, 68), (96, 128), (97, 132), (144, 192), (145, 196), (4096, 5464)])
  func `a Basic credential of any length is one line`(length: Int, encodedLength: Int) throws {
    let path = try scratch.write("password", String(repeating: "x", count: length - 2))
    let text = try sent(keyring(.basic(user: .plain("u"), password: .secret(.file(path)))))
    let line = try #require(text.split(separator: "\r\n").last)
    #expect(line.utf8.count == "Authorization: Basic ".utf8.count + encodedLength)
    #expect(text.hasSuffix("\r\n\r\n"))
  }

  @Test func `several header fields are sent, with prefixes and plain values`() throws {
    let path = try scratch.write("search.token", "s3cret \u{2}".dropLast(2) + "\n")
    let keyring = try keyring(
      .headers([
        HeaderTemplate(name: "Authorization", prefix: "Bot ", value: .secret(.file(path))),
        HeaderTemplate(name: "X-Organization", prefix: "", value: .plain("acme corp\tltd")),
      ]))
    #expect(
      try sent(keyring) == start + "Authorization: Bot s3cret\r\nX-Organization: acme corp\tltd\r\n\r\n")
  }

  struct Bad: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let content: [UInt8]
    /// Expected text in the problem.
    var says = ""
    var isBadBearer = true
    var isBadBasic = true
    var isBadHeader = true
  }

  static let bad: [Bad] = [
    Bad(testDescription: "empty", content: [], says: "is empty"),
    Bad(testDescription: "only a line break", content: [10], says: "is empty"),
    Bad(testDescription: "a second line", content: Array("CANARY\r\nX: y".utf8), says: ""),
    Bad(testDescription: "a bare LF", content: Array("CANARY\nX: y".utf8)),
    Bad(testDescription: "a bare CR", content: Array("CANARY\rX: y".utf8)),
    Bad(testDescription: "two closing line breaks", content: Array("CANARY\n\n".utf8)),
    Bad(testDescription: "NUL", content: Array("CANARY\0".utf8)),
    Bad(testDescription: "escape", content: Array("CANARY\u{1B}[1m".utf8)),
    Bad(testDescription: "DEL", content: Array("CANARY\u{7F}".utf8)),
    Bad(testDescription: "UTF-8 BOM", content: [0xEF, 0xBB, 0xBF] + Array("CANARY".utf8), says: "byte order mark"),
    Bad(testDescription: "UTF-16 BOM", content: [0xFF, 0xFE, 67, 0], says: "byte order mark"),
    Bad(testDescription: "not ASCII", content: Array("CANARYé".utf8), isBadBasic: false),
    Bad(testDescription: "Latin-1", content: Array("CANARY".utf8) + [0xE9], says: ""),
    Bad(testDescription: "overlong UTF-8", content: Array("CANARY".utf8) + [0xC0, 0xAF]),
    Bad(testDescription: "a surrogate", content: Array("CANARY".utf8) + [0xED, 0xA0, 0x80]),
    Bad(testDescription: "UTF-8 cut short", content: Array("CANARY".utf8) + [0xF0, 0x9F, 0x98]),
    Bad(testDescription: "a space inside", content: Array("CANARY x".utf8), isBadBasic: false, isBadHeader: false),
    Bad(testDescription: "a space before", content: Array(" CANARY".utf8), isBadBasic: false),
    Bad(testDescription: "a space behind", content: Array("CANARY ".utf8), isBadBasic: false),
    Bad(testDescription: "a tab behind", content: Array("CANARY\t".utf8)),
    Bad(testDescription: "100 KB", content: Array(repeating: 65, count: 100_000), says: "64 KiB"),
    Bad(testDescription: "one byte too many", content: Array(repeating: 65, count: 65_537), says: "64 KiB"),
  ]

  @Test(arguments: bad) func `a value that would break a field is refused and not shown`(bad: Bad) throws {
    let path = try scratch.write("secret", bad.content)
    let rows: [(AuthScheme, Bool)] = [
      (.bearer(.file(path)), bad.isBadBearer),
      (.basic(user: .plain("u"), password: .secret(.file(path))), bad.isBadBasic),
      (.headers([HeaderTemplate(name: "X-Key", prefix: "", value: .secret(.file(path)))]), bad.isBadHeader),
      (.headers([HeaderTemplate(name: "X-Key", prefix: "p ", value: .secret(.file(path)))]), bad.isBadHeader),
    ]
    for (scheme, isBad) in rows {
      let keyring = try keyring(scheme)
      let status = keyring.status(ofGrant: 0)
      #expect(status.secretVersion == (isBad ? 0 : 1))
      #expect((status.problem == nil) == !isBad)
      guard let problem = status.problem else { continue }
      #expect(problem.contains(path))
      #expect(problem.contains(bad.says), "\(problem)")
      #expect(!problem.contains("CANARY"))
      #expect(problem.utf8.allSatisfy { $0 >= 0x20 })
      let upstream = try Upstream()
      do {
        var session = try upstream.session()
        let denied = #expect(throws: AuthorizationError.self) {
          try keyring.authorize(grant: 0, request: OutgoingRequest(start), over: &session)
        }
        #expect(denied?.reason == .unavailable)
        #expect(denied?.detail == problem)
      }
      #expect(upstream.finish() == [""])
    }
  }

  @Test func `a secret of 64 KiB is accepted`() throws {
    let path = try scratch.write("secret", Array(repeating: 65, count: 65_536))
    #expect(try keyring(.bearer(.file(path))).status(ofGrant: 0).problem == nil)
  }

  @Test(arguments: ["a:b", "a\nb", "a\0b", "\u{7F}"]) func `a user name that Basic cannot encode is refused`(
    user: String
  ) throws {
    let password = try scratch.write("password", "pw")
    let path = try scratch.write("user", user)
    for value in [FieldValue.plain(user), .secret(.file(path))] {
      let status = try keyring(.basic(user: value, password: .secret(.file(password)))).status(ofGrant: 0)
      #expect(status.secretVersion == 0)
      #expect(status.problem != nil)
    }
  }

  @Test(arguments: [
    ("", "", "v"), ("X Y", "", "v"), ("X:", "", "v"), ("X\r\nY", "", "v"), ("Host", "", "v"),
    ("content-length", "", "1"),
    ("Transfer-Encoding", "", "chunked"), ("X", "a\r\nY: ", "v"), ("X", " ", "v"), ("X", "é", "v"), ("X", "", ""),
    ("X", "", "a\nb"), ("X", "", " a"), ("X", "", "é"),
  ]) func `invalid field names, prefixes and plain values are refused`(name: String, prefix: String, value: String)
    throws
  {
    let status = try keyring(.headers([HeaderTemplate(name: name, prefix: prefix, value: .plain(value))]))
      .status(ofGrant: 0)
    #expect(status.secretVersion == 0)
    #expect(status.problem != nil)
  }
}
