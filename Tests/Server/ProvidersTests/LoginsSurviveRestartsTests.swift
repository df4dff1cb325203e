import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A login is on disk before its first use, and survives restarts (T39).
@Suite(.inProcess) struct LoginsSurviveRestarts {
  private var refreshing: String { "refresh_token" }

  @Test func `T39: a restart uses the stored login`() throws {
    let stage = try TokenStage()
    let daemon = try stage.start(stage.device)
    let person = try Person.login(stage)
    #expect(person.waitForExit() == 0 && daemon.stop() == 0)
    try stage.start(stage.device)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.forms.last == ["grant_type": refreshing, "refresh_token": stage.refresh])
    #expect(stage.tokens.requests.count == 3)
    #expect(!stage.log.contains(.loginRequired))
    stage.assertLogin([person], times: 1)
  }

  @Test func `a login in memory writes no file, lasts over reloads and ends with a restart`() throws {
    let stage = try TokenStage()
    let memory = stage.device.replacing("store: canary.login", with: "store: memory")
    let files = { try FileManager.default.contentsOfDirectory(atPath: stage.stage.scratch.path).sorted() }
    let daemon = try stage.start(memory)
    let before = try files()
    let person = try Person.login(stage)
    #expect(person.waitForExit() == 0 && person.text.contains("only in memory"), "\(person.text)")
    #expect(try stage.stage.get().status == 200)
    stage.tokens.respond(with: stage.granted)
    // Other settings make another refresher, which needs the refresh token.
    try stage.stage.reload(stage.configuration(memory, more: ", skew: 5s"))
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    #expect(stage.tokens.forms.last == ["grant_type": refreshing, "refresh_token": stage.refresh])
    #expect(try files() == before)
    #expect(daemon.stop() == 0)
    let asked = stage.tokens.requests.count
    try stage.start(memory)
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.tokens.requests.count == asked)
    #expect(try files().filter { $0.contains("memory") || $0.hasSuffix(".login") }.isEmpty)
    stage.assertLogin([person], times: 2)
  }

  @Test func `a logout of a login in memory lasts over reloads with other settings`() throws {
    let stage = try TokenStage()
    let memory = stage.device.replacing("store: canary.login", with: "store: memory")
    try stage.start(memory)
    let person = try Person.login(stage)
    #expect(person.waitForExit() == 0)
    #expect(try stage.stage.get().status == 200)
    _ = try stage.stage.logOut()
    for skew in [5, 6] {
      try stage.stage.reload(stage.configuration(memory, more: ", skew: \(skew)s"))
      #expect(try stage.stage.get().isRefused("login-required"))
    }
    #expect(stage.tokens.requests.count == 2)
    stage.assertLogin([person], times: 1)
  }

  @Test func `a new login replaces a revoked login`() throws {
    let stage = try TokenStage()
    let daemon = try stage.start(stage.device)
    let first = try Person.login(stage, .token(stage.stage.canary, expiresIn: 3600, refresh: "REVOKED-refresh"))
    #expect(first.waitForExit() == 0 && daemon.stop() == 0)
    stage.tokens.respond(with: .error(400, "invalid_grant"))
    try stage.start(stage.device)
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.log.wait(for: .loginRequired, ["credential": "canary"]))
    let second = try Person.login(stage)
    #expect(second.waitForExit() == 0)
    #expect(try stage.stage.get().status == 200, "at once")
    #expect(stage.stored.contains(stage.refresh) && !stage.stored.contains("REVOKED"))
    stage.assertLogin([first, second], times: 1)
  }

  @Test func `T39: a login that cannot be stored is reported, and used once the directory exists`() throws {
    let stage = try TokenStage()
    try stage.start(stage.device.replacing("canary.login", with: "missing/canary.login"))
    let person = try Person.login(stage)
    #expect(person.waitForExit() == 1 && person.text.contains("could not be stored"), "\(person.text)")
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    try FileManager.default.createDirectory(
      atPath: stage.stage.scratch.path + "/missing", withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    let good = try stage.ask(until: { $0.status == 200 }) { #expect($0.isRefused("token-unavailable")) }
    #expect(good != nil && stage.tokens.requests.count == 2, "what was granted was kept")
    stage.assertLogin([person], times: 1)
  }

  @Test func `T39: a damaged login file is not used, and the next login replaces the file`() throws {
    let stage = try TokenStage()
    try stage.stage.scratch.write("canary.login", "bearerd login 1\nfor nobody\n")
    try stage.start(stage.device)
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    #expect(
      stage.log.wait(for: .tokenFailed, ["credential": "canary", "detail": .naming("canary.login")])
        && stage.tokens.requests.isEmpty)
    let person = try Person.login(stage)
    #expect(person.waitForExit() == 0, "\(person.text)")
    #expect(try stage.stage.get().status == 200)
    #expect(stage.stored.contains(stage.refresh))
    stage.assertLogin([person], times: 1)
  }

  @Test func `without a refresh token the access token is stored until its expiry`() throws {
    let stage = try TokenStage()
    let daemon = try stage.start(stage.device)
    let person = try Person.login(stage, .token(stage.stage.canary, expiresIn: 3600))
    #expect(person.waitForExit() == 0 && person.text.contains("cannot be renewed"), "\(person.text)")
    #expect(stage.stored.contains("\naccess_token ") && daemon.stop() == 0)
    try stage.start(stage.device)
    for _ in 0..<2 { #expect(try stage.stage.get().status == 200) }
    #expect(stage.tokens.requests.count == 2, "nobody was asked")
    stage.assertLogin([person], times: 2)
  }

  @Test func `an expired stored access token requires a login`() throws {
    let stage = try TokenStage()
    let daemon = try stage.start(stage.device)
    let person = try Person.login(stage, .token(stage.stage.canary, expiresIn: 1))
    #expect(person.waitForExit() == 0 && daemon.stop() == 0)
    // The daemon uses the same clock.
    let end = time(nil) + 2
    #expect(eventually { time(nil) > end })
    try stage.start(stage.device)
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.tokens.requests.count == 2)
    stage.assertLogin([person], times: 0)
  }

  @Test func `a stored access token that the API rejects is not used again`() throws {
    let rejects = Guarded(false)
    let stage = try TokenStage { connection in
      while (try? connection.readRequest()) ?? nil != nil {
        let status = rejects.withLock { $0 } ? "401 X\r\nWWW-Authenticate: Bearer error=\"invalid_token\"" : "200 OK"
        try? connection.write(Array("HTTP/1.1 \(status)\r\nContent-Length: 2\r\n\r\nhi".utf8))
      }
    }
    let daemon = try stage.start(stage.device)
    let person = try Person.login(stage, .token(stage.stage.canary, expiresIn: 3600))
    #expect(person.waitForExit() == 0 && daemon.stop() == 0)
    try stage.start(stage.device)
    #expect(try stage.stage.get().status == 200)
    rejects.withLock { $0 = true }
    #expect(try stage.stage.get().status == 401)
    #expect(stage.log.wait(for: .loginRequired, ["credential": "canary"]))
    #expect(stage.tokens.requests.count == 2)
    stage.assertLogin([person], times: 2)
  }

  @Test func `only a reload that changes the credential ends a login in progress`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse(), TokenStage.pending])
    try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.sees("progress code "))
    try stage.stage.reload(stage.configuration(stage.device) + "\n# nothing\n")
    #expect(stage.tokens.waitForRequests(stage.tokens.requests.count + 1))
    try stage.stage.reload(stage.configuration(stage.device, more: ", audience: other"))
    #expect(person.waitForExit() == 1 && person.text.contains("has changed in the meantime"), "\(person.text)")
    stage.assertLogin([person], times: 0)
  }

  @Test func `a stop ends a login in progress`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse(), TokenStage.pending])
    let daemon = try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.sees("progress code "))
    #expect(daemon.stop() == 0)
    #expect(person.waitForExit() == 1 && person.text.contains("bearerd is stopping"), "\(person.text)")
    stage.assertLogin([person], times: 0)
  }
}
