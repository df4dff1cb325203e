import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// The credential's session cookie is separate from the cookies of clients and of other upstreams (T34, T45).
@Suite(.inProcess) struct SessionCookiesStayApart {
  private static let mine =
    "Cookie: a=1; AuthSession=mine; b=\"x\"\r\ncookie: authsession=other; c=3, AuthSession = x; %41uthSession=y\r\n"

  @Test(arguments: [true, false])
  func `T45: a client's session cookie is removed, and other cookies are sent only with cookies: pass`(passes: Bool)
    throws
  {
    let stage = try CouchStage()
    try stage.stage.start(stage.configuration(service: passes ? "cookies: pass" : ""))
    #expect(try stage.stage.get(fields: Self.mine).status == 200)
    let line = (passes ? "a=1; b=\"x\"; " : "") + "AuthSession=\(stage.stage.canary)"
    #expect(stage.requests.first?.contains("\r\nCookie: \(line)\r\n") == true)
    #expect(stage.requests.first?.lowercased().components(separatedBy: "cookie:").count == 2)
    stage.assertSecrets(times: 1)
  }

  @Test(arguments: [true, false])
  func `T34: the client gets no session cookie, and other cookies only with cookies: pass`(passes: Bool)
    throws
  {
    let stage = try CouchStage()
    stage.state.withLock {
      $0.fields =
        "Set-Cookie: seen=1; Path=/base/\r\nSet-Cookie: AuthSession=\(stage.stage.canary); Path=/\r\nset-cookie: AUTHSESSION=x\r\n"
    }
    try stage.stage.start(stage.configuration(service: passes ? "cookies: pass" : ""))
    for _ in 0..<3 {
      let response = try stage.stage.get()
      #expect(response.status == 200)
      #expect(response.head.contains("Set-Cookie: seen=1; Path=/api/") == passes)
      #expect(!response.head.lowercased().contains("authsession"))
    }
    // The upstream's Set-Cookie fields do not end bearerd's session.
    #expect(stage.logins.count == 1)
    stage.assertSecrets(times: 3)
  }

  @Test(arguments: [1, 2])
  func `T34: a new session cookie of the upstream replaces the old one`(workers: Int) throws {
    let stage = try CouchStage()
    let next = "FRESH-" + UUID().uuidString
    stage.state.withLock {
      $0.good = [next]
      $0.fields = "Set-Cookie: AuthSession=\(next); Version=1; Path=/; HttpOnly\r\n"
    }
    try stage.stage.start(stage.configuration(workers: workers))
    #expect(
      eventually {
        (try? stage.stage.get().status) == 200 && stage.requests.last?.contains("AuthSession=\(next)") == true
      })
    #expect(stage.logins.count == 1)
    stage.stage.assertCanary(times: 0, as: "Set-Cookie: AuthSession", secret: next + "x")
    #expect(stage.log.hides(next))
  }

  @Test func `T45: a client's own login does not change bearerd's session`() throws {
    let stage = try CouchStage()
    stage.state.withLock { $0.fields = "Set-Cookie: AuthSession=EVIL; Path=/\r\n" }
    try stage.stage.start(stage.configuration(service: "cookies: pass"))
    for _ in 0..<3 {
      let response = try stage.stage.request(
        "POST /api/login HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\n\r\n", body: "me")
      #expect(response.status == 200 && !response.head.contains("EVIL"))
    }
    #expect(!stage.stage.recorded.contains("EVIL"))
    stage.assertSecrets(times: 3)
  }

  @Test func `T34: other upstreams do not get the session cookie`() throws {
    let stage = try CouchStage()
    let other = try UpstreamServer(
      chain: [Stage.leaf(issuer: stage.stage.ca)],
      handler: UpstreamServer.httpHandler(response: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    defer { other.stop() }
    try stage.stage.start(
      stage.configuration(
        service: "cookies: pass",
        services: """
            other:
              upstream: https://localhost:\(other.port)/
              ca_file: ca.pem
              credential: none
              cookies: pass
          """))
    #expect(try stage.stage.get().status == 200)
    #expect(try stage.stage.get("/other/x", fields: "Cookie: a=1\r\n").status == 200)
    let text = other.records.map { String(decoding: $0.bytes, as: UTF8.self) }.joined()
    #expect(text.contains("Cookie: a=1\r\n") && !text.contains("AuthSession") && !text.contains(stage.stage.canary))
    stage.assertSecrets(times: 1)
  }
}
