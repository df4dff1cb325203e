import Foundation
import Glibc
import Secrets
import Settings
import System
import TestSupport
import Testing

/// Owners and modes of secret files (T44).
@Suite struct SecretFileTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  @Test(arguments: [0o600, 0o400, 0o640, 0o440] as [mode_t]) func `a file that others cannot access is accepted`(
    mode: mode_t
  ) throws {
    let path = try scratch.write("token", "t0k", mode: mode)
    // 0640 is allowed only for root's files with the daemon's group. The tests may run as another user.
    let isAllowed = mode & 0o077 == 0 || geteuid() == 0
    #expect(ReadSource(.file(path)).problem == nil || !isAllowed)
  }

  @Test(arguments: [0o644, 0o604, 0o666, 0o620, 0o660, 0o602, 0o601, 0o610] as [mode_t])
  func `a file that others can access is refused, with the chmod command that corrects the mode`(mode: mode_t) throws {
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
  func `T44: others may read a secret file on a read-only mount`(isReadOnly: Bool) throws {
    let volume = "\(scratch.path)/secrets"
    try #require(mkdir(volume, 0o755) == 0 && mount("none", volume, "tmpfs", 0, "mode=0755") == 0)
    defer { umount2(volume, Int32(MNT_DETACH)) }
    for mode in [0o444, 0o644, 0o755, 0o666, 0o620, 0o400] as [mode_t] {
      try scratch.write("secrets/\(mode)", "t0k", mode: mode)
    }
    if isReadOnly {
      try #require(mount("none", volume, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), "mode=0755") == 0)
    }
    // On a writable mount, the result depends on the container.
    let isAccepted = FileWalk(volume).mount.isSecretMount
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

  @Test(.enabled(if: geteuid() == 0)) func `a file of another user, or readable by another group, is refused`() throws {
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

  @Test(.enabled(if: geteuid() == 0)) func `a link is accepted only if its target is accepted`() throws {
    let path = try scratch.write("theirs", "CANARY")
    try #require(chown(path, 12_345, 12_345) == 0)
    let link = "\(scratch.path)/link"
    try #require(symlink(path, link) == 0)
    #expect(ReadSource(.file(link)).problem != nil)
  }

  @Test func `a path that is not a regular file is refused without blocking`() throws {
    let fifo = "\(scratch.path)/fifo"
    try #require(mkfifo(fifo, 0o600) == 0)
    for path in [fifo, "/dev/zero", "/dev/tty", scratch.path] {
      let problem = try #require(ReadSource(.file(path)).problem)
      #expect(problem.contains(path))
    }
    #expect(ReadSource(.file(fifo)).problem?.contains("not a regular file") == true)
  }

  @Test func `a missing file is reported with the command to create it`() throws {
    let path = "\(scratch.path)/none"
    let problem = try #require(ReadSource(.file(path)).problem)
    #expect(problem.hasPrefix(path) && problem.hasSuffix("chmod 0600 \(path)"))
    #expect(ReadSource(.file("\(path)/deeper")).problem?.contains(path) == true)
  }

  @Test func `a missing systemd credential is reported with the LoadCredential line to add`() async throws {
    await #expect(processExitsWith: .success) {
      unsetenv("CREDENTIALS_DIRECTORY")
      let missing = ReadSource(.systemd("github"))
      #expect(missing.problem?.contains("LoadCredential=github:/path/to/the/secret") == true)

      let scratch = try Scratch()
      setenv("CREDENTIALS_DIRECTORY", scratch.path, 1)
      let stillMissing = ReadSource(.systemd("github"))
      #expect(stillMissing.problem == missing.problem)

      // systemd creates the files with mode 0400, or with 0440 if an ACL grants access.
      for mode in [0o400, 0o440] as [mode_t] {
        try scratch.write("github\(mode)", "t0k", mode: mode)
        let value = ReadSource(.systemd("github\(mode)"))
        #expect(value.problem == nil)
        #expect(value.directories == [scratch.path])
      }
      try scratch.write("open", "t0k", mode: 0o444)
      #expect(ReadSource(.systemd("open")).problem != nil)
      // The last name leads to a valid file.
      let back = "../\(scratch.path.split(separator: "/").last ?? "")/github\(0o400)"
      for name in ["", ".", "..", "../github", "a/b", back] {
        #expect(ReadSource(.systemd(name)).problem != nil)
      }
    }
  }

  @Test func `an environment variable is read once, and removed from the process`() async throws {
    await #expect(processExitsWith: .success) {
      setenv("BEARERD_TEST_TOKEN", "CANARY", 1)
      setenv("BEARERD_TEST_BAD", "\u{FEFF}CANARY", 1)
      let address = try #require(getenv("BEARERD_TEST_TOKEN"))
      #expect(ReadSource(.env("BEARERD_TEST_TOKEN")).text == "CANARY")
      #expect(getenv("BEARERD_TEST_TOKEN") == nil)
      #expect((0..<6).allSatisfy { address[$0] == 0 })
      // A later configuration can still use the value.
      #expect(ReadSource(.env("BEARERD_TEST_TOKEN")).text == "CANARY")

      #expect(ReadSource(.env("BEARERD_TEST_BAD")).problem?.contains("byte order mark") == true)
      #expect(getenv("BEARERD_TEST_BAD") == nil)
      for name in ["BEARERD_TEST_NONE", "", "A=B"] {
        #expect(ReadSource(.env(name)).problem?.contains("is not set") == true)
      }
    }
  }
}

/// Whether the user may mount file systems.
private let isPrivateMountPossible: Bool = {
  let path = "/tmp/bearerd-mount-\(getpid())"
  guard mkdir(path, 0o700) == 0 else { return false }
  defer { rmdir(path) }
  guard mount("none", path, "tmpfs", 0, "") == 0 else { return false }
  return umount2(path, Int32(MNT_DETACH)) == 0
}()
