import Foundation
import Glibc
import Secrets
import System
import TestSupport
import Testing

/// Whose files are read, and what is said about the others (T44).
@Suite struct SecretFileTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  @Test(arguments: [0o600, 0o400, 0o640, 0o440] as [mode_t]) func `Modes that keep others out`(mode: mode_t) throws {
    let path = try scratch.write("token", "t0k", mode: mode)
    // 0640 is for root's files with our group: whoever runs the tests may not be root
    let isAllowed = mode & 0o077 == 0 || geteuid() == 0
    #expect(ReadSource(.file(path)).problem == nil || !isAllowed)
  }

  @Test(arguments: [0o644, 0o604, 0o666, 0o620, 0o660, 0o602, 0o601, 0o610] as [mode_t])
  func `Modes that do not, with the command that mends them`(mode: mode_t) throws {
    let path = try scratch.write("token", "CANARY", mode: mode)
    let problem = try #require(ReadSource(.file(path)).problem)
    #expect(problem.contains("mode 0\(String(mode, radix: 8))"))
    #expect(problem.contains("chmod 06") && problem.contains(path))
    let command = try #require(problem.firstRange(of: "chmod"))
    let words = problem[command.lowerBound...].components(separatedBy: ". In a container")[0]
    #expect(try run(["sh", "-c", words]).status == 0)
    #expect(ReadSource(.file(path)).problem == nil)
  }

  @Test(.enabled(if: geteuid() == 0 && isPrivateMountPossible), arguments: [true, false])
  func `T44: on a read-only mount others may read a secret, as containers mount it`(isReadOnly: Bool) throws {
    let volume = "\(scratch.path)/secrets"
    try #require(mkdir(volume, 0o755) == 0 && mount("none", volume, "tmpfs", 0, "mode=0755") == 0)
    defer { umount2(volume, Int32(MNT_DETACH)) }
    for mode in [0o444, 0o644, 0o755, 0o666, 0o620, 0o400] as [mode_t] {
      try scratch.write("secrets/\(mode)", "t0k", mode: mode)
    }
    if isReadOnly {
      try #require(mount("none", volume, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), "mode=0755") == 0)
    }
    // Without a read-only mount the container decides.
    let isAccepted = FileWalk(volume).mount.isOfSecrets
    #expect(isAccepted || !isReadOnly)
    for mode in [0o444, 0o644, 0o755] as [mode_t] {
      #expect((ReadSource(.file("\(volume)/\(mode)")).problem == nil) == isAccepted, "\(mode)")
    }
    for mode in [0o666, 0o620] as [mode_t] {
      let problem = try #require(ReadSource(.file("\(volume)/\(mode)")).problem)
      #expect(!isAccepted || problem.contains("mode: 0400") && problem.contains("fsGroup"), "\(problem)")
    }
    #expect(ReadSource(.file("\(volume)/\(0o400)")).problem == nil)
  }

  @Test(.enabled(if: geteuid() == 0)) func `Owners and groups`() throws {
    let rows: [(owner: uid_t, group: gid_t, mode: mode_t, isGood: Bool)] = [
      (0, 0, 0o600, true), (0, getegid(), 0o640, true), (0, 12_345, 0o600, true), (0, 12_345, 0o640, false),
      (12_345, 0, 0o600, false), (12_345, 12_345, 0o600, false),
    ]
    for row in rows {
      let path = try scratch.write("token", "CANARY")
      try #require(chown(path, row.owner, row.group) == 0 && chmod(path, row.mode) == 0)
      let problem = ReadSource(.file(path)).problem
      #expect((problem == nil) == row.isGood, "\(row)")
      guard row.owner != 0 else { continue }
      #expect(problem?.contains("chown root \(path)") == true)
    }
  }

  @Test(.enabled(if: geteuid() == 0)) func `A link to another's file is judged by the file`() throws {
    let path = try scratch.write("theirs", "CANARY")
    try #require(chown(path, 12_345, 12_345) == 0)
    let link = "\(scratch.path)/link"
    try #require(symlink(path, link) == 0)
    #expect(ReadSource(.file(link)).problem != nil)
  }

  @Test func `What is no regular file is not opened for long`() throws {
    let fifo = "\(scratch.path)/fifo"
    try #require(mkfifo(fifo, 0o600) == 0)
    for path in [fifo, "/dev/zero", "/dev/tty", scratch.path] {
      let problem = try #require(ReadSource(.file(path)).problem)
      #expect(problem.contains(path))
    }
    #expect(ReadSource(.file(fifo)).problem?.contains("not a regular file") == true)
  }

  @Test func `A missing file, with what to do`() throws {
    let path = "\(scratch.path)/none"
    #expect(
      ReadSource(.file(path)).problem == "\(path) does not exist: write the secret into it, then chmod 0600 \(path)")
    #expect(ReadSource(.file("\(path)/deeper")).problem?.contains("does not exist") == true)
  }

  @Test func `A missing systemd credential names the line to add`() async throws {
    await #expect(processExitsWith: .success) {
      unsetenv("CREDENTIALS_DIRECTORY")
      let missing = ReadSource(.systemd("github"))
      #expect(missing.problem?.contains("LoadCredential=github:/path/to/the/secret") == true)

      let scratch = try Scratch()
      setenv("CREDENTIALS_DIRECTORY", scratch.path, 1)
      let stillMissing = ReadSource(.systemd("github"))
      #expect(stillMissing.problem == missing.problem)

      // systemd's files are 0400, or 0440 when an ACL grants us access
      for mode in [0o400, 0o440] as [mode_t] {
        try scratch.write("github\(mode)", "t0k", mode: mode)
        let value = ReadSource(.systemd("github\(mode)"))
        #expect(value.problem == nil)
        #expect(value.directories == [scratch.path])
      }
      try scratch.write("open", "t0k", mode: 0o444)
      #expect(ReadSource(.systemd("open")).problem != nil)
      // The last one leads to a file that would do
      let back = "../\(scratch.path.split(separator: "/").last ?? "")/github\(0o400)"
      for name in ["", ".", "..", "../github", "a/b", back] {
        #expect(ReadSource(.systemd(name)).problem != nil)
      }
    }
  }

  @Test func `An environment variable is read once, then gone from the process`() async throws {
    await #expect(processExitsWith: .success) {
      setenv("BEARERD_TEST_TOKEN", "CANARY", 1)
      setenv("BEARERD_TEST_BAD", "\u{FEFF}CANARY", 1)
      let address = try #require(getenv("BEARERD_TEST_TOKEN"))
      #expect(ReadSource(.env("BEARERD_TEST_TOKEN")).text == "CANARY")
      #expect(getenv("BEARERD_TEST_TOKEN") == nil)
      #expect((0..<6).allSatisfy { address[$0] == 0 })
      // The next configuration still has it
      #expect(ReadSource(.env("BEARERD_TEST_TOKEN")).text == "CANARY")

      #expect(ReadSource(.env("BEARERD_TEST_BAD")).problem?.contains("byte order mark") == true)
      #expect(getenv("BEARERD_TEST_BAD") == nil)
      for name in ["BEARERD_TEST_NONE", "", "A=B"] {
        #expect(ReadSource(.env(name)).problem?.contains("is not set") == true)
      }
    }
  }
}

/// Whether this user may mount something here.
private let isPrivateMountPossible: Bool = {
  let place = "/tmp/bearerd-mount-\(getpid())"
  guard mkdir(place, 0o700) == 0 else { return false }
  defer { rmdir(place) }
  guard mount("none", place, "tmpfs", 0, "") == 0 else { return false }
  return umount2(place, Int32(MNT_DETACH)) == 0
}()
