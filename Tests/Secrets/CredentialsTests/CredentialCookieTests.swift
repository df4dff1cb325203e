@testable import Credentials
@testable import Secrets
import HTTP1
import Policy
import Primitives
import Settings
import TLS
import TestSupport
import Testing

/// A credential that is sent as a cookie joins the request's other cookies in one Cookie field.
@Suite struct CredentialCookieTests {
  private static let start = "GET / HTTP/1.1\r\nHost: h\r\n"
  /// Fields, the client's other cookies, and the fields as sent.
  private static let rows: [(String, String, String)] = [
    ("", "", "Cookie: S=v\r\n"), ("", "a=1; b=2", "Cookie: a=1; b=2; S=v\r\n"),
    ("X-Cookie: a\r\n", "", "X-Cookie: a\r\nCookie: S=v\r\n"),
    ("X: y\r\nContent-Length: 0\r\n", "a=1", "X: y\r\nContent-Length: 0\r\nCookie: a=1; S=v\r\n"),
  ]

  private func sent(_ fields: String, _ others: String, cookie: String?) throws -> [String] {
    let scratch = try Scratch()
    let template = HeaderTemplate(
      name: "Cookie", prefix: "S=", value: .secret(.file(try scratch.write("session", "v"))))
    let grant = Grant(
      name: "api", origins: [try origin("https://upstream.test")], callers: nil, fieldNames: ["cookie"], cookie: cookie)
    let keyring = try keyring(.headers([template]), grant: grant)
    let upstream = try Upstream()
    do {
      var session = try upstream.session()
      var request = OutgoingRequest(Self.start + fields)
      request.cookie.append(contentsOf: Array(others.utf8))
      try keyring.authorize(grant: 0, request: request, over: &session)
    }
    return upstream.finish()
  }

  @Test(arguments: rows) func `a credential's cookie is appended to the Cookie field`(
    _ fields: String, _ others: String, _ expected: String
  ) throws {
    #expect(try sent(fields, others, cookie: "S") == [Self.start + expected + "\r\n"])
  }

  @Test func `without a cookie name, a credential's Cookie field is a separate field`() throws {
    let sent = try sent("", "a=1; b=2", cookie: nil)
    #expect(sent == [Self.start + "Cookie: a=1; b=2\r\nCookie: S=v\r\n\r\n"])
  }
}
