import Credentials
import Glibc
import TestSupport
import Testing

/// Whose files are read, and what is said about the others (T44).
@Suite struct SecretFileTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  private func status(_ source: SecretSource) throws -> Keyring.Status {
    try keyring(.bearer(source)).status(ofGrant: 0)
  }

  @Test(arguments: [0o600, 0o400, 0o640, 0o440] as [mode_t]) func `Modes that keep others out`(mode: mode_t) throws {
    let path = try scratch.write("token", "t0k", mode: mode)
    // 0640 is for root's files with our group: whoever runs the tests may not be root
    let isAllowed = mode & 0o077 == 0 || geteuid() == 0
    #expect(try status(.file(path)).problem == nil || !isAllowed)
  }

  @Test(arguments: [0o644, 0o604, 0o666, 0o620, 0o660, 0o602, 0o601, 0o610] as [mode_t])
  func `Modes that do not, with the command that mends them`(mode: mode_t) throws {
    let path = try scratch.write("token", "CANARY", mode: mode)
    let status = try status(.file(path))
    #expect(status.generation == 0)
    let problem = try #require(status.problem)
    #expect(problem.contains("mode 0\(String(mode, radix: 8))"))
    #expect(problem.contains("chmod 06") && problem.contains(path))
    let command = try #require(problem.firstRange(of: "chmod"))
    #expect(run(String(problem[command.lowerBound...])).isSuccess)
    #expect(try self.status(.file(path)).problem == nil)
  }

  @Test(.enabled(if: geteuid() == 0)) func `Owners and groups`() throws {
    let rows: [(owner: uid_t, group: gid_t, mode: mode_t, isGood: Bool)] = [
      (0, 0, 0o600, true), (0, getegid(), 0o640, true), (0, 12_345, 0o600, true), (0, 12_345, 0o640, false),
      (12_345, 0, 0o600, false), (12_345, 12_345, 0o600, false),
    ]
    for row in rows {
      let path = try scratch.write("token", "CANARY")
      try #require(chown(path, row.owner, row.group) == 0 && chmod(path, row.mode) == 0)
      let status = try status(.file(path))
      #expect((status.problem == nil) == row.isGood, "\(row)")
      guard row.owner != 0 else { continue }
      #expect(status.problem?.contains("chown root \(path)") == true)
    }
  }

  @Test(.enabled(if: geteuid() == 0)) func `A link to another's file is judged by the file`() throws {
    let path = try scratch.write("theirs", "CANARY")
    try #require(chown(path, 12_345, 12_345) == 0)
    let link = "\(scratch.path)/link"
    try #require(symlink(path, link) == 0)
    #expect(try status(.file(link)).generation == 0)
  }

  @Test func `What is no regular file is not opened for long`() throws {
    let fifo = "\(scratch.path)/fifo"
    try #require(mkfifo(fifo, 0o600) == 0)
    for path in [fifo, "/dev/zero", "/dev/tty", scratch.path] {
      let problem = try #require(try status(.file(path)).problem)
      #expect(problem.contains(path))
    }
    #expect(try status(.file(fifo)).problem?.contains("not a regular file") == true)
  }

  @Test func `A missing file, with what to do`() throws {
    let path = "\(scratch.path)/none"
    #expect(
      try status(.file(path)).problem == "\(path) does not exist: write the secret into it, then chmod 0600 \(path)")
    #expect(try status(.file("\(path)/deeper")).problem?.contains("does not exist") == true)
  }

  @Test func `A missing systemd credential names the line to add`() async throws {
    await #expect(processExitsWith: .success) {
      unsetenv("CREDENTIALS_DIRECTORY")
      let missing = try keyring(.bearer(.systemd("github"))).status(ofGrant: 0)
      #expect(missing.problem?.contains("LoadCredential=github:/path/to/the/secret") == true)

      let scratch = try Scratch()
      setenv("CREDENTIALS_DIRECTORY", scratch.path, 1)
      let stillMissing = try keyring(.bearer(.systemd("github"))).status(ofGrant: 0)
      #expect(stillMissing.problem == missing.problem)

      // systemd's files are 0400, or 0440 when an ACL grants us access
      for mode in [0o400, 0o440] as [mode_t] {
        try scratch.write("github\(mode)", "t0k", mode: mode)
        let keyring = try keyring(.bearer(.systemd("github\(mode)")))
        #expect(keyring.status(ofGrant: 0).problem == nil)
        #expect(keyring.directories == [scratch.path])
      }
      try scratch.write("open", "t0k", mode: 0o444)
      #expect(try keyring(.bearer(.systemd("open"))).status(ofGrant: 0).problem != nil)
      // The last one leads to a file that would do
      let back = "../\(scratch.path.split(separator: "/").last ?? "")/github\(0o400)"
      for name in ["", ".", "..", "../github", "a/b", back] {
        #expect(try keyring(.bearer(.systemd(name))).status(ofGrant: 0).generation == 0)
      }
    }
  }

  @Test func `An environment variable is read once, then gone from the process`() async throws {
    await #expect(processExitsWith: .success) {
      setenv("BEARERD_TEST_TOKEN", "CANARY", 1)
      setenv("BEARERD_TEST_BAD", "CANARY\n\n", 1)
      let address = try #require(getenv("BEARERD_TEST_TOKEN"))
      let first = try keyring(.bearer(.env("BEARERD_TEST_TOKEN")))
      #expect(first.status(ofGrant: 0) == Keyring.Status(generation: 1, problem: nil))
      #expect(getenv("BEARERD_TEST_TOKEN") == nil)
      #expect((0..<6).allSatisfy { address[$0] == 0 })
      // The next configuration still has it
      let second = try keyring(.bearer(.env("BEARERD_TEST_TOKEN")))
      #expect(second.status(ofGrant: 0).problem == nil)
      #expect(try sent(second).contains("Authorization: Bearer CANARY\r\n"))

      #expect(try keyring(.bearer(.env("BEARERD_TEST_BAD"))).status(ofGrant: 0).generation == 0)
      #expect(getenv("BEARERD_TEST_BAD") == nil)
      for name in ["BEARERD_TEST_NONE", "", "A=B"] {
        #expect(try keyring(.bearer(.env(name))).status(ofGrant: 0).problem?.contains("is not set") == true)
      }
    }
  }
}
