import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct LoginAfterLogoutTests {
  /// - Parameter isPending: Whether the user has not entered the code yet.
  private func scriptResponses(_ stage: TokenStage, isPending: Bool = false) {
    let granted = stage.granted
    let onDecision: @Sendable (UpstreamRequest) -> TokenServer.Response? = { request in
      if request.text.hasPrefix("POST /oauth2/device ") { return TokenStage.deviceResponse() }
      if request.text.hasPrefix("POST /oauth2/revoke ") { return TokenStage.revoked }
      return isPending ? TokenStage.pending : granted
    }
    stage.tokens.onDecision.withLock { $0 = onDecision }
  }

  @Test(arguments: [1, 2])
  func `T46: a login after a logout works immediately and after a restart`(workers: Int) throws {
    let stage = try TokenStage()
    scriptResponses(stage)
    func start() throws { try stage.start(stage.device, more: stage.revocation, workers: workers) }
    try start()
    var people = [try Person(stage)]
    #expect(people[0].waitForExit() == 0, "\(people[0].text)")
    #expect(try stage.stage.get().status == 200)
    let report = try stage.stage.logOut()
    #expect(report["login"] as? Bool == true)
    #expect(report.revoked == [["refresh_token", ""], ["access_token", ""]])
    #expect(stage.revokedTokens == [["refresh_token", stage.refresh], ["access_token", stage.stage.canary]])
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.stored.hasSuffix("\nlogged_out\n"))
    // Also without a restart in between.
    for isRestarted in [false, true] {
      if isRestarted {
        try stage.stage.logOut()
        #expect(stage.stage.daemon!.stop() == 0)
        try start()
        #expect(stage.log.wait(for: .loginRequired, ["credential": "canary", "detail": .present]))
      }
      #expect(try stage.stage.get().isRefused("login-required"))
      people.append(try Person(stage))
      #expect(people.last?.waitForExit() == 0, "\(people.last?.text ?? "")")
      #expect(try stage.stage.get().status == 200)
      #expect(stage.stored.contains(stage.refresh))
    }
    #expect(stage.stage.daemon!.stop() == 0)
    try start()
    #expect(try stage.stage.get().status == 200)
    stage.assertLogin(people, times: 4)
  }

  /// The server has granted tokens, but its response has not arrived.
  @Test(arguments: [1, 2])
  func `T46: tokens of a login in progress are revoked by a logout`(workers: Int) throws {
    let stage = try TokenStage()
    let (asked, gate) = (Gate(), Gate())
    let granted = stage.granted
    let onDecision: @Sendable (UpstreamRequest) -> TokenServer.Response? = { request in
      if request.text.hasPrefix("POST /oauth2/device ") { return TokenStage.deviceResponse() }
      if request.text.hasPrefix("POST /oauth2/revoke ") { return TokenStage.revoked }
      asked.open()
      gate.pass()
      return granted
    }
    stage.tokens.onDecision.withLock { $0 = onDecision }
    try stage.start(stage.device, more: stage.revocation, workers: workers)
    let person = try Person(stage)
    #expect(asked.pass())
    let asking = try LocalClient(unix: stage.stage.scratch.path + "/control.sock")
    try asking.send("logout canary\n")
    #expect(person.waitForExit() == 1, "\(person.text)")
    gate.open(times: 4)
    while try !asking.isAtEnd() { try asking.drain() }
    #expect(asking.received.starts(with: Array("ok\n".utf8)))
    #expect(stage.revokedTokens == [["refresh_token", stage.refresh], ["access_token", stage.stage.canary]])
    #expect(try stage.stage.get().isRefused("login-required"))
    stage.assertLogin([person], times: 0)
  }

  @Test(arguments: [1, 3])
  func `T25: a second login reuses no connection or TLS session of the first login`(workers: Int) throws {
    let stage = try TokenStage()
    scriptResponses(stage)
    try stage.start(stage.device, workers: workers)
    var people = [try Person(stage)]
    #expect(people[0].waitForExit() == 0, "\(people[0].text)")
    for _ in 1...3 { #expect(try stage.stage.get().status == 200) }
    let before = stage.stage.upstream.records.count
    people.append(try Person(stage))
    #expect(people[1].waitForExit() == 0, "\(people[1].text)")
    for _ in 1...3 { #expect(try stage.stage.get().status == 200) }
    let after = stage.stage.upstream.records.dropFirst(before)
    #expect(before > 0 && !after.isEmpty && !after.contains(where: \.isResumed))
    #expect(stage.stage.upstream.wait { $0.prefix(before).allSatisfy(\.isFinished) })
    stage.assertLogin(people, times: 6)
  }

  @Test func `T46: a logout ends the login in progress and its bearerctl login`() throws {
    let stage = try TokenStage()
    scriptResponses(stage, isPending: true)
    try stage.start(stage.device, more: stage.revocation)
    let person = try Person(stage)
    #expect(person.sees(TokenStage.userCode))
    try stage.stage.logOut()
    #expect(person.waitForExit() == 1)
    #expect(person.text.contains("it was logged out in the meantime"), "\(person.text)")
    #expect(try stage.stage.get().isRefused("login-required"))
    stage.assertLogin([person], times: 0)
  }
}
