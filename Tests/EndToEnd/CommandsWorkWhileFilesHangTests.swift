import Foundation
import ServerSupport
import TestSupport
import Testing

/// Commands end within seconds and name the file that does not respond. A process that waits for such a file cannot be
/// killed.
@Suite(.waits, .enabled(if: isRoot && !isSanitized, "mounts are for root; a sanitizer waits for threads"))
struct CommandsWorkWhileFilesHang {
  /// The timeout allows for a very busy machine. A command that hangs would never end.
  private func bearerctl(_ words: String...) throws -> (status: Int32, output: String, errors: String) {
    let result = try run([RunningDaemon.binary("bearerctl")] + words, seconds: 60)
    return (result.status, result.output, result.errors)
  }

  private func withUnresponsiveDisk(_ stage: Stage, _ body: (_ path: String) throws -> Void) throws {
    let disk = try StallingDisk(stage.scratch.path + "/gone")
    let (ended, gone) = (Gate(), Gate())
    // Unblocks commands that wait for the disk, so that the test fails and does not hang.
    Thread.detachNewThread {
      _ = ended.pass(seconds: 150)
      disk.end()
      gone.open()
    }
    defer {
      ended.open()
      _ = gone.pass()
    }
    // The first access completes the mount.
    var status = stat()
    #expect(stat(disk.path, &status) == 0)
    disk.setMode(.unresponsive)
    try body(disk.path)
  }

  @Test func `T55: commands work while a secret file does not respond`() throws {
    let stage = try Stage()
    let text = stage.configuration(
      credential: "bearer: { file: gone/audit.log }", more: "control: \(stage.scratch.path)/control.sock")
    let file = try stage.scratch.write("bearerd.yaml", text)
    try withUnresponsiveDisk(stage) { path in
      let status = try bearerctl("status", "--config", file)
      #expect(status.status == 69 && status.errors.contains(" \(stage.scratch.path)/control.sock: "), "\(status)")
      let check = try bearerctl("check", file)
      #expect(check.status == 0 && check.output.contains(" \(path)/audit.log"), "\(check)")
      let explain = try bearerctl("explain", "GET", "/api/x", "--config", file)
      #expect(explain.status == 0, "\(explain)")
      let selftest = try bearerctl("selftest", "none", "--config", file)
      #expect(selftest.status == 2)
      let text = stage.plain("\(check.output)\n\(selftest.errors)")
      #expect(text == (try golden("commands-hung-secret.txt", for: text)))
    }
    stage.assertCanary(times: 0)
  }

  @Test func `T55: commands name a file that they need and that does not respond`() throws {
    let stage = try Stage()
    let text = stage.configuration(more: "control: \(stage.scratch.path)/control.sock")
      .replacing("ca_file: ca.pem", with: "ca_file: gone/ca.pem")
    let file = try stage.scratch.write("bearerd.yaml", text)
    try withUnresponsiveDisk(stage) { path in
      #expect(try bearerctl("status", "--config", file).status == 69)
      for words in [["check", file], ["explain", "GET", "/api/x", "--config", file], ["selftest", "--config", file]] {
        let result = try run([RunningDaemon.binary("bearerctl")] + words, seconds: 60)
        #expect(result.status == 71, "\(words): \(result)")
        let errors = stage.plain(result.errors)
        #expect(errors == (try golden("commands-hung-authority.txt", for: errors)), "\(words)")
      }
      let status = try bearerctl("status", "--config", "\(path)/bearerd.yaml")
      #expect(status.status == 71)
      let errors = stage.plain(status.errors)
      #expect(errors == (try golden("commands-hung-configuration.txt", for: errors)))
    }
    stage.assertCanary(times: 0)
  }

  @Test func `T55: commands name a configuration whose directory does not respond`() throws {
    let stage = try Stage()
    try withUnresponsiveDisk(stage) { path in
      for command in [["explain", "GET", "/api/x", "--config"], ["selftest", "--config"], ["check"]] {
        let result = try run([RunningDaemon.binary("bearerctl")] + command + ["\(path)/bearerd.yaml"], seconds: 60)
        #expect(result.status == 71)
        let errors = stage.plain(result.errors)
        #expect(errors == (try golden("commands-hung-configuration.txt", for: errors)), "\(command)")
      }
    }
    stage.assertCanary(times: 0)
  }
}
