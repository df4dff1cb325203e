import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A person logs in with another device (RFC 8628).
@Suite(.waits) struct DeviceLoginTests {
  @Test func `explain and status name the command for a login that is needed`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse(), stage.granted])
    try stage.start(stage.device)
    #expect(try stage.stage.get().isRefused("login-required"))
    let bearerctl = RunningDaemon.binary("bearerctl")
    let url = "http://localhost:\(try stage.stage.daemon!.port())/api/x"
    let explain = [bearerctl, "explain", "GET", url, "--config", stage.stage.scratch.path + "/bearerd.yaml"]
    let before = try run(explain)
    #expect(before.status == 1, "\(before)")
    #expect(before.output.contains("bearerctl login canary") && before.output.contains("login-required"), "\(before)")
    let status = try run([bearerctl, "status", "--control", stage.stage.scratch.path + "/control.sock"])
    #expect(status.output.contains("canary: there is no login yet: run bearerctl login canary"), "\(status)")
    let person = try Person(stage)
    #expect(person.waitForExit() == 0)
    let after = try run(explain)
    #expect(after.status == 0 && !after.output.contains("login-required"), "\(after)")
    stage.assertLogin([person], times: 0)
  }

  @Test(arguments: [SIGINT, SIGKILL])
  func `the login is canceled when bearerctl login ends`(signal: Int32) throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse("GONE-code"), TokenStage.pending])
    try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.sees("waiting: ") && stage.tokens.waitForRequests(2))
    person.interrupt(signal)
    #expect(person.waitForExit() == -signal)
    #expect(stage.log.wait(for: .loginCancelled, ["credential": "canary"]))
    let count = stage.tokens.requests.count
    stage.tokens.respond(with: [TokenStage.deviceResponse(), TokenStage.pending, stage.granted])
    let next = try Person(stage)
    #expect(next.waitForExit() == 0)
    let codes = stage.tokens.forms[count...].map { $0["device_code"] }
    #expect(codes == [nil, TokenStage.deviceCode, TokenStage.deviceCode], "the first one is asked about no more")
    #expect(try stage.stage.get().status == 200)
    stage.assertLogin([person, next], times: 1)
  }

  @Test(.enabled(if: isRoot && !isSanitized, "only root sees the memory of others"))
  func `T38: the secrets of a device login are only in memory for secrets`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse(), TokenStage.pending, stage.granted])
    let daemon = try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.waitForExit() == 0)
    #expect(try ForeignMemory.mappings(containing: stage.stage.scratch.path, in: daemon.pid) != [], "it can be seen")
    for secret in [TokenStage.deviceCode, stage.refresh, stage.clientSecret] {
      #expect(try ForeignMemory.mappings(containing: secret, in: daemon.pid) == [])
    }
    stage.assertLogin([person], times: 0)
  }
}
