@testable import Credentials
@testable import Secrets
import Policy
import Settings
import TLS
import TestSupport
import Testing

/// A credential that is sent as a cookie joins the request's other cookies in one Cookie field.
@Suite struct CredentialCookieTests {
  private static let heads: [(String, String)] = [
    ("GET / HTTP/1.1\r\nHost: h\r\n", "GET / HTTP/1.1\r\nHost: h\r\nCookie: S=v\r\n\r\n"),
    ("GET / HTTP/1.1\r\nCookie: a=1; b=2\r\n", "GET / HTTP/1.1\r\nCookie: a=1; b=2; S=v\r\n\r\n"),
    ("GET / HTTP/1.1\r\nX-Cookie: a\r\n", "GET / HTTP/1.1\r\nX-Cookie: a\r\nCookie: S=v\r\n\r\n"),
    ("GET / HTTP/1.1\r\nCookie: \r\n", "GET / HTTP/1.1\r\nCookie: \r\nCookie: S=v\r\n\r\n"),
  ]

  private func sent(_ head: String, cookie: String?) throws -> [String] {
    let scratch = try Scratch()
    let template = HeaderTemplate(
      name: "Cookie", prefix: "S=", value: .secret(.file(try scratch.write("session", "v"))))
    let grant = Grant(
      name: "api", origins: [try origin("https://upstream.test")], callers: nil, fieldNames: ["cookie"], cookie: cookie)
    let keyring = try keyring(.headers([template]), grant: grant)
    let upstream = try Upstream()
    do {
      var session = try upstream.session()
      try keyring.authorize(grant: 0, head: Array(head.utf8), body: [], over: &session)
    }
    return upstream.finish()
  }

  @Test(arguments: heads.indices) func `a credential's cookie is appended to the Cookie field`(_ index: Int) throws {
    #expect(try sent(Self.heads[index].0, cookie: "S") == [Self.heads[index].1])
  }

  @Test func `without a cookie name, a credential's Cookie field is a separate field`() throws {
    let sent = try sent(Self.heads[1].0, cookie: nil)
    #expect(sent == ["GET / HTTP/1.1\r\nCookie: a=1; b=2\r\nCookie: S=v\r\n\r\n"])
  }
}
