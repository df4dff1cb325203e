import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// The next request uses a changed secret, also on an open connection. An unusable secret is never sent.
@Suite(.waits) struct ChangedSecretsAreUsed {
  @Test func `T49: a secret from the environment is removed from the process environment`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(credential: "bearer: { env: TEST_CANARY }"), environment: ["TEST_CANARY": stage.canary])
    #expect(try stage.get().status == 200)
    let environment = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(stage.daemon!.pid)/environ"))
    #expect(environment.range(of: Data(stage.canary.utf8)) == nil)
    #expect(environment.range(of: Data("RUNTIME_DIRECTORY".utf8)) != nil, "it is the right place to look")
    // The secret is still known after a reload.
    try stage.daemon!.reload()
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 2)
  }

  @Test func `T40: if a systemd credential is missing, the log names the line to add to the unit`() throws {
    let stage = try Stage()
    let credentials = stage.scratch.path + "/credentials"
    #expect(mkdir(credentials, 0o700) == 0)
    try stage.start(
      stage.configuration(credential: "bearer: { systemd: api-token }"),
      environment: ["CREDENTIALS_DIRECTORY": credentials])
    #expect(stage.log.contains(.credentialUnavailable, ["detail": .naming("LoadCredential=api-token:")]))
    #expect(try stage.get().status == 503)
    try stage.scratch.write("credentials/api-token", stage.canary, mode: 0o440)
    #expect(stage.waitForSecret(version: 1))
    #expect(try stage.get().status == 200)
    #expect(!stage.log.contains(.systemdCredentials))
    try stage.daemon!.reload()
    #expect(stage.log.wait(for: .systemdCredentials, ["credentials": "canary", "detail": .present]))
    // A value that systemd writes later is used, too.
    try stage.scratch.write("credentials/next", "ANOTHER-0123456789", mode: 0o440)
    #expect(rename(credentials + "/next", credentials + "/api-token") == 0)
    #expect(stage.waitForSecret(version: 2))
    #expect(try stage.get().status == 200)
    #expect(stage.recorded.contains("Authorization: Bearer ANOTHER-0123456789\r\n"))
    stage.assertCanary(times: 1)
  }

  @Test func `T44: a request uses a changed secret even if the event loop sees the request first`() throws {
    let stage = try Stage()
    try stage.start()
    let caller = try PersistentClient(stage)
    #expect(try caller.get().status == 200)
    let pid = stage.daemon!.pid
    caller.client.disableNagle()
    for round in 0..<20 {
      kill(pid, SIGSTOP)
      let isStopped = { try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8).contains(") T ") }
      #expect(try eventually(isStopped))
      // The connection becomes readable before the change, and the daemon wakes up for both events.
      try caller.client.send("GET /api/x HTTP/1.1\r\nHost: localhost:\(caller.port)\r\n")
      try stage.scratch.write("canary.token", "ROUND-\(round)-secret")
      try caller.client.send("\r\n")
      kill(pid, SIGCONT)
      #expect(try caller.client.response().status == 200)
      #expect(stage.lastToken == "ROUND-\(round)-secret")
    }
    stage.assertCanary(times: 1)
  }

  @Test func `T44: a changed secret that cannot be read without descriptors is read when some are free`() throws {
    let stage = try Stage()
    try stage.start()
    let caller = try PersistentClient(stage)
    #expect(try caller.get().status == 200)
    func limit(_ descriptors: Int) throws {
      #expect(try run(["prlimit", "--pid", "\(stage.daemon!.pid)", "--nofile=\(descriptors):"]).status == 0)
    }
    try limit(3)
    try stage.scratch.write("canary.token", "NEW-secret")
    #expect(stage.log.wait(for: .credentialUnusable, ["credential": "canary", "detail": .naming("canary.token")]))
    #expect(try caller.get().status == 200)
    #expect(stage.lastToken == stage.canary)
    try limit(512)
    #expect(stage.waitForSecret(version: 2))
    #expect(try caller.get().status == 200)
    #expect(stage.lastToken == "NEW-secret")
    stage.assertCanary(times: 2)
  }
}
