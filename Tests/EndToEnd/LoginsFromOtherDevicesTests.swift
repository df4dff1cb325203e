import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A person logs in from another device (RFC 8628): what `bearerctl login` shows, and what becomes of it.
@Suite(.waits) struct LoginsFromOtherDevices {
  @Test func `explain and status say that somebody has to log in, and how`() throws {
    let stage = try TokenStage()
    stage.tokens.answers([TokenStage.deviceAnswer(), stage.granted])
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
    #expect(person.ends() == 0)
    let after = try run(explain)
    #expect(after.status == 0 && !after.output.contains("login-required"), "\(after)")
    stage.assertLogin([person], times: 0)
  }

  @Test(arguments: [SIGINT, SIGKILL])
  func `whoever goes away ends the login`(signal: Int32) throws {
    let stage = try TokenStage()
    stage.tokens.answers([TokenStage.deviceAnswer("GONE-code"), TokenStage.pending])
    try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.sees("waiting: ") && stage.tokens.waitForRequests(2))
    person.leaves(signal)
    #expect(person.ends() == -signal)
    #expect(stage.log.wait(for: .loginCancelled, ["credential": "canary"]))
    let count = stage.tokens.requests.count
    stage.tokens.answers([TokenStage.deviceAnswer(), TokenStage.pending, stage.granted])
    let next = try Person(stage)
    #expect(next.ends() == 0)
    let codes = stage.tokens.forms[count...].map { $0["device_code"] }
    #expect(codes == [nil, TokenStage.deviceCode, TokenStage.deviceCode], "the first one is asked about no more")
    #expect(try stage.stage.get().status == 200)
    stage.assertLogin([person, next], times: 1)
  }

  @Test(.enabled(if: isRoot && !isSanitized, "only root sees the memory of others"))
  func `T38: what a login brought lies in memory for secrets, and nowhere else`() throws {
    let stage = try TokenStage()
    stage.tokens.answers([TokenStage.deviceAnswer(), TokenStage.pending, stage.granted])
    let daemon = try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.ends() == 0)
    #expect(try ForeignMemory.places(of: stage.stage.scratch.path, in: daemon.pid) != [], "it can be seen")
    for secret in [TokenStage.deviceCode, stage.refresh, stage.clientSecret] {
      #expect(try ForeignMemory.places(of: secret, in: daemon.pid) == [])
    }
    stage.assertLogin([person], times: 0)
  }
}
