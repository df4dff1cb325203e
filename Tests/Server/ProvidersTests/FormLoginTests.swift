import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// bearerd logs in with a form or JSON, and sends the resulting session cookie or token with every request.
@Suite(.inProcess) struct FormLoginTests {
  @Test(arguments: [1, 3])
  func `T39: a hundred requests need one login, and all send the cookie`(workers: Int) throws {
    let stage = try CouchStage()
    try stage.stage.start(stage.configuration(workers: workers))
    let head = try stage.stage.head("GET")
    let clients = try (0..<10).map { _ in try stage.stage.client() }
    for _ in 0..<10 {
      for client in clients { try client.send(head) }
      for client in clients { #expect(try client.response().status == 200) }
    }
    let login = try #require(stage.logins.first)
    #expect(stage.logins.count == 1 && login.text.hasPrefix("POST /_session HTTP/1.1\r\n"))
    #expect(!login.text.contains("Cookie:") && !login.text.contains("Authorization:"))
    stage.assertSecrets(times: 100)
  }

  @Test(arguments: ["form", "json"], ["a&b=c+d%e ü:/@", "\"\\ \u{7}😀 'x'", "a%2Bb%", "{}[],: \t~"])
  func `passwords with special characters are encoded correctly`(encoding: String, password: String) throws {
    let stage = try CouchStage(password: password)
    try stage.stage.start(
      stage.configuration("\(encoding): { name: \(CouchStage.name), password: { file: couch.password } }"))
    #expect(try stage.stage.get().status == 200)
    #expect(stage.logins.count == 1)
    #expect(stage.log.hides(password))
    stage.stage.assertCanary(times: 1, as: "Cookie: AuthSession=\(stage.stage.canary)\r\n")
  }

  @Test(arguments: [
    ("token: data.token", "Authorization: Bearer "),
    ("token: data.token, header: { name: X-Auth-Token }", "X-Auth-Token: "),
  ])
  func `a token from a login is sent in the configured header field`(result: String, line: String) throws {
    let stage = try CouchStage()
    try stage.stage.start(
      stage.configuration(
        "json: { name: \(CouchStage.name), password: { file: couch.password } }", result,
        more: ", expires_in: data.ttl"))
    for _ in 0..<3 { #expect(try stage.stage.get(fields: "X-Auth-Token: mine\r\n").status == 200) }
    #expect(stage.logins.count == 1 && !stage.stage.recorded.contains("X-Auth-Token: mine"))
    let status = try stage.stage.control("status")
    #expect(status.contains(/"seconds_left":3[0-9]{3}\b/))
    stage.stage.assertCanary(times: 3, as: "\(line)\(stage.stage.canary)\r\n")
  }

  @Test(arguments: [1, 2])
  func `T41: an expired session is renewed, and the client gets one response`(workers: Int) throws {
    let stage = try CouchStage()
    try stage.stage.start(stage.configuration(workers: workers))
    #expect(try stage.stage.get().status == 200)
    // The type of the challenge does not matter.
    stage.state.withLock {
      $0.good = []
      $0.rejection.1 = "WWW-Authenticate: Basic realm=\"server\"\r\n"
    }
    let client = try stage.stage.raw()
    try client.send(stage.stage.head("POST", fields: "Content-Length: 5\r\n") + "again")
    #expect(try client.response().head.hasPrefix("HTTP/1.1 200 "))
    for _ in 0..<3 { #expect(try stage.stage.get().status == 200) }
    #expect(stage.logins.count == 2)
    #expect(stage.stage.recorded.ranges(of: "again").count == 2)
    stage.assertSecrets(times: 2)
  }

  @Test(arguments: [true, false])
  func `T41: a response that matches refresh_on renews the session, unless it is insufficient_scope`(isScope: Bool)
    throws
  {
    let stage = try CouchStage()
    try stage.stage.start(
      stage.configuration(more: ", refresh_on: [{ status: 403, field: error.code, value: expired }]"))
    #expect(try stage.stage.get().status == 200)
    stage.state.withLock {
      $0.good = []
      let fields = isScope ? "WWW-Authenticate: Bearer error=\"insufficient_scope\"\r\n" : ""
      $0.rejection = ("403 Forbidden", fields, "{\"error\":{\"code\":\"expired\"}}")
    }
    let response = try stage.stage.get()
    #expect(response.status == (isScope ? 403 : 200))
    #expect(response.text.contains("expired") == isScope)
    #expect(stage.logins.count == (isScope ? 1 : 2))
    stage.state.withLock { $0.rejection.2 = "{\"error\":{\"code\":\"forbidden\"}}" }
    stage.state.withLock { $0.good = [] }
    #expect(try stage.stage.get().status == 403)
    #expect(stage.logins.count == (isScope ? 1 : 2))
    stage.assertSecrets(times: isScope ? 3 : 2)
  }

  @Test(arguments: ["; Max-Age=4", "EXPIRES", "lifetime"])
  func `T40: a session is renewed before it expires`(says: String) throws {
    let stage = try CouchStage()
    stage.state.withLock { state in
      if says == "EXPIRES" {
        let format = DateFormatter()
        (format.locale, format.timeZone) = (Locale(identifier: "en_US_POSIX"), TimeZone(identifier: "GMT"))
        format.dateFormat = "EEE, dd-MMM-yyyy HH:mm:ss 'GMT'"
        state.attributes = "; Expires=\(format.string(from: Date(timeIntervalSinceNow: 5)))"
      } else if says != "lifetime" {
        state.attributes = says
      }
    }
    try stage.stage.start(stage.configuration(more: says == "lifetime" ? ", lifetime: 4s" : ""))
    let isRenewed = eventually {
      #expect((try? stage.stage.get().status) == 200)
      return stage.logins.count > 1
    }
    #expect(isRenewed)
    // Every request has a session, and no request was retried.
    #expect(stage.requests.allSatisfy { $0.contains("Cookie: AuthSession=") })
    #expect(!stage.log.contains(.request, ["renewed": "true"]))
  }

  @Test func `T41: a wrong password is tried only once, until the password changes`() throws {
    let stage = try CouchStage()
    try stage.stage.scratch.write("couch.password", "wrong\n")
    try stage.stage.start(stage.configuration())
    for _ in 0..<5 { #expect(try stage.stage.get().isRefused("login-required")) }
    #expect(stage.logins.count == 1 && stage.requests.isEmpty)
    #expect(stage.log.wait(for: .loginRequired) && stage.log.hides("QZQZ"))
    try stage.stage.scratch.write("couch.password", stage.state.withLock(\.password) + "\n")
    #expect(eventually { (try? stage.stage.get().status) == 200 })
    #expect(stage.logins.count == 2)
  }
}
