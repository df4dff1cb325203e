import HTTP1
import Testing

@Suite struct SetCookieTests {
  private struct Read: Equatable {
    let name: String
    let value: String
    let lifetime: SetCookie.Lifetime
    let isSendable: Bool
  }

  /// 2026-11-22 00:00:00 UTC
  private static let now: Int64 = 1_795_305_600

  private func read(_ line: String) -> Read? {
    let bytes = Array(line.utf8)
    guard let cookie = SetCookie(0..<bytes.count, of: bytes.span) else { return nil }
    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
    return Read(
      name: text(cookie.name), value: text(cookie.value), lifetime: cookie.lifetime(now: Self.now, of: bytes.span),
      isSendable: cookie.isSendable(of: bytes.span))
  }

  private static let rows: [(String, String, String, SetCookie.Lifetime, Bool)] = [
    ("AuthSession=amFu; Version=1; Path=/; HttpOnly", "AuthSession", "amFu", .unknown, true),
    ("a=b", "a", "b", .unknown, true),
    (" a = b ;", "a", "b", .unknown, true),
    ("a=b=c==; Max-Age=600", "a", "b=c==", .seconds(600), true),
    ("a=b;max-age=600;MAX-AGE=5", "a", "b", .seconds(5), true),
    ("a=b; Max-Age=x; Max-Age", "a", "b", .unknown, true),
    ("a=b; Max-Age=0", "a", "b", .ended, true),
    ("a=b; Max-Age=-1", "a", "b", .ended, true),
    ("a=b; Max-Age=-", "a", "b", .unknown, true),
    ("a=b; Max-Age=99999999999999999999999", "a", "b", .seconds(1 << 35), true),
    ("a=b; Expires=Sun, 22 Nov 2026 00:01:00 GMT", "a", "b", .seconds(60), true),
    ("a=b; expires = Sun, 22-Nov-2026 00:01:00 GMT; Secure", "a", "b", .seconds(60), true),
    ("a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a", "b", .ended, true),
    ("a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=7", "a", "b", .seconds(7), true),
    ("a=b; Expires=tomorrow", "a", "b", .unknown, true),
    ("a=b; Max-Age =0; Expires\t=\tx", "a", "b", .ended, true),
    ("a=b; Expires = Sun, 22 Nov 2026 00:01:00 GMT; Expires; Expires =", "a", "b", .seconds(60), true),
    ("a=b; Max-Age=5; Max-Age=\(String(repeating: "1", count: 1_025))", "a", "b", .seconds(5), true),
    ("a=; Max-Age=600", "a", "", .ended, false),
    ("a=\"b\"", "a", "\"b\"", .unknown, true),
    ("a=\"\"", "a", "\"\"", .unknown, false),
    ("a=\"b", "a", "\"b", .unknown, false),
    ("a=b c", "a", "b c", .unknown, false),
    ("a=b,c", "a", "b,c", .unknown, false),
    ("a=b\\c", "a", "b\\c", .unknown, false),
    ("a=ü", "a", "ü", .unknown, false),
  ]

  @Test(arguments: rows.indices) func `cookies and their lifetimes are parsed as browsers do`(_ index: Int) {
    let (line, name, value, lifetime, isSendable) = Self.rows[index]
    #expect(read(line) == Read(name: name, value: value, lifetime: lifetime, isSendable: isSendable), "\(line)")
  }

  @Test(arguments: ["", ";", "a", "=b", " =b", "; a=b", "a; b=c"])
  func `a Set-Cookie field without name and value is ignored`(_ line: String) {
    #expect(read(line) == nil)
  }

  @Test(arguments: [
    ("a=b; Path=/x; Domain=y; Secure", "/x y true"), ("a=b; Path =/x; Domain\t=y; Secure =no", "/x y true"),
    ("a=b; Path=/x; PATH=; domain=z;;; =; Domain = y", " y false"), ("a=b", "nil nil false"),
    ("a=b; Path; Domain=", "  false"), ("a=b; Path=/x; Path=/\(String(repeating: "x", count: 1_024))", "/x nil false"),
    ("a=b; Paths=/x; XPath=/y; Pa th=/z", "nil nil false"),
  ])
  func `attribute names ignore surrounding whitespace, and the last attribute of a name counts`(
    line: String, wanted: String
  ) {
    let bytes = Array(line.utf8)
    guard let cookie = SetCookie(0..<bytes.count, of: bytes.span) else {
      Issue.record("it is one")
      return
    }
    let (path, domain) = (cookie.path, cookie.domain)
    let texts = [path, domain].map { $0.map { String(decoding: bytes[$0], as: UTF8.self) } ?? "nil" }
    #expect("\(texts[0]) \(texts[1]) \(cookie.isSecure)" == wanted)
  }

  @Test func `cookie names are case-sensitive`() {
    let bytes = Array("AuthSession=1".utf8)
    guard let cookie = SetCookie(0..<bytes.count, of: bytes.span) else {
      Issue.record("it is one")
      return
    }
    let names = ["AuthSession", "authsession", "AuthSessio", "AuthSession "].map { cookie.isNamed($0, of: bytes.span) }
    #expect(names == [true, false, false, false])
  }
}
