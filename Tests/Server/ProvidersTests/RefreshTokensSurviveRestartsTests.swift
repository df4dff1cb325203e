import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A new refresh token is stored on disk before the access token of the same response is used (T39).
@Suite(.inProcess) struct RefreshTokensSurviveRestarts {
  @Test func `T39: a new refresh token is stored with mode 0600 before the first request is sent`() throws {
    let path = Guarded("")
    let seen = Guarded<[String]>([])
    let stage = try TokenStage { connection in
      while (try? connection.readRequest()) ?? nil != nil {
        let text = (try? String(contentsOfFile: path.withLock { $0 }, encoding: .utf8)) ?? "nothing"
        seen.withLock { $0.append(text) }
        connection.respond("hello")
      }
    }
    path.withLock { $0 = stage.store }
    stage.tokens.respond(with: .token(stage.stage.canary, expiresIn: 3600, refresh: "SECOND-refresh"))
    try stage.start(TokenStage.person)
    #expect(try stage.stage.get().status == 200)
    #expect(seen.withLock { $0.count == 1 && $0[0].contains("SECOND-refresh") })
    let mode = try FileManager.default.attributesOfItem(atPath: stage.store)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    stage.assertSecrets(times: 1)
  }

  @Test func `T39: no request is sent while a new refresh token cannot be stored`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: .token(stage.stage.canary, expiresIn: 3600, refresh: "SECOND-refresh"))
    try stage.start(TokenStage.person.replacing("canary.login", with: "missing/canary.login"))
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    #expect(stage.stage.upstream.records.isEmpty)
    #expect(stage.log.wait(for: .loginNotStored, ["credential": "canary"]))
    try FileManager.default.createDirectory(
      atPath: stage.stage.scratch.path + "/missing", withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    let good = try stage.ask(until: { $0.status == 200 }) { #expect($0.isRefused("token-unavailable")) }
    #expect(good != nil)
    #expect(stage.tokens.requests.count == 1, "what was granted was kept")
    stage.assertSecrets(times: 1)
  }

  @Test func `T39: a stored refresh token is not used after the configured first token has changed`() throws {
    let stage = try TokenStage()
    stage.rotateRefreshTokens()
    let daemon = try stage.start(TokenStage.person)
    #expect(try stage.stage.get().status == 200)
    #expect(daemon.stop() == 0)
    try stage.stage.scratch.write("first.token", "ANOTHER-first")
    try stage.start(TokenStage.person)
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.tokens.forms.map { $0["refresh_token"] } == [stage.first, "ANOTHER-first"])
  }

  enum BadStore: CaseIterable { case open, directory, pipe, link, garbage }

  @Test(arguments: BadStore.allCases)
  func `T39: an unusable login file makes only its own credential unavailable`(kind: BadStore) throws {
    let stage = try TokenStage()
    stage.rotateRefreshTokens()
    let daemon = try stage.start(TokenStage.person)
    #expect(try stage.stage.get().status == 200)
    #expect(daemon.stop() == 0)
    #expect(rename(stage.store, stage.store + ".good") == 0)
    switch kind {
    case .open: try stage.stage.scratch.write("canary.login", "x", mode: 0o644)
    case .directory: mkdir(stage.store, 0o700)
    case .pipe: mkfifo(stage.store, 0o600)
    case .link: symlink(stage.store + ".good", stage.store)
    case .garbage: try stage.stage.scratch.write("canary.login", "garbage")
    }
    let other =
      "  plain:\n    origins: [\"\(stage.stage.origin)\"]\n    bearer: { file: plain.token }\nservices:\n"
      + "  plain: { upstream: \(stage.stage.origin)/, ca_file: ca.pem, credential: plain }\n"
    try stage.stage.scratch.write("plain.token", "PLAIN-secret")
    try stage.stage.start(stage.configuration(TokenStage.person).replacing("\nservices:\n", with: "\n" + other))
    #expect(try stage.stage.get("/plain/x").status == 200)
    #expect(try stage.stage.get().status == 503)
    #expect(stage.log.wait(for: .tokenFailed, ["credential": "canary", "detail": .naming("canary.login")]))
  }

  @Test func `T39: a login file that others can read is not used`() throws {
    let stage = try TokenStage()
    stage.rotateRefreshTokens()
    let daemon = try stage.start(TokenStage.person)
    #expect(try stage.stage.get().status == 200)
    chmod(stage.store, 0o644)
    #expect(daemon.stop() == 0)
    try stage.start(TokenStage.person)
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    #expect(stage.log.wait(for: .tokenFailed, ["credential": "canary", "detail": .naming(stage.store, "0644")]))
  }

  @Test(arguments: [false, true])
  func `T40: a refused refresh token is not sent again after a restart, until there is a new one`(isRotated: Bool)
    throws
  {
    let stage = try TokenStage()
    if isRotated { stage.rotateRefreshTokens() } else { stage.tokens.respond(with: .error(400, "invalid_grant")) }
    var daemon = try stage.start(TokenStage.person)
    if isRotated {
      #expect(try stage.stage.get().status == 200)
      _ = daemon.stop()
      stage.tokens.onRequest.withLock { $0 = nil }
      stage.tokens.respond(with: .error(400, "invalid_grant"))
      daemon = try stage.start(TokenStage.person)
    }
    #expect(try stage.stage.get().isRefused("login-required"))
    let requested = stage.tokens.requests.count
    #expect(eventually { stage.stored.hasSuffix("\nrefused\n") })
    for _ in 0..<2 {
      #expect(daemon.stop() == 0)
      daemon = try stage.start(TokenStage.person)
      #expect(try stage.stage.get().isRefused("login-required"))
      #expect(daemon.log.wait(for: .loginRequired, ["credential": "canary"]))
    }
    #expect(stage.tokens.requests.count == requested)
    stage.tokens.respond(with: .token(stage.stage.canary, expiresIn: 3600, refresh: "THIRD-refresh"))
    try stage.stage.scratch.write("first.token", "ANOTHER-first")
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    #expect(stage.tokens.forms.last?["refresh_token"] == "ANOTHER-first")
    #expect(stage.stored.contains("THIRD-refresh"))
  }
}
