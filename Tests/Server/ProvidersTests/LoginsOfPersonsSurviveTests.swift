import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A person's login is on disk before anything goes out with it, and outlives whatever ends bearerd (T39).
@Suite(.inProcess) struct LoginsOfPersonsSurvive {
  private func login(_ stage: TokenStage, _ answer: TokenServer.Answer? = nil) throws -> Person {
    stage.tokens.answers([TokenStage.deviceAnswer(), answer ?? stage.granted])
    return try Person(stage)
  }

  private var refreshing: String { "refresh_token" }

  @Test func `T39: the next start goes on with the login`() throws {
    let stage = try TokenStage()
    let daemon = try stage.start(stage.device)
    let person = try login(stage)
    #expect(person.ends() == 0 && daemon.stop() == 0)
    try stage.start(stage.device)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.forms.last == ["grant_type": refreshing, "refresh_token": stage.refresh])
    #expect(stage.tokens.requests.count == 3)
    #expect(!stage.log.contains(.loginRequired))
    stage.assertLogin([person], times: 1)
  }

  enum Moment: CaseIterable { case answered, onDisk, told, used }

  @Test func `a login ends what was wrong with the one before`() throws {
    let stage = try TokenStage()
    let daemon = try stage.start(stage.device)
    let first = try login(stage, .token(stage.stage.canary, expiresIn: 3600, refresh: "REVOKED-refresh"))
    #expect(first.ends() == 0 && daemon.stop() == 0)
    stage.tokens.answers(.error(400, "invalid_grant"))
    try stage.start(stage.device)
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.log.wait(for: .loginRequired, ["credential": "canary"]))
    let second = try login(stage)
    #expect(second.ends() == 0)
    #expect(try stage.stage.get().status == 200, "at once")
    #expect(stage.stored.contains(stage.refresh) && !stage.stored.contains("REVOKED"))
    stage.assertLogin([first, second], times: 1)
  }

  @Test func `T39: without a place to write it down, a login is not used, and a person hears so`() throws {
    let stage = try TokenStage()
    try stage.start(stage.device.replacing("canary.login", with: "missing/canary.login"))
    let person = try login(stage)
    #expect(person.ends() == 1 && person.text.contains("could not be stored"), "\(person.text)")
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    try FileManager.default.createDirectory(
      atPath: stage.stage.scratch.path + "/missing", withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    let good = try stage.ask(until: { $0.status == 200 }) { #expect($0.isRefused("token-unavailable")) }
    #expect(good != nil && stage.tokens.requests.count == 2, "what was granted was kept")
    stage.assertLogin([person], times: 1)
  }

  @Test func `T39: a damaged login is nobody's, and the next one takes its place`() throws {
    let stage = try TokenStage()
    try stage.stage.scratch.write("canary.login", "bearerd login 1\nfor nobody\n")
    try stage.start(stage.device)
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    #expect(
      stage.log.wait(for: .tokenFailed, ["credential": "canary", "detail": .naming("canary.login")])
        && stage.tokens.requests.isEmpty)
    let person = try login(stage)
    #expect(person.ends() == 0, "\(person.text)")
    #expect(try stage.stage.get().status == 200)
    #expect(stage.stored.contains(stage.refresh))
    stage.assertLogin([person], times: 1)
  }

  @Test func `where a server gives no refresh token, the token itself is kept for as long as it counts`() throws {
    let stage = try TokenStage()
    let daemon = try stage.start(stage.device)
    let person = try login(stage, .token(stage.stage.canary, expiresIn: 3600))
    #expect(person.ends() == 0 && person.text.contains("cannot be renewed"), "\(person.text)")
    #expect(stage.stored.contains("\naccess_token ") && daemon.stop() == 0)
    try stage.start(stage.device)
    for _ in 0..<2 { #expect(try stage.stage.get().status == 200) }
    #expect(stage.tokens.requests.count == 2, "nobody was asked")
    stage.assertLogin([person], times: 2)
  }

  @Test func `a kept token that has expired is nobody's login`() throws {
    let stage = try TokenStage()
    let daemon = try stage.start(stage.device)
    let person = try login(stage, .token(stage.stage.canary, expiresIn: 1))
    #expect(person.ends() == 0 && daemon.stop() == 0)
    // Of the same clock as the daemon's.
    let end = time(nil) + 2
    #expect(eventually { time(nil) > end })
    try stage.start(stage.device)
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.tokens.requests.count == 2)
    stage.assertLogin([person], times: 0)
  }

  @Test func `a kept token that the API rejects is not taken again`() throws {
    let rejects = Guarded(false)
    let stage = try TokenStage { connection in
      while (try? connection.readRequest()) ?? nil != nil {
        let status = rejects.withLock { $0 } ? "401 X\r\nWWW-Authenticate: Bearer error=\"invalid_token\"" : "200 OK"
        try? connection.write(Array("HTTP/1.1 \(status)\r\nContent-Length: 2\r\n\r\nhi".utf8))
      }
    }
    let daemon = try stage.start(stage.device)
    let person = try login(stage, .token(stage.stage.canary, expiresIn: 3600))
    #expect(person.ends() == 0 && daemon.stop() == 0)
    try stage.start(stage.device)
    #expect(try stage.stage.get().status == 200)
    rejects.withLock { $0 = true }
    #expect(try stage.stage.get().status == 401)
    #expect(stage.log.wait(for: .loginRequired, ["credential": "canary"]))
    #expect(stage.tokens.requests.count == 2)
    stage.assertLogin([person], times: 2)
  }

  @Test func `a reload that changes the credential ends its login, and another one does not`() throws {
    let stage = try TokenStage()
    stage.tokens.answers([TokenStage.deviceAnswer(), TokenStage.pending])
    try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.sees("progress code "))
    try stage.stage.reload(stage.configuration(stage.device) + "\n# nothing\n")
    #expect(stage.tokens.waitForRequests(stage.tokens.requests.count + 1))
    try stage.stage.reload(stage.configuration(stage.device, more: ", audience: other"))
    #expect(person.ends() == 1 && person.text.contains("has changed in the meantime"), "\(person.text)")
    stage.assertLogin([person], times: 0)
  }

  @Test func `a stop ends a login`() throws {
    let stage = try TokenStage()
    stage.tokens.answers([TokenStage.deviceAnswer(), TokenStage.pending])
    let daemon = try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.sees("progress code "))
    #expect(daemon.stop() == 0)
    #expect(person.ends() == 1 && person.text.contains("bearerd is stopping"), "\(person.text)")
    stage.assertLogin([person], times: 0)
  }
}
