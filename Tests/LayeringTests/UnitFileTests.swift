import Foundation
import TestSupport
import Testing

@Suite struct UnitFileTests {
  private static let root = repositoryRoot
  private static let analyze = "/usr/bin/systemd-analyze"

  /// `--threshold` is in tenths: systemd-analyze fails if the exposure is higher than 1.5 of 10.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyze), "needs systemd-analyze"))
  func `systemd rates the unit's exposure 1.5 or better`() throws {
    let run = try run([
      Self.analyze, "security", "--offline=true", "--threshold=15", "--no-pager",
      "\(Self.root)/systemd/bearerd.service",
    ])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.contains("Overall exposure level for bearerd.service"))
  }

  /// Copies of the units, with the programs of this build instead of the installed programs.
  @Test(
    .enabled(if: FileManager.default.isExecutableFile(atPath: analyze), "needs systemd-analyze"),
    arguments: ["", "user/"])
  func `systemd reports no problem in the units`(_ folder: String) throws {
    let scratch = try Scratch()
    let units = ["bearerd.service", "bearerd.socket"]
    for unit in units {
      let text = try String(contentsOfFile: "\(Self.root)/systemd/\(folder)\(unit)", encoding: .utf8)
      let binaries = (RunningDaemon.binary("bearerd") as NSString).deletingLastPathComponent
      try scratch.write(unit, text.replacing("/usr/local/bin/", with: binaries + "/"), mode: 0o644)
    }
    let manager = folder.isEmpty ? "--system" : "--user"
    let result = try run(
      [Self.analyze, "verify", manager, "--man=no", "--recursive-errors=no"] + units.map { scratch.path + "/" + $0 },
      environment: ["XDG_RUNTIME_DIR": scratch.path])
    #expect(result.status == 0 && !result.errors.contains("bearerd"), "\(result.errors)")
  }

  /// A user's systemd creates a user namespace for every setting that changes the view of the file system.
  @Test func `the user unit creates no user namespace, which would hide the users of callers`() throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/user/bearerd.service", encoding: .utf8)
    let forbidden =
      /^(Private|Protect(?!ed)|ReadOnly|ReadWrite|Inaccessible|Bind|Mount|RootDirectory|TemporaryFileSystem|User=|Group=)/
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      #expect(line.firstMatch(of: forbidden) == nil, "\(line)")
    }
  }

  /// When a limit is reached, systemd stops the socket unit and frees the port (T5).
  @Test(arguments: ["", "user/"]) func `failing starts do not stop the socket unit`(_ folder: String) throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/\(folder)bearerd.service", encoding: .utf8)
    #expect(text.split(separator: "\n").contains("StartLimitIntervalSec=0"))
    let socket = try String(contentsOfFile: "\(Self.root)/systemd/\(folder)bearerd.socket", encoding: .utf8)
    #expect(socket.split(separator: "\n").contains("TriggerLimitIntervalSec=0"))
    for line in ["ListenStream=127.0.0.1:7070", "ListenStream=[::1]:7070", "FileDescriptorName=main"] {
      #expect(socket.split(separator: "\n").contains(Substring(line)), "\(line)")
    }
  }

  /// bearerd exits with 2 if the user has to act first, for example about an unusable audit file (T58).
  @Test(arguments: ["", "user/"]) func `systemd does not restart bearerd after an error that the user must fix`(
    _ folder: String
  ) throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/\(folder)bearerd.service", encoding: .utf8)
    #expect(text.split(separator: "\n").contains("RestartPreventExitStatus=2"))
    let manual = try String(contentsOfFile: "\(Self.root)/docs/man/bearerd.8", encoding: .utf8)
    #expect(manual.contains("\n.It 2\n"))
  }

  /// bearerd asks the kernel for the user of each connection, over netlink.
  @Test func `the sandbox allows bearerd to identify callers`() throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/bearerd.service", encoding: .utf8)
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.contains { $0.hasPrefix("RestrictAddressFamilies=") && $0.contains("AF_NETLINK") })
    #expect(lines.contains("PrivateUsers=no") && lines.contains("PrivateNetwork=no"))
  }

  /// The daemon runs commands that print secrets in its own sandbox (T42).
  @Test func `the sandbox allows bearerd to run programs`() throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/bearerd.service", encoding: .utf8)
    let lines = text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") }
    #expect(!lines.contains { $0.hasPrefix("NoExecPaths=") })
    let filters = lines.filter { $0.hasPrefix("SystemCallFilter=") }
    #expect(filters == ["SystemCallFilter=@system-service", "SystemCallFilter=~@privileged @resources"])
    // Enough tasks for bearerd's threads and for several programs that start others.
    let tasks = lines.compactMap { $0.hasPrefix("TasksMax=") ? Int($0.dropFirst("TasksMax=".count)) : nil }
    #expect(tasks.allSatisfy { $0 >= 256 })
  }

  /// The system calls that start, watch and end a helper.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyze), "needs systemd-analyze"))
  func `the system call filter allows every call that is needed to run programs`() throws {
    let allowed = try systemCalls(of: "@system-service")
    let forbidden = try systemCalls(of: "@privileged").union(systemCalls(of: "@resources"))
    for call in [
      "clone", "execve", "setsid", "prctl", "dup2", "close_range", "chdir", "pidfd_open", "wait4", "kill", "splice",
      "timerfd_create", "timerfd_settime", "pipe2", "rt_sigprocmask", "rt_sigaction",
    ] {
      #expect(allowed.contains(call) && !forbidden.contains(call), "\(call)")
    }
  }

  /// Returns the system calls of a set, including the sets that the set contains.
  private func systemCalls(of set: String) throws -> Set<String> {
    let output = try run([Self.analyze, "syscall-filter", "--no-pager", set]).output
    let words = output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.hasPrefix("#") && $0 != set }
    return try words.reduce(into: []) { calls, word in
      if word.hasPrefix("@") { calls.formUnion(try systemCalls(of: word)) } else { calls.insert(word) }
    }
  }
}
