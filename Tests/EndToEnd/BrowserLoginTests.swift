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

  /// The code challenge of RFC 7636 section 4.2, computed by OpenSSL.
  private func challenge(of verifier: String) throws -> String {
    let digest = try run(["sh", "-c", "printf %s '\(verifier)' | openssl dgst -sha256 -binary | base64 -w0"]).output
    return digest.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// Returns a free port outside of the range from which the kernel chooses ports.
  private func freePort() throws -> UInt16 {
    let ports = (0..<100).lazy.map { _ in UInt16.random(in: 20_000..<30_000) }
    return try #require(ports.first { Squatting(.loopback4, port: $0) != nil })
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

  @Test(.enabled(if: isRoot && !isSanitized, "only root sees the memory of others"))
  func `T38: the secrets of a browser login are only in memory for secrets`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: stage.granted)
    let daemon = try stage.start(stage.browser())
    let person = try Person(stage)
    let query = try person.query()
    // Later reads do not overwrite the end of such a long request.
    let padding = String(repeating: "x", count: 14_000)
    let target = callback(query).replacing("?", with: "?x=\(padding)&")
    #expect(try stage.visit(query, target).status == 200)
    #expect(person.waitForExit() == 0)
    let verifier = try #require(stage.tokens.forms.first?["code_verifier"])
    #expect(try ForeignMemory.mappings(containing: stage.stage.scratch.path, in: daemon.pid) != [], "it can be seen")
    for secret in [TokenStage.code, verifier, stage.refresh] {
      #expect(try ForeignMemory.mappings(containing: secret, in: daemon.pid) == [])
    }
    stage.assertLogin([person], times: 0)
  }
}
