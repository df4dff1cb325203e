import Foundation
import Log
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

/// `bearerctl logout --all` and `bearerctl logout --service` (T46).
@Suite(.inProcess) struct LogoutsOfSeveral {
  private func stage(workers: Int = 1) throws -> TokenStage {
    let stage = try TokenStage()
    let text = try stage.stage.addSecondCredential(
      in: stage.configuration(TokenStage.person, more: stage.revocation, workers: workers))
    let trust = "ca_file: ca.pem, pins: [\(stage.stage.leaf.pin), \(stage.stage.backup.pin)]"
    try stage.stage.scratch.write("third.key", "third-KEY-12345678")
    let more = """
        third:
          origins: ["\(stage.stage.origin)"]
          headers: [{ name: X-Key, value: { file: third.key } }]
      services:
        both: { upstream: \(stage.stage.origin)/base/, \(trust), credential: [second, third] }
        open: { upstream: \(stage.stage.origin)/base/, \(trust), credential: none }

      """
    try stage.stage.start(text.replacing("services:\n", with: more))
    return stage
  }

  private func logOut(_ stage: TokenStage, _ command: String) throws -> (done: [String], failed: [String]) {
    let text = try stage.stage.control(command)
    guard text.hasPrefix("ok\n") else { throw TestFailure(text) }
    let document = try #require(
      try JSONSerialization.jsonObject(with: Data(text.utf8.dropFirst(3))) as? [String: [[String: Any]]])
    let names = { (key: String) in (document[key] ?? []).compactMap { $0["credential"] as? String } }
    return (names("credentials"), names("failed"))
  }

  private func isLoggedOut(_ stage: TokenStage, _ service: String) throws -> Bool {
    let response = try stage.stage.get("/\(service)/x")
    #expect(response.status == 200 || response.isRefused("login-required"), "\(response.text)")
    return response.status != 200
  }

  @Test func `T46: a logout of a service ends all credentials of its rules, and no others`() throws {
    let stage = try stage(workers: 2)
    let services = ["api", "second", "both", "open"]
    for service in services { #expect(try !isLoggedOut(stage, service)) }
    #expect(try logOut(stage, "logout-service open") == ([], []))
    #expect(try logOut(stage, "logout-service both") == (["second", "third"], []))
    #expect(try services.map { try isLoggedOut(stage, $0) } == [false, true, true, false])
    let unknown = try stage.stage.control("logout-service bot")
    #expect(unknown.hasPrefix("error\n") && unknown.contains("\"both\""), "\(unknown)")
    #expect(try stage.stage.control("logout-service canary").hasPrefix("error\n"))
  }

  @Test func `T46: a logout of all credentials reports each result, also after a failed revocation`() throws {
    let stage = try stage()
    stage.enableRevocation(.error(503, "temporarily_unavailable"))
    #expect(try !isLoggedOut(stage, "api"))
    #expect(try logOut(stage, "logout-all") == (["canary", "second", "third"], []))
    let services = ["api", "second", "both", "open"]
    #expect(try services.map { try isLoggedOut(stage, $0) } == [true, true, true, false])
    #expect(stage.log.wait(for: .loggedOut, count: 3))
    #expect(stage.log.wait(for: .tokenNotRevoked, ["credential": "canary"], count: 2))
  }
}
