import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// After a logout, a secret of a file, a program or a grant without a login is not used until the secret changes or the
/// configuration is reloaded. The files stay as they are (T46).
@Suite(.inProcess) struct LogoutsDisableSecrets {
  private static let control = "control: control.sock\n"

  @Test(arguments: [1, 3])
  func `T46: a logged out secret of a file is not used until the file has a new value`(workers: Int) throws {
    let stage = try Stage()
    try stage.start(
      try stage.addSecondCredential(in: stage.configuration(more: Self.control + "workers: \(workers)\n")))
    let clients = try (0..<6).map { _ in try stage.client() }
    func sendAll(_ path: String = "/api/x") throws -> [LocalClient.Response] {
      for client in clients { try client.send(stage.head("GET", path)) }
      return try clients.map { try $0.response() }
    }
    #expect(try sendAll().allSatisfy { $0.status == 200 })
    let report = try stage.logOut()
    #expect(report["login"] as? Bool == false && report.cut["idle"] ?? 0 > 0 && report["revoked"] == nil)
    #expect(try sendAll().allSatisfy { $0.isRefused("login-required") })
    // Writing the same value again does not count as a change.
    try stage.scratch.write("canary.token", stage.canary)
    for _ in 0..<3 { #expect(try sendAll().allSatisfy { $0.isRefused("login-required") }) }
    #expect(try sendAll("/second/x").allSatisfy { $0.status == 200 })
    try stage.scratch.write("canary.token", "CANARY-another\n")
    let isServed = eventually { (try? sendAll())?.allSatisfy { $0.status == 200 } ?? false }
    #expect(isServed)
    stage.assertCanary(times: 6)
  }

  @Test func `T46: no TLS session from before a logout is resumed`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: Self.control))
    #expect(try stage.get().status == 200)
    #expect(try stage.logOut().cut["resumable"] ?? 0 > 0)
    try stage.scratch.write("canary.token", "CANARY-another\n")
    let isServed = eventually { (try? stage.get().status) == 200 }
    #expect(isServed)
    #expect(stage.upstream.records.map(\.isResumed) == [false, false])
    stage.assertCanary(times: 1)
  }

  @Test func `T46: a logged out secret of a file is used again after a reload`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: Self.control))
    #expect(try stage.get().status == 200)
    try stage.logOut()
    #expect(try stage.get().isRefused("login-required"))
    try stage.reload(stage.configuration(more: Self.control))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 2)
  }

  /// A new value does not end the logout, because each run of the program may print a new value.
  @Test(arguments: [1, 2])
  func `T46: a logged out program does not run, and its secret is not used, until a reload`(workers: Int) throws {
    let scratch = try Scratch()
    let stage = try Stage()
    let helper = try scratch.write(
      "helper", "#!/bin/sh\necho run >> \(scratch.path)/$1\necho \"$2\"\n", mode: 0o700)
    let text = try stage.addSecondCredential(
      in: stage.configuration(
        credential: "bearer: { command: [\(helper), runs, \(stage.canary)], ttl: 1s }",
        more: Self.control + "workers: \(workers)\n")
    ).replacing("file: second.token", with: "command: [\(helper), others, \(Stage.secondSecret)], ttl: 1s")
    func runs(_ name: String = "runs") -> Int {
      let text = (try? String(contentsOfFile: scratch.path + "/" + name, encoding: .utf8)) ?? ""
      return text.components(separatedBy: "run\n").count - 1
    }
    try stage.start(text)
    #expect(try stage.get().status == 200)
    #expect(eventually { runs() > 1 }, "it runs ahead of each end")
    try stage.logOut()
    #expect(try stage.get().isRefused("login-required"))
    // The program may have been running at the logout.
    let (before, others) = (runs(), runs("others"))
    #expect(eventually { runs("others") > others + 2 })
    #expect(runs() <= before + 1)
    #expect(try stage.get().isRefused("login-required"))
    try stage.reload(text)
    let isServed = eventually { (try? stage.get().status) == 200 }
    #expect(isServed)
    stage.assertCanary(times: 2)
  }

  @Test func `T46: a logout of a grant without a login revokes the token, and requests no new one until a reload`()
    throws
  {
    let stage = try TokenStage()
    stage.enableRevocation()
    try stage.start(more: stage.revocation)
    #expect(try stage.stage.get().status == 200)
    let report = try stage.stage.logOut()
    #expect(report["login"] as? Bool == false)
    #expect(report.revoked == [["access_token", ""]])
    #expect(stage.revokedTokens == [["access_token", stage.stage.canary]])
    for _ in 0..<3 { #expect(try stage.stage.get().isRefused("login-required")) }
    #expect(stage.tokens.requests.count == 2)
    try stage.stage.reload(stage.configuration(more: stage.revocation))
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.requests.count == 3)
    // A new client secret also ends the logout.
    try stage.stage.logOut()
    try stage.stage.scratch.write("client.secret", "ANOTHER-secret")
    let response = try stage.ask(until: { $0.status == 200 }) { #expect($0.status == 503) }
    #expect(response != nil)
    stage.assertSecrets(times: 3)
  }

  @Test func `a logout of an unknown credential suggests the right name`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: Self.control))
    #expect(try stage.control("logout canari").contains("did you mean \"canary\"?"))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1)
  }
}
