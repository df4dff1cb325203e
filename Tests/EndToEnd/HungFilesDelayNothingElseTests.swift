import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A file on a file system that does not respond delays only tasks that need the file. The tests check no times:
/// everything happens while the file hangs.
@Suite(.waits) struct HungFilesDelayNothingElse {
  private func start(_ stage: Stage) throws {
    try stage.scratch.write("second.token", "SECOND-secret")
    try stage.start(stage.withSecondCredential())
  }

  /// Sends a request, and returns the token that the upstream received. `nil` if the request was refused.
  private func lastToken(_ stage: Stage, _ service: String) throws -> String? {
    let name = UUID().uuidString
    guard try stage.get("/\(service)/\(name)").status == 200 else { return nil }
    let request = stage.recorded.components(separatedBy: "GET /base/\(name) ").last
    return request?.components(separatedBy: "Authorization: Bearer ").dropFirst().first?
      .components(separatedBy: "\r\n").first
  }

  private func isServing(_ stage: Stage, generation: Int = 1) throws -> Bool {
    let status = try stage.control("status")
    return try stage.get("/second/x").status == 200 && status.hasPrefix("ok\n")
      && status.contains("\"generation\":\(generation)")
  }

  private func assertCanary(_ stage: Stage) {
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  @Test(.enabled(if: isRoot, "fanotify and mounts are for root"))
  func `T55: a secret file that hangs delays no other secret, request or reload`() throws {
    let stage = try Stage()
    try start(stage)
    let hung = try stage.hang("canary.token", "LATE-secret")
    #expect(hung.waitForOpen())
    #expect(try isServing(stage))
    for round in 1...3 {
      try stage.scratch.write("second.token", "SECOND-secret-\(round)")
      #expect(try lastToken(stage, "second") == "SECOND-secret-\(round)")
    }
    #expect(try lastToken(stage, "api") == stage.canary, "its own requests go on with the value before")
    #expect(stage.log.wait(for: .credentialUnusable, ["credential": "canary", "detail": .naming("canary.token")]))
    #expect(try stage.control("reload") == "ok\n2\n")
    #expect(try lastToken(stage, "api") == stage.canary)
    #expect(try stage.control("status").contains("is still being read"))
    #expect(!hung.waitForOpen(within: 0), "it is read by one thread only, however often")
    // After two changes, the last value is used.
    try stage.scratch.write("canary.token", "LAST-secret")
    hung.release()
    #expect(eventually { (try? lastToken(stage, "api")) == "LAST-secret" })
    #expect(!stage.recorded.contains("LATE-secret") || stage.recorded.components(separatedBy: "LAST-secret").count > 1)
    #expect(try !stage.control("status").contains("is still being read"))
    assertCanary(stage)
  }

  @Test(.enabled(if: isRoot, "fanotify and mounts are for root"))
  func `T55: a ca_file or configuration that hangs delays no request, and pending reloads are combined`() throws {
    let stage = try Stage()
    try start(stage)
    let hung = try stage.hang("ca.pem", stage.ca.pem, mode: 0o644)
    let first = try LocalClient(unix: stage.scratch.path + "/control.sock")
    try first.send("reload\n")
    #expect(hung.waitForOpen())
    let waiting = try (0..<3).map { _ in
      let client = try LocalClient(unix: stage.scratch.path + "/control.sock")
      try client.send("reload\n")
      return client
    }
    #expect(try isServing(stage))
    try stage.scratch.write("second.token", "SECOND-secret-1")
    #expect(try lastToken(stage, "second") == "SECOND-secret-1")
    #expect(!hung.waitForOpen(within: 0) && !stage.log.contains(.reloaded))
    hung.release()
    for client in [first] + waiting {
      while try !client.isAtEnd() { try client.drain() }
      let response = String(decoding: client.received, as: UTF8.self)
      #expect(response == (client === first ? "ok\n2\n" : "ok\n3\n"))
    }

    // A reload gives up a configuration that hangs, and only one thread waits for the file.
    #expect(try stage.control("give up soon") == "ok\n")
    let configuration = try stage.hang("bearerd.yaml", stage.withSecondCredential(), mode: 0o644)
    let response = try stage.control("reload")
    #expect(response.hasPrefix("error\nthe configuration is still being read: ") && response.contains("/bearerd.yaml"))
    #expect(configuration.waitForOpen())
    for _ in 0..<3 { #expect(try stage.control("reload") == response) }
    #expect(!configuration.waitForOpen(within: 0), "nobody else reads it")
    #expect(try isServing(stage, generation: 3))
    #expect(try stage.control("status").contains("still being read"))
    try stage.scratch.write("second.token", "SECOND-secret-2")
    #expect(try lastToken(stage, "second") == "SECOND-secret-2")
    configuration.release()
    #expect(stage.log.wait(for: .configurationReadable))
    #expect(try isServing(stage, generation: 3), "what came too late is not used")
    #expect(try stage.control("reload") == "ok\n4\n")
    assertCanary(stage)
  }

  @Test(
    .enabled(if: isRoot && !isSanitized, "fanotify is for root; a sanitizer waits for the thread"),
    arguments: ["canary.token", "ca.pem", "bearerd.yaml"])
  func `T55: SIGTERM ends the daemon while a file hangs`(_ name: String) throws {
    let stage = try Stage()
    try start(stage)
    let content = try String(contentsOfFile: stage.scratch.path + "/" + name, encoding: .utf8)
    let hung = try stage.hang(name, content)
    kill(stage.daemon!.pid, SIGHUP)
    #expect(hung.waitForOpen())
    #expect(try isServing(stage))
    #expect(stage.daemon!.stop() == 0)
    #expect(stage.log.contains(.stopped))
    assertCanary(stage)
  }

  @Test(.enabled(if: isRoot, "fanotify is for root"))
  func `T55: an audit file whose open hangs delays no request`() throws {
    let stage = try Stage()
    try start(stage)
    let path = try stage.scratch.write("hung", "", mode: 0o600)
    let hung = try HungFile(path)
    let configuration = stage.withSecondCredential() + "\naudit: { file: hung }"
    try stage.scratch.write("bearerd.yaml", configuration, mode: 0o644)
    kill(stage.daemon!.pid, SIGHUP)
    #expect(hung.waitForOpen())
    #expect(try isServing(stage))
    #expect(!stage.log.contains(.reloaded))
    hung.release()
    #expect(stage.log.wait(for: .reloaded, ["generation": 2]))
    #expect(try isServing(stage, generation: 2))
    // The reload without an audit file does not wait until the thread has written the last records.
    try stage.scratch.write("bearerd.yaml", stage.withSecondCredential(), mode: 0o644)
    #expect(try stage.control("reload") == "ok\n3\n")
    #expect(stage.log.wait(for: .audit, ["state": "closed"]))
    assertCanary(stage)
  }

  /// Replaces a symbolic link atomically.
  private func relink(_ name: String, to target: String, in stage: Stage) throws {
    let path = stage.scratch.path + "/" + name
    #expect(symlink(target, path + ".new") == 0 && rename(path + ".new", path) == 0)
  }

  @Test(.enabled(if: isRoot, "fanotify and mounts are for root"))
  func `T55: a directory that hangs delays no other secret`() throws {
    let stage = try Stage()
    try stage.scratch.write("second.token", "SECOND-secret")
    try stage.scratch.write("there/api.token", stage.canary)
    try relink("here", to: "there", in: stage)
    try stage.start(
      stage.withSecondCredential().replacing("file: canary.token", with: "file: here/api.token"))
    try withExtendedLifetime(HungDirectory(stage.scratch.path + "/gone")) {
      try relink("here", to: "gone", in: stage)
      #expect(stage.log.wait(for: .credentialUnusable, ["credential": "canary", "detail": .naming("here/api.token")]))
      try stage.scratch.write("second.token", "SECOND-secret-1")
      #expect(try lastToken(stage, "second") == "SECOND-secret-1")
      #expect(try lastToken(stage, "api") == stage.canary)
      #expect(try isServing(stage))
      // A reload cannot check the owner of the file.
      #expect(try stage.control("reload") == "ok\n2\n")
      #expect(stage.log.wait(for: .configuration, ["level": "warning", "detail": .naming("here/api.token")]))
      #expect(try lastToken(stage, "api") == stage.canary)
      #expect(try isServing(stage, generation: 2))
    }
    try stage.scratch.write("elsewhere/api.token", "NEW-secret")
    try relink("here", to: "elsewhere", in: stage)
    #expect(eventually { (try? lastToken(stage, "api")) == "NEW-secret" })
    assertCanary(stage)
  }

  @Test(.enabled(if: isRoot, "fanotify and mounts are for root"))
  func `T55: a command whose program file hangs delays no other request`() throws {
    let stage = try Stage()
    try stage.scratch.write("second.token", "SECOND-secret")
    try stage.scratch.write("there/helper", "#!/bin/sh\nexec cat \(stage.scratch.path)/canary.token\n", mode: 0o700)
    try relink("here", to: "there", in: stage)
    try stage.start(
      stage.withSecondCredential().replacing(
        "file: canary.token", with: "command: [\(stage.scratch.path)/here/helper], ttl: 2s, timeout: 1s"))
    #expect(try lastToken(stage, "api") == stage.canary)
    try withExtendedLifetime(HungDirectory(stage.scratch.path + "/gone")) {
      try relink("here", to: "gone", in: stage)
      #expect(
        stage.log.wait(for: .credentialUnavailable, ["credential": "canary", "detail": .naming("here/helper", " 1 s")]))
      #expect(try isServing(stage))
    }
    try relink("here", to: "there", in: stage)
    #expect(eventually(seconds: 20) { (try? lastToken(stage, "api")) == stage.canary })
    #expect(stage.daemon!.stop() == 0)
    assertCanary(stage)
  }

  @Test(.enabled(if: isRoot, "fanotify and mounts are for root"))
  func `T55: a credential of two files never combines an old and a new value while one file hangs`() throws {
    let stage = try Stage()
    try stage.scratch.write("user", "old")
    try stage.scratch.write("password", "old-secret")
    let credential = "basic: { user: { file: user }, password: { file: password } }"
    try stage.start(stage.configuration(credential: credential))
    func sent() throws -> String? {
      #expect(try stage.get().status == 200)
      let field = stage.recorded.components(separatedBy: "Authorization: Basic ").last?.prefix { $0 != "\r\n" }
      return field.flatMap { Data(base64Encoded: String($0)) }.map { String(decoding: $0, as: UTF8.self) }
    }
    #expect(try sent() == "old:old-secret")
    let hung = try stage.hang("password", "new-secret")
    #expect(hung.waitForOpen())
    try stage.scratch.write("user", "new")
    #expect(try sent() == "old:old-secret")
    #expect(stage.log.wait(for: .credentialUnusable, ["credential": "canary", "detail": .naming("/password")]))
    #expect(try sent() == "old:old-secret")
    #expect(try stage.control("reload") == "ok\n2\n")
    #expect(try sent() == "old:old-secret", "nor after a reload")
    hung.release()
    #expect(try eventually { try sent() == "new:new-secret" })
    #expect(!stage.recorded.contains(Data("new:old-secret".utf8).base64EncodedString()))
    stage.assertCanary(times: 0)
  }
}
