import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// A person logs in with a browser, which is redirected to this machine (RFC 6749 section 4.1, RFC 7636, RFC 8252, RFC
/// 9207).
@Suite(.waits) struct BrowserLoginTests {
  private func callback(_ query: [String: String], _ more: String = "") -> String {
    "/callback?code=\(TokenStage.code)&state=\(query["state"] ?? "")\(more)"
  }

  @Test func `T38: a daemon of a person accepts the callback only from that person's browser`() throws {
    guard isRoot else {
      Issue.record("not tried: only root can start a daemon and a browser as two users", severity: .warning)
      return
    }
    let (stage, person) = (try TokenStage(), 7_117)
    stage.tokens.respond(with: stage.granted)
    _ = try run(["chown", "-R", "\(person):\(person)", stage.stage.scratch.path])
    try stage.stage.start(
      stage.configuration(stage.browser()),
      wrapper: ["/usr/bin/setpriv"] + Stage.user(person).dropFirst() + ["--"])
    let login = try Person(stage)
    let query = try login.query()
    #expect(try stage.visit(query, callback(query)).status == 403)
    let url = (query["redirect_uri"] ?? "").replacing("/callback", with: callback(query))
    let curl = ["curl", "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out", "%{http_code}", url]
    #expect(try run(Stage.user(person + 1) + curl).output == "403")
    #expect(stage.tokens.requests.isEmpty)
    #expect(try run(Stage.user(person) + curl).output == "200")
    #expect(login.waitForExit() == 0, "\(login.text)")
    stage.assertLogin([login], times: 0)
  }
}
