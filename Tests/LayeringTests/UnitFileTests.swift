import Foundation
import TestSupport
import Testing

/// The systemd unit that ships.
@Suite struct UnitFileTests {
  private static let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
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
