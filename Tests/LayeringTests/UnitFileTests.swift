import Foundation
import TestSupport
import Testing

/// The systemd unit that ships.
@Suite struct UnitFileTests {
  private static let root = repositoryRoot
  private static let analyze = "/usr/bin/systemd-analyze"

  /// `--threshold` is in tenths: a unit that is more exposed than 1.5 of 10 makes it fail.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyze), "needs systemd-analyze"))
  func `the unit's exposure is 1.5 or better`() throws {
    let run = try run([
      Self.analyze, "security", "--offline=true", "--threshold=15", "--no-pager",
      "\(Self.root)/systemd/bearerd.service",
    ])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.contains("Overall exposure level for bearerd.service"))
  }

  /// As systemd reads them, with the programs of this build in the place of the installed ones.
  @Test(
    .enabled(if: FileManager.default.isExecutableFile(atPath: analyze), "needs systemd-analyze"),
    arguments: ["", "user/"])
  func `systemd has nothing to say about the units`(_ folder: String) throws {
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

  /// Whatever makes a user's systemd change the file system's view makes a user namespace first.
  @Test func `the user's unit makes no user namespace, from which every caller would look like nobody`() throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/user/bearerd.service", encoding: .utf8)
    let forbidden =
      /^(Private|Protect(?!ed)|ReadOnly|ReadWrite|Inaccessible|Bind|Mount|RootDirectory|TemporaryFileSystem|User=|Group=)/
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      #expect(line.firstMatch(of: forbidden) == nil, "\(line)")
    }
  }

  /// A limit that is reached makes systemd give the socket unit up, and with it the port (T5).
  @Test(arguments: ["", "user/"]) func `failing starts do not end the socket unit`(_ folder: String) throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/\(folder)bearerd.service", encoding: .utf8)
    #expect(text.split(separator: "\n").contains("StartLimitIntervalSec=0"))
    let socket = try String(contentsOfFile: "\(Self.root)/systemd/\(folder)bearerd.socket", encoding: .utf8)
    #expect(socket.split(separator: "\n").contains("TriggerLimitIntervalSec=0"))
    for line in ["ListenStream=127.0.0.1:7070", "ListenStream=[::1]:7070", "FileDescriptorName=main"] {
      #expect(socket.split(separator: "\n").contains(Substring(line)), "\(line)")
    }
  }

  /// 2 is what bearerd ends with when somebody has to act first (T58: an audit file that cannot be one, too).
  @Test(arguments: ["", "user/"]) func `what no further try puts right is not tried again`(_ folder: String) throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/\(folder)bearerd.service", encoding: .utf8)
    #expect(text.split(separator: "\n").contains("RestartPreventExitStatus=2"))
    let manual = try String(contentsOfFile: "\(Self.root)/docs/man/bearerd.8", encoding: .utf8)
    #expect(manual.contains(".It 2\nWrong usage, or a configuration that cannot be used"))
  }

  /// Without them no caller would be known: every one of them is asked of the kernel.
  @Test func `the sandbox lets callers be known`() throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/bearerd.service", encoding: .utf8)
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.contains { $0.hasPrefix("RestrictAddressFamilies=") && $0.contains("AF_NETLINK") })
    #expect(lines.contains("PrivateUsers=no") && lines.contains("PrivateNetwork=no"))
  }

  /// Commands that print secrets are run by the daemon itself, in its own sandbox (T42).
  @Test func `the sandbox lets programs be run`() throws {
    let text = try String(contentsOfFile: "\(Self.root)/systemd/bearerd.service", encoding: .utf8)
    let lines = text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") }
    #expect(!lines.contains { $0.hasPrefix("NoExecPaths=") })
    let filters = lines.filter { $0.hasPrefix("SystemCallFilter=") }
    #expect(filters == ["SystemCallFilter=@system-service", "SystemCallFilter=~@privileged @resources"])
    // Threads of our own, and those of several programs that each start others.
    let tasks = lines.compactMap { $0.hasPrefix("TasksMax=") ? Int($0.dropFirst("TasksMax=".count)) : nil }
    #expect(tasks.allSatisfy { $0 >= 256 })
  }

  /// What those filters leave has to hold all that a helper is started, watched and ended with.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyze), "needs systemd-analyze"))
  func `the filter knows every call that a program is run with`() throws {
    let allowed = try systemCalls(of: "@system-service")
    let forbidden = try systemCalls(of: "@privileged").union(systemCalls(of: "@resources"))
    for call in [
      "clone", "execve", "setsid", "prctl", "dup2", "close_range", "chdir", "pidfd_open", "wait4", "kill", "splice",
      "timerfd_create", "timerfd_settime", "pipe2", "rt_sigprocmask", "rt_sigaction",
    ] {
      #expect(allowed.contains(call) && !forbidden.contains(call), "\(call)")
    }
  }

  /// With those of the sets that the set contains.
  private func systemCalls(of set: String) throws -> Set<String> {
    let output = try run([Self.analyze, "syscall-filter", "--no-pager", set]).output
    let words = output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.hasPrefix("#") && $0 != set }
    return try words.reduce(into: []) { calls, word in
      if word.hasPrefix("@") { calls.formUnion(try systemCalls(of: word)) } else { calls.insert(word) }
    }
  }
}
