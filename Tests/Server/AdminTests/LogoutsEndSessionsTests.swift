import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// Sessions that bearerd opened with a form login (T46).
@Suite(.inProcess) struct LogoutsEndSessions {
  @Test(arguments: [1, 3])
  func `T46: after a logout, only a new password or a reload starts another session`(workers: Int) throws {
    let couch = try CouchStage()
    let configuration = couch.configuration(workers: workers)
    try couch.stage.start(configuration)
    #expect(try couch.stage.get().status == 200)
    let report = try couch.stage.logOut()
    #expect(report["kind"] as? String == "login" && report["store"] == nil)
    // Also if an earlier response sets the cookie again.
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

  @Test func `T46: a cookie that the upstream sets during a logout is discarded`() throws {
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
