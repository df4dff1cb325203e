import Foundation
import Glibc
import System
import Testing

/// A program that prints a secret (T42).
@Suite struct HelperProcessTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func script(_ text: String, limit: Int = 65_536) throws -> HelperProcess {
    try HelperProcess(words: ["/bin/sh", "-c", text], limit: limit)
  }

  /// Waits until a process ends, and returns its output. The output is complete if no child process keeps the pipe
  /// open.
  func ending(_ process: HelperProcess) throws -> (output: String, end: HelperProcess.Termination) {
    while true {
      wait(for: [process.exit, process.output])
      let progress = try process.readOutput()
      try #require(progress != .tooMuch)
      if progress == .complete { wait(for: [process.exit]) }
      guard let end = process.termination() else { continue }
      _ = try process.readOutput()
      while process.discardErrors() {}
      return (process.withOutput { String(decoding: $0, as: UTF8.self) }, end)
    }
  }

  private func wait(for descriptors: [Int32]) {
    var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    #expect(poll(&entries, nfds_t(entries.count), 30_000) > 0, "no event within 30 seconds")
  }

  private func text(_ name: String) throws -> String { try String(contentsOfFile: scratch(name), encoding: .utf8) }

  @Test func `a program's output is read, and no shell interprets its arguments`() throws {
    let words = ["/usr/bin/printf", "%s|", "a b", "", "$HOME", "`id`", "*", "ü\"'\\"]
    let process = try HelperProcess(words: words, limit: 100)
    let (output, end) = try ending(process)
    #expect(output == "a b||$HOME|`id`|*|ü\"'\\|")
    #expect(end == .status(0))
    #expect(process.errorCount == 0)
  }

  @Test func `a program gets three environment variables and none of bearerd's own`() throws {
    setenv("TEST_OF_HELPERS", "inherited", 1)
    let (output, _) = try ending(HelperProcess(words: ["/usr/bin/env"], limit: 1000))
    let names = output.split(separator: "\n").map { String($0.prefix { $0 != "=" }) }
    #expect(names.sorted() == ["HOME", "LANG", "PATH"])
    #expect(output.contains("PATH=/usr/bin:/bin\n") && output.contains("LANG=C\n"))
  }

  @Test func `a program gets the named variables of bearerd, also empty ones, and no absent one`() throws {
    setenv("PASSED_TO_HELPERS", "a=b ü", 1)
    setenv("EMPTY_FOR_HELPERS", "", 1)
    let names = ["PASSED_TO_HELPERS", "EMPTY_FOR_HELPERS", "ABSENT_FOR_HELPERS"]
    let (output, _) = try ending(HelperProcess(words: ["/usr/bin/env"], passing: names, limit: 1000))
    let lines = output.split(separator: "\n")
    #expect(lines.count == 5)
    #expect(lines.contains("PASSED_TO_HELPERS=a=b ü") && lines.contains("EMPTY_FOR_HELPERS="))
  }

  @Test func `a program inherits no descriptor, and its standard input is empty`() throws {
    let open = dup(STDERR_FILENO)  // not close-on-exec
    defer { close(open) }
    // The fourth descriptor is the directory that `ls` reads.
    let (output, end) = try ending(script("exec /bin/ls -l /proc/self/fd"))
    #expect(end == .status(0))
    let links = output.split(separator: "\n").compactMap { $0.split(separator: " ").last }.dropFirst()
    #expect(links.count == 4, "\(output)")
    #expect(links.first == "/dev/null", "\(output)")
    let (read, _) = try ending(script("cat; echo over"))
    #expect(read == "over\n")
  }

  @Test func `a program has its own session, default signal handling and the root directory`() throws {
    signal(SIGPIPE, SIG_IGN)
    let (output, _) = try ending(
      script("pwd; cut -d' ' -f5,6,7 /proc/$$/stat; echo $$; exec sed -n 's/Sig[BI].*\\t//p' /proc/self/status"))
    let lines = output.split(separator: "\n").map(String.init)
    try #require(lines.count == 5, "\(output)")
    #expect(lines[0] == "/")
    #expect(lines[1] == "\(lines[2]) \(lines[2]) 0", "group, session, no terminal")
    // The mask excludes the two real-time signals that glibc uses itself.
    for mask in lines[3...] { #expect(UInt64(mask, radix: 16).map { $0 & 0x7FFF_FFFF } == 0, "\(output)") }
  }

  @Test func `a program's exit status or signal is reported`() throws {
    #expect(try ending(script("exit 7")).end == .status(7))
    #expect(try ending(script("kill -TERM $$")).end == .signal(SIGTERM))
    #expect(try ending(HelperProcess(words: [scratch("missing")], limit: 1)).end == .status(127))
    scratch.write("#!/bin/sh\n", to: "plain", mode: 0o600)
    #expect(try ending(HelperProcess(words: [scratch("plain")], limit: 1)).end == .status(126))
  }

  @Test func `only the length of a program's standard error is kept`() throws {
    let process = try script("printf CANARY >&2; printf out; printf CANARY >&2")
    let (output, end) = try ending(process)
    #expect(output == "out" && end == .status(0))
    #expect(process.errorCount == 12)
  }

  @Test(arguments: [(1, true), (4095, true), (4096, true), (4097, true), (65_536, true), (65_537, false)])
  func `output is read up to the maximum length of a secret`(_ length: Int, _ fits: Bool) throws {
    let process = try script("head -c \(length) /dev/zero | tr '\\0' x")
    if fits {
      #expect(try ending(process).output == String(repeating: "x", count: length))
    } else {
      var progress = HelperProcess.Progress.more
      while progress == .more {
        wait(for: [process.output])
        progress = try process.readOutput()
      }
      #expect(progress == .tooMuch)
      #expect(process.withOutput(\.count) <= 65_537)
    }
  }

  @Test func `endless output is refused without waiting for its end`() throws {
    let process = try HelperProcess(words: ["/usr/bin/yes"], limit: 65_536)
    var progress = HelperProcess.Progress.more
    while progress == .more {
      wait(for: [process.output])
      progress = try process.readOutput()
    }
    #expect(progress == .tooMuch)
    process.kill()
    wait(for: [process.exit])
    #expect(process.termination() == .signal(SIGKILL))
  }

  @Test func `a program is killed together with its child processes, and reaped`() throws {
    let process = try script("sleep 1000 & echo $! $$; wait")
    wait(for: [process.output])
    #expect(try process.readOutput() == .more)
    let pids = process.withOutput { String(decoding: $0, as: UTF8.self) }.split { $0 == " " || $0 == "\n" }
    try #require(pids.count == 2)
    #expect(process.termination() == nil)
    process.kill()
    wait(for: [process.exit])
    #expect(process.termination() == .signal(SIGKILL))
    // No process has the pipe open any more.
    wait(for: [process.output])
    #expect(try process.readOutput() == .complete)
    #expect(!FileManager.default.fileExists(atPath: "/proc/\(pids[1])"), "not even a zombie")
  }

  @Test func `child processes that a program leaves behind are killed`() throws {
    let process = try script("sleep 1000 & echo token")
    wait(for: [process.exit])
    #expect(process.termination() == .status(0))
    #expect(try process.readOutput() != .tooMuch)
    #expect(process.withOutput { String(decoding: $0, as: UTF8.self) } == "token\n")
    wait(for: [process.output])
    #expect(try process.readOutput() == .complete)
  }

  @Test func `releasing a HelperProcess kills its process`() throws {
    let descriptor = try script("exec sleep 1000").duplicateExit()
    defer { close(descriptor) }
    wait(for: [descriptor])
  }

  @Test(.enabled(if: locksMemory)) func `a program's output is stored in locked memory`() throws {
    #expect(try script("echo token").isLocked)
  }
}

extension HelperProcess {
  /// Returns a copy of the exit descriptor that outlives this object.
  fileprivate func duplicateExit() -> Int32 { fcntl(exit, F_DUPFD_CLOEXEC, 3) }
}

/// Programs that other users could have changed are refused (T42).
@Suite struct ProgramFileTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    scratch.write("#!/bin/sh\n", to: "program")
    chmod(scratch("program"), 0o755)
  }

  @Test func `a program of root or of the daemon's user may run`() {
    for path in ["/bin/sh", "/usr/bin/env", scratch("program")] { #expect(ProgramFile.problem(of: path) == nil) }
  }

  @Test(arguments: [
    (0o775, "other users can write"), (0o757, "other users can write"), (0o644, "cannot be executed"),
  ])
  func `a program that others can write, or that is not executable, is refused`(_ mode: mode_t, _ reason: String) throws
  {
    chmod(scratch("program"), mode)
    #expect(try #require(ProgramFile.problem(of: scratch("program"))).contains(reason))
  }

  @Test func `a path that is not a program is refused`() throws {
    for (path, reason) in [
      (scratch("missing"), "does not exist"), (scratch("program/x"), "does not exist"),
      (scratch.path, "not a regular file"), ("bin/sh", "not an absolute path"), ("", "not an absolute path"),
      ("/dev/null", "/dev/null"),
    ] {
      #expect(try #require(ProgramFile.problem(of: path)).contains(reason), "\(path)")
    }
  }

  @Test func `a program in a directory that others can write is refused`() throws {
    try #require(mkdir(scratch("open"), 0o700) == 0)
    try #require(rename(scratch("program"), scratch("open/program")) == 0)
    #expect(ProgramFile.problem(of: scratch("open/program")) == nil)
    chmod(scratch("open"), 0o777)
    #expect(try #require(ProgramFile.problem(of: scratch("open/program"))).contains("chmod go-w \(scratch("open"))"))
    chmod(scratch("open"), 0o1777)
    #expect(
      ProgramFile.problem(of: scratch("open/program")) == nil,
      "in a sticky directory, only the owner can replace an entry")
  }

  @Test func `a program behind a link is refused if any step of the link is unsafe`() throws {
    for name in ["one", "two"] { try #require(mkdir(scratch(name), 0o700) == 0) }
    try #require(symlink("../two/link", scratch("one/link")) == 0)
    try #require(symlink(scratch("program"), scratch("two/link")) == 0)
    #expect(ProgramFile.problem(of: scratch("one/link")) == nil)
    #expect(ProgramFile.problem(of: scratch("one/../one/./link")) == nil)
    chmod(scratch("two"), 0o777)
    #expect(try #require(ProgramFile.problem(of: scratch("one/link"))).contains("chmod go-w \(scratch("two"))"))
    try #require(symlink("circle", scratch("circle")) == 0)
    #expect(try #require(ProgramFile.problem(of: scratch("circle"))).contains("too many symbolic links"))
  }

  @Test(.enabled(if: isRoot, "gives files away")) func `a program, link or directory of another user is refused`()
    throws
  {
    try #require(mkdir(scratch("theirs"), 0o755) == 0)
    try #require(symlink(scratch("program"), scratch("theirs/link")) == 0)
    #expect(ProgramFile.problem(of: scratch("theirs/link")) == nil)
    lchown(scratch("theirs/link"), 12_345, 0)
    #expect(try #require(ProgramFile.problem(of: scratch("theirs/link"))).contains("belongs to uid 12345"))
    chown(scratch("theirs"), 12_345, 0)
    #expect(try #require(ProgramFile.problem(of: scratch("theirs/link"))).contains("chown root \(scratch("theirs"))"))
    chown(scratch("program"), 12_345, 0)
    #expect(try #require(ProgramFile.problem(of: scratch("program"))).contains("chown root \(scratch("program"))"))
  }
}

/// A timer on a clock that continues while the machine sleeps.
@Suite struct BootTimerTests {
  private func isReadable(_ timer: BootTimer, within milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: timer.descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, milliseconds) > 0
  }

  @Test func `a boot timer is readable from its time on, until it is set again`() throws {
    let timer = try BootTimer()
    #expect(!isReadable(timer, within: 0))
    let time = BootTimer.now + 20
    timer.set(at: time)
    #expect(isReadable(timer, within: 30_000))
    #expect(BootTimer.now >= time)
    #expect(isReadable(timer, within: 0))
    timer.set(at: .max)
    #expect(!isReadable(timer, within: 0))
    timer.set(at: 0)
    #expect(isReadable(timer, within: 30_000), "a time in the past fires immediately")
    timer.set(at: nil)
    #expect(!isReadable(timer, within: 0))
  }
}
