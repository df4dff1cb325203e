import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// A session that a login by form has begun ends with a logout, and no other one is begun before something changes (T46).
@Suite(.inProcess) struct LogoutsOfSessions {
  @Test(arguments: [1, 3])
  func `T46: no session is used or begun, until the password is another one or a reload wants it`(workers: Int) throws {
    let couch = try CouchStage()
    let configuration = couch.configuration(workers: workers)
    try couch.stage.start(configuration)
    #expect(try couch.stage.get().status == 200)
    let report = try couch.stage.logOut()
    #expect(report["kind"] as? String == "login" && report["store"] == nil)
    // Also when an answer of before sets the cookie anew.
    for _ in 1...6 { #expect(try couch.stage.get().isRefused("login-required")) }
    #expect(couch.logins.count == 1)
    try couch.stage.reload(configuration + "\n# again\n")
    #expect(try eventually { try couch.stage.get().status == 200 })
    #expect(couch.logins.count == 2)

    try couch.stage.logOut()
    #expect(try couch.stage.get().isRefused("login-required"))
    couch.state.withLock { $0.password = "another" }
    try couch.stage.scratch.write("couch.password", "another\n")
    #expect(try eventually { try couch.stage.get().status == 200 })
    #expect(couch.logins.count == 3)
  }

  @Test func `T46: a cookie that an upstream sets anew while somebody logs out is for nobody`() throws {
    let couch = try CouchStage()
    try couch.stage.start(couch.configuration())
    #expect(try couch.stage.get().status == 200)
    couch.state.withLock {
      $0.good.insert("FRESHER-value")
      $0.fields = "Set-Cookie: AuthSession=FRESHER-value; Path=/\r\n"
    }
    let clients = try (1...20).map { _ in try couch.stage.client() }
    for client in clients { try client.send(couch.stage.head("GET", "/api/x")) }
    try couch.stage.logOut()
    for client in clients { _ = try? client.response() }
    for _ in 1...6 { #expect(try couch.stage.get().isRefused("login-required")) }
    #expect(couch.logins.count == 1)
  }
}
