import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Logins on another device with a code (RFC 8628).
@Suite(.inProcess) struct DeviceLoginTests {
  @Test(arguments: [1, 2])
  func `T40: before the login no request is sent, and login-required is logged once`(workers: Int) throws {
    let stage = try TokenStage()
    try stage.start(stage.device, workers: workers)
    #expect(stage.log.wait(for: .loginRequired, ["credential": "canary"]))
    for _ in 0..<50 { #expect(try stage.stage.get().isRefused("login-required")) }
    // A new client secret does not help.
    try stage.stage.scratch.write("client.secret", "another")
    try stage.stage.reload(stage.configuration(stage.device, workers: workers) + "\n# again\n")
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(stage.tokens.server.records.isEmpty)
    #expect(stage.log.lines(of: .loginRequired).count == 1)
    stage.assertSecrets(times: 0)
  }

  @Test(arguments: [1, 3])
  func `T38 T39: bearerctl login shows a code, and requests are sent once the user enters the code`(workers: Int) throws
  {
    let stage = try TokenStage()
    let login = Guarded<[String]>([])
    let path = stage.store
    stage.tokens.respond(with: [TokenStage.deviceResponse(), TokenStage.pending, TokenStage.pending, stage.granted])
    try stage.start(stage.device, more: ", scope: [mail.read, offline_access]", workers: workers)
    #expect(try stage.stage.get().isRefused("login-required"))
    let person = try Person(stage)
    #expect(person.waitForExit() == 0, "\(person.text)")
    login.withLock { $0.append((try? String(contentsOfFile: path, encoding: .utf8)) ?? "") }
    for part in [
      "progress open https://login.example/device\n", "progress code \(TokenStage.userCode)\n",
      "progress complete https://login.example/device?c=1\n", "canary is logged in: its token is valid for",
      "and bearerd renews it",
      "The login is stored in \(path), with mode 0600.\n",
    ] {
      #expect(person.text.contains(part), "\(part) in: \(person.text)")
    }
    for _ in 0..<6 { #expect(try stage.stage.get().status == 200) }
    let poll = [
      "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": TokenStage.deviceCode,
    ]
    #expect(stage.tokens.forms == [["scope": "mail.read offline_access"], poll, poll, poll])
    #expect(stage.tokens.requests[0].text.hasPrefix("POST /oauth2/device HTTP/1.1\r\n"))
    #expect(login.withLock { $0[0].contains("refresh_token \(stage.refresh)\n") })
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(stage.log.contains(.loggedIn, ["credential": "canary"]))
    stage.assertLogin([person], times: 6)
  }

  @Test func `slow_down makes bearerd poll less often`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse(), .error(400, "slow_down"), stage.granted])
    try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.sees("wait longer"))
    #expect(person.waitForExit() == 0)
    #expect(stage.tokens.requests.count == 3)
    stage.assertLogin([person], times: 0)
  }

  @Test(
    arguments: [
      ([TokenStage.deviceResponse(), TokenStage.pending, .error(400, "access_denied")], "the login was denied"),
      ([TokenStage.deviceResponse(), .error(400, "expired_token")], "the code has expired"),
      ([TokenStage.deviceResponse(expiresIn: 1)], "the code has expired"),
      ([TokenStage.deviceResponse(), .error(401, "invalid_client")], "invalid_client"),
      ([.error(400, "unauthorized_client")], "unauthorized_client"),
      ([.raw("HTTP/1.1 302 X\r\nLocation: https://evil.test/\r\nContent-Length: 0\r\n\r\n")], "does not follow"),
      ([.nothing], "gave no token"),
    ] as [([TokenServer.Response], String)])
  func `a failed login reports the reason and changes nothing`(_ responses: [TokenServer.Response], _ why: String)
    throws
  {
    let stage = try TokenStage()
    stage.tokens.respond(with: responses)
    try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.waitForExit() == 1)
    #expect(person.text.contains(why), "\(person.text)")
    #expect(stage.tokens.requests.count == responses.count)
    #expect(try stage.stage.get().isRefused("login-required"))
    #expect(!FileManager.default.fileExists(atPath: stage.store))
    #expect(stage.log.wait(for: .loginFailed, ["credential": "canary"]))
    #expect(stage.log.lines(of: .loginRequired).count == 1)
    stage.assertLogin([person], times: 0)
  }

  @Test func `a poll that gets no response is repeated`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse(), .nothing, stage.granted])
    try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.waitForExit() == 0, "\(person.text)")
    #expect(try stage.stage.get().status == 200)
    stage.assertLogin([person], times: 1)
  }

  @Test func `a second bearerctl login joins the login in progress and continues if the first ends`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse(), TokenStage.pending])
    try stage.start(stage.device)
    let first = try Person(stage)
    #expect(first.sees(TokenStage.userCode))
    let second = try Person(stage)
    #expect(second.sees("a login is already in progress") && second.sees(TokenStage.userCode))
    first.interrupt()
    _ = first.waitForExit()
    stage.tokens.respond(with: stage.granted)
    #expect(second.waitForExit() == 0)
    #expect(stage.tokens.forms.count { $0["device_code"] == nil } == 1)
    #expect(!stage.log.contains(.loginCancelled))
    #expect(try stage.stage.get().status == 200)
    stage.assertLogin([first, second], times: 1)
  }

  @Test func `T38: a server without a pinned key gets no byte of a login`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse(), stage.granted])
    try stage.start(stage.device, pins: [stage.stage.leaf.pin, stage.stage.backup.pin])
    let person = try Person(stage)
    #expect(person.waitForExit() == 1 && person.text.contains("pin-mismatch"), "\(person.text)")
    let records = stage.tokens.server.finish()
    #expect(!records.isEmpty && records.allSatisfy { $0.bytes.isEmpty })
    stage.assertLogin([person], times: 0)
  }

  @Test func `T52: silent control connections do not end a login`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse(), TokenStage.pending])
    try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.sees(TokenStage.userCode))
    let silent = try (0..<40).map { _ in try LocalClient(unix: stage.stage.scratch.path + "/control.sock") }
    #expect(try stage.stage.control("status").hasPrefix("ok\n"))
    stage.tokens.respond(with: stage.granted)
    #expect(person.waitForExit() == 0, "\(person.text)")
    _ = silent
    stage.assertLogin([person], times: 0)
  }

  @Test func `T52: only a credential with a login grant accepts a login`() throws {
    let stage = try TokenStage()
    try stage.start()
    let rows = [
      ("canari", "did you mean \"canary\"?"), ("nonsense", "there is only \"canary\""),
      ("canary", "grant client_credentials"),
    ]
    for (name, why) in rows {
      let person = try Person(stage, ["login", name])
      #expect(person.waitForExit() == 1)
      #expect(person.text.contains(why), "\(person.text)")
    }
    #expect(try stage.stage.control("login").hasPrefix("error\nThis daemon does not know"))
    #expect(try stage.stage.control("login ").hasPrefix("error\nThis daemon does not know"))
    #expect(try stage.stage.control("status canary").hasPrefix("error\nThis daemon does not know"))
    stage.assertSecrets(times: 0)
  }

  @Test func `the login is canceled when bearerctl login ends, and its code is no longer polled`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse("GONE-code"), TokenStage.pending])
    try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.sees(TokenStage.userCode) && stage.tokens.waitForRequests(2))
    person.interrupt()
    _ = person.waitForExit()
    #expect(stage.log.wait(for: .loginCancelled, ["credential": "canary"]))
    let count = stage.tokens.requests.count
    stage.tokens.respond(with: [TokenStage.deviceResponse(), TokenStage.pending, stage.granted])
    let next = try Person(stage)
    #expect(next.waitForExit() == 0)
    let codes = stage.tokens.forms[count...].map { $0["device_code"] }
    #expect(codes == [nil, TokenStage.deviceCode, TokenStage.deviceCode])
    #expect(try stage.stage.get().status == 200)
    stage.assertLogin([person, next], times: 1)
  }
}
