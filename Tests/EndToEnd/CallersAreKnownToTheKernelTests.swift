import DemoUpstream
import Foundation
import TestSupport
import Testing

/// Who may ask is what the kernel says, and nothing that the client says.
@Suite struct CallersAreKnownToTheKernel {
  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T6: another uid gets 403 and the log names the line to add`() throws {
    let stage = try Stage()
    try stage.start()
    let answer = try stage.ask(as: Stage.user(12_345))
    #expect(answer.output.hasPrefix("HTTP/1.1 403 "))
    #expect(answer.output.contains("urn:bearerd:error:caller-not-allowed"))
    #expect(stage.daemon!.waitForLog("listeners.main needs allow_users: [root, 12345]"))
    #expect(stage.daemon!.logText.contains(" uid=12345 "))
    // The same request, of ours.
    #expect(try stage.get().status == 200)
    #expect(stage.upstream.records.count == 1)
    stage.assertCanary(times: 1)
  }

  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T6: a uid that is listed gets in, and a name in the log is a name`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration().replacing("allow_users: [0]", with: "allow_users: [12345]"))
    #expect(try stage.ask(as: Stage.user(12_345)).output.hasPrefix("HTTP/1.1 200 "))
    // Root is nobody special: it has to be listed.
    #expect(try stage.get().status == 403)
    #expect(stage.daemon!.waitForLog("allow_users: [12345, root]"))
    stage.assertCanary(times: 1)
  }

  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T6: a service narrows its listener, a credential narrows both`() throws {
    let stage = try Stage()
    let listener = "address: localhost:0"
    let plain = stage.configuration(listener: listener)
    let both = plain.replacing("allow_users: [0]", with: "allow_users: [0, 12345]")
    try stage.start(both)
    #expect(try stage.ask(as: Stage.user(12_345)).output.hasPrefix("HTTP/1.1 200 "))

    try stage.reload(both.replacing("    credential: canary\n", with: "    credential: canary\n    allow_users: [0]\n"))
    let narrowed = try stage.ask(as: Stage.user(12_345))
    #expect(narrowed.output.contains("caller-not-allowed"))
    #expect(stage.daemon!.waitForLog("services.api needs allow_users: [root, 12345]"))
    #expect(try stage.get().status == 200)

    try stage.reload(
      both.replacing("bearer: { file: canary.token }", with: "bearer: { file: canary.token }\n    allow_users: [0]"))
    let ungranted = try stage.ask(as: Stage.user(12_345))
    #expect(ungranted.output.hasPrefix("HTTP/1.1 403 ") || ungranted.output.hasPrefix("HTTP/1.1 503 "))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 3)
  }

  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T6 T9: on a unix socket SO_PEERCRED decides`() throws {
    let stage = try Stage()
    let path = "\(stage.scratch.path)/app.sock"
    #expect(chmod(stage.scratch.path, 0o755) == 0)
    let open = stage.configuration(listener: "address: unix:\(path)\n    mode: \"0666\"")
    try stage.start(open)
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(try stage.ask(as: [], unix: path).output.hasPrefix("HTTP/1.1 200 "))
    let stranger = try stage.ask(as: Stage.user(12_345), unix: path)
    #expect(stranger.output.hasPrefix("HTTP/1.1 403 "))
    #expect(stage.daemon!.waitForLog("allow_users: [root, 12345]"))
    stage.assertCanary(times: 1)
  }

  @Test func `T9: a unix socket has its mode, and the default is for no other user`() throws {
    for (line, mode) in [("", mode_t(0o660)), ("\n    mode: \"0666\"", 0o666), ("\n    mode: \"0600\"", 0o600)] {
      let stage = try Stage()
      let path = "\(stage.scratch.path)/app.sock"
      try stage.start(stage.configuration(listener: "address: unix:\(path)" + line))
      var status = stat()
      #expect(lstat(path, &status) == 0)
      #expect(status.st_mode & 0o7777 == mode, "\(line)")
      #expect(stage.daemon!.stop() == 0)
      stage.assertCanary(times: 0)
    }
  }

  @Test func `T9: what stands in a unix socket's place stays there`() throws {
    let stage = try Stage()
    let path = try stage.scratch.write("app.sock", "precious")
    let result = try stage.fail(stage.configuration(listener: "address: unix:\(path)"))
    #expect(result.status == 71)
    #expect(result.errors.contains(path))
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    stage.assertCanary(times: 0)
  }

  @Test func `T9: a unix socket in a directory that others can write is refused`() throws {
    let stage = try Stage()
    let directory = stage.scratch.path + "/open"
    #expect(mkdir(directory, 0o777) == 0 && chmod(directory, 0o777) == 0)
    let result = try stage.fail(stage.configuration(listener: "address: unix:\(directory)/app.sock"))
    #expect(result.status == 71)
    #expect(!FileManager.default.fileExists(atPath: directory + "/app.sock"))
    stage.assertCanary(times: 0)
  }

  @Test func `T7: a client that has gone before it was asked about is nobody`() throws {
    let stage = try Stage()
    try stage.start()
    let port = try stage.daemon!.port()
    kill(stage.daemon!.pid, SIGSTOP)
    for _ in 0..<20 {
      let client = try stage.client()
      try client.send("GET /api/gone HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      client.abandon()
    }
    kill(stage.daemon!.pid, SIGCONT)
    // Behind them in the queue: when it is answered they have been dealt with.
    #expect(try stage.get("/api/here").status == 200)
    #expect(!stage.recorded.contains("gone"))
    stage.assertCanary(times: 1)
  }

  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T7: a client of another user namespace is not whom it says it is`() throws {
    // Root in its own namespace, nobody in ours.
    let wrapper = Stage.user(12_345) + ["unshare", "--user", "--map-root-user"]
    guard (try? run(wrapper + ["true"]))?.status == 0 else { return }
    let stage = try Stage()
    try stage.start()
    #expect(try stage.ask(as: wrapper).output.hasPrefix("HTTP/1.1 403 "))
    // Without a map it has the overflow uid there, and its own here.
    #expect(try stage.ask(as: Stage.user(12_345) + ["unshare", "--user"]).output.hasPrefix("HTTP/1.1 403 "))
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
  }
}
