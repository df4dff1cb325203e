@testable import Gateway
import HTTP1
import Policy
import Testing

/// A credential in a cookie, with other cookies in the same request.
@Suite struct CredentialCookieTests {
  private func conversation(
    _ fields: String, method: String = "GET", response: String = ok(), passes: Bool = true,
    edit: (inout Service) -> Void = { _ in }
  ) throws -> Conversation {
    let snapshot = try snapshot(fields: ["cookie"], cookie: "AuthSession") {
      if passes { $0.options.cookies = .pass }
      edit(&$0)
    }
    return exchange("\(method) /api/x HTTP/1.1\r\nHost: localhost:7070\r\n\(fields)\r\n\r\n", response, snapshot)
  }

  private static let cookies: [(String, String?)] = [
    ("X-A: 1", nil),
    ("Cookie: a=1", "a=1"),
    ("Cookie: a=1; AuthSession=mine; b=2", "a=1; b=2"),
    ("Cookie: AuthSession=mine", nil),
    ("Cookie: AuthSession=mine\r\nCookie: b=2\r\ncookie:  c=3 ;; d=4", "b=2; c=3; d=4"),
    ("Cookie: authsession=x; AUTHSESSION=y; a=1", "a=1"),
    ("Cookie: Auth%53ession=x; %41%75thSession=y; a=%41", "a=%41"),
    ("Cookie: a=1, AuthSession=x; b=2", "b=2"),
    ("Cookie: a=\"x; AuthSession=y\"; b=2", "a=\"x; b=2"),
    ("Cookie: AuthSession = x; b=2", "b=2"),
    ("Cookie: $Version=1; AuthSession; b=2", "$Version=1; b=2"),
    ("Cookie: =AuthSession=x; b=2", "b=2"),
    (
      "Cookie: XAuthSession=1; AuthSessionX=2; a=AuthSessions; b=AuthSession",
      "XAuthSession=1; AuthSessionX=2; a=AuthSessions; b=AuthSession"
    ),
  ]

  @Test(arguments: cookies.indices)
  func `T45: other values of the credential's cookie are removed, and other cookies share one field`(_ index: Int)
    throws
  {
    let (fields, others) = Self.cookies[index]
    let conversation = try conversation(fields)
    let request = conversation.request
    #expect(request.lowercased().ranges(of: "cookie:").count == (others == nil ? 0 : 1), "\(request)")
    // The last field, to which the keyring adds the credential.
    if let others { #expect(request.contains("\r\nCookie: \(others)\r\n<credential>"), "\(request)") }
  }

  @Test func `T45: without cookies: pass, no cookie of the client is forwarded`() throws {
    #expect(!(try conversation("Cookie: a=1", passes: false).request.lowercased().contains("cookie:")))
  }

  @Test func `on_client_header applies only to the credential's cookie`() throws {
    let rejecting = try conversation("Cookie: a=1; authsession=x") { $0.headers.onClientHeader = .reject }
    #expect(status(rejecting.response) == "400" && rejecting.request.isEmpty)
    let fine = try conversation("Cookie: a=1") { $0.headers.onClientHeader = .reject }
    #expect(fine.request.contains("Cookie: a=1\r\n<credential>"))
  }

  @Test func `T34: the client does not get the credential's cookie, but gets other cookies`() throws {
    let fields =
      "Set-Cookie: a=1; Path=/base/\r\nSet-Cookie: AuthSession=new\r\nset-cookie: authsession=x\r\nSet-Cookie: AuthSession\r\nSet-Cookie: b=AuthSession"
    let response = try conversation("X-A: 1", response: ok(fields)).response
    #expect(response.contains("Set-Cookie: a=1; Path=/api/\r\n") && response.contains("Set-Cookie: b=AuthSession\r\n"))
    #expect(response.lowercased().ranges(of: "set-cookie").count == 2, "\(response)")
    #expect(
      !(try conversation("X-A: 1", response: ok(fields), passes: false).response.lowercased().contains("set-cookie")))
  }

  private func fresh(_ fields: String, method: String = "GET", status: String = "200 OK") throws -> String? {
    let length = method == "POST" ? "Content-Length: 0" : "X-A: 1"
    var conversation = try conversation(length, method: method, response: ok(fields, status: status, body: ""))
    return conversation.removeFreshCookie()
  }

  @Test func `a new value of the credential's cookie is reported once, and erased from the head`() throws {
    #expect(try fresh("Set-Cookie: AuthSession=new; Path=/") == "new")
    #expect(try fresh("Set-Cookie: AuthSession=1\r\nSet-Cookie: AuthSession=2") == "2")
    #expect(try fresh("Set-Cookie: AuthSession=new", method: "HEAD") == "new")
    var conversation = try conversation("X-A: 1", response: ok("Set-Cookie: AuthSession=QZQZ"))
    #expect(conversation.removeFreshCookie() == "QZQZ")
    #expect(conversation.removeFreshCookie() == nil)
    #expect(!String(decoding: conversation.responseHead.bytes, as: UTF8.self).contains("QZQZ"))
  }

  @Test func `T45: only a valid cookie in a successful response to a safe request is a new value`() throws {
    #expect(try fresh("Set-Cookie: AuthSession=new", method: "POST") == nil)
    #expect(try fresh("Set-Cookie: AuthSession=new", status: "401 Unauthorized") == nil)
    #expect(try fresh("Set-Cookie: AuthSession=new", status: "302 Found") == nil)
    #expect(try fresh("Set-Cookie: authsession=new") == nil)
    #expect(try fresh("Set-Cookie: AuthSession=") == nil)
    #expect(try fresh("Set-Cookie: AuthSession=1\r\nSet-Cookie: AuthSession=a b") == nil)
    #expect(try fresh("Set-Cookie: AuthSession=\(String(repeating: "x", count: 4_097))") == nil)
  }
}

extension Conversation {
  /// Removes the new value of the credential, as the daemon does.
  fileprivate mutating func removeFreshCookie() -> String? {
    var value: String?
    box.machine.relay.exchange.removeFreshCookie { cookie, bytes in
      var octets: [UInt8] = []
      for index in cookie.value { octets.append(bytes[index]) }
      value = String(decoding: octets, as: UTF8.self)
    }
    return value
  }
}
