import Foundation
import ServerSupport
import TestSupport
import Testing

/// A failed start prints the reason, and removes the sockets that it has created.
@Suite(.waits) struct FailedStartsSayWhy {
  @Test(arguments: ["none/audit.log", "other.log", "."])
  func `T58: a start with an unusable audit file fails like a start with an invalid configuration`(_ path: String)
    throws
  {
    let stage = try Stage()
    try stage.scratch.write("other.log", "something else\n")
    let run = try stage.fail(stage.configuration(more: "audit: { file: \(path) }"))
    // With this status, systemd does not restart the daemon (RestartPreventExitStatus=2).
    #expect(run.status == 2, "\(run)")
    #expect(run.errors.contains("error: audit file \(stage.scratch.path)/"), "\(run)")
    stage.assertCanary(times: 0)
  }

  @Test func `T5: a start fails if the port of a second listener is in use, and removes its Unix socket`() throws {
    let taken = try #require(Squatting(.loopback4, port: 0))
    let socket = "/first.sock"
    let scratch = try Scratch()
    let listeners = [
      "  one: { address: localhost:0, allow_users: [\(getuid())] }",
      "  two: { address: \"unix:\(scratch.path)\(socket)\", allow_users: [\(getuid())] }",
      "  three: { address: 127.0.0.1:\(taken.port), allow_users: [\(getuid())] }",
    ]
    let service = "services: { a: { upstream: https://a.example.com/, credential: none, listener: one } }\n"
    let file = try scratch.write(
      "bearerd.yaml", (["listeners:"] + listeners + [service]).joined(separator: "\n"), mode: 0o600)
    let child = try run([RunningDaemon.binary("bearerd"), "--config", file])
    #expect(child.status == 71, "\(child)")
    #expect(child.errors.contains("three") && child.errors.contains("address already in use"), "\(child.errors)")
    #expect(!FileManager.default.fileExists(atPath: scratch.path + socket))
  }
}
