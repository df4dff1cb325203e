import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// The daemon runs as its own system user, so that programs which use a credential cannot read it (T8).
@Suite(.waits) struct DaemonRunsAsAnotherUser {
  private static let (daemon, app) = (990, 7_117)
  private static let allowed: Set = [Int(EACCES), Int(EPERM)]

  /// Prints one line per attempt, with the error number. 0 means success.
  private static let attempts = #"""
    use Fcntl;
    my ($p, @secrets) = @ARGV;
    sub tried { my ($name, $worked) = @_; printf "%s=%d\n", $name, $worked ? 0 : $! + 0 }
    for my $file (qw(mem environ maps smaps auxv pagemap syscall stack io personality fd/0 fdinfo/0 task/PID/mem)) {
      (my $place = $file) =~ s/PID/$p/;
      tried("read $file", sysopen(my $f, "/proc/$p/$place", O_RDONLY) && sysread($f, my $byte, 0) == 0);
    }
    tried("write $_", sysopen(my $f, "/proc/$p/$_", O_WRONLY)) for qw(mem clear_refs coredump_filter);
    tried("list $_", opendir(my $d, "/proc/$p/$_")) for qw(fd map_files);
    tried("follow $_", defined readlink "/proc/$p/$_") for qw(exe cwd root fd/0 ns/net);
    tried("secret $_", sysopen(my $f, $_, O_RDONLY)) for @secrets;
    tried("replace $_", rename($_, "$_.old")) for @secrets;
    """#

  /// Attempts with system calls for which Perl has no function. The numbers are for x86_64.
  private static let systemCalls = #"""
    sub call { my ($name, @words) = @_; tried($name, syscall(shift @words, @words) != -1) }
    my $room = "\0" x 64;
    my $here = pack("QQ", unpack("Q", pack("P", $room)), 8);
    my $there = pack("QQ", 0x10000, 8);
    call("ptrace(SEIZE)", 101, 0x4206, $p + 0, 0, 0);
    call("ptrace(ATTACH)", 101, 16, $p + 0, 0, 0);
    call("process_vm_readv", 310, $p + 0, $here, 1, $there, 1, 0);
    call("process_vm_writev", 311, $p + 0, $here, 1, $there, 1, 0);
    call("kcmp", 312, $p + 0, $$ + 0, 0, 0, 0);
    call("prlimit(CORE)", 302, $p + 0, 4, pack("QQ", 0, 0), 0);
    my $handle = syscall(434, $p + 0, 0);
    call("pidfd_getfd", 438, $handle, 0, 0);
    """#

  private func attempt(on pid: pid_t, _ secrets: [String]) throws -> [String: Int] {
    var script = Self.attempts
    #if arch(x86_64)
      script += "\n" + Self.systemCalls
    #endif
    script += "\ntried(\"signal $_\", kill($_, $p)) for qw(ABRT QUIT KILL);"
    let result = try run(Stage.user(Self.app) + ["perl", "-e", script, "\(pid)"] + secrets)
    #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    let lines = result.output.split(separator: "\n").map { $0.split(separator: "=") }
    return Dictionary(lines.compactMap { $0.count == 2 ? (String($0[0]), Int($0[1]) ?? -1) : nil }) { $1 }
  }

  @Test func `T8: a program that may use a secret cannot read it from the daemon, its files or a core`() throws {
    guard isRoot else {
      Issue.record("not tried: only root can start a daemon and a program as two users", severity: .warning)
      return
    }
    let stage = try Stage()
    let secret = stage.scratch.path + "/canary.token"
    // As in an installation, everybody can read directory and configuration, but not the secret.
    _ = try run(["chown", "-R", "\(Self.daemon):\(Self.daemon)", stage.scratch.path])
    _ = try run(["chmod", "0755", stage.scratch.path])
    let text = stage.configuration().replacing("allow_users: [0]", with: "allow_users: [\(Self.app)]")
    let user = ["/usr/bin/setpriv"] + Stage.user(Self.daemon).dropFirst() + ["--"]
    try stage.start(text, wrapper: user)
    let pid = stage.daemon!.pid
    func isServed() throws -> Bool { try stage.sendRequest(as: Stage.user(Self.app)).output.hasPrefix("HTTP/1.1 200 ") }
    #expect(try isServed(), "using it is what it may")

    let results = try attempt(on: pid, [secret])
    #expect(results.count >= 28, "\(results)")
    for (name, error) in results { #expect(Self.allowed.contains(error), "\(name): \(error)") }
    #expect(try isServed())

    // The same attempts succeed on an unprotected process.
    let sleeping = try Child("/usr/bin/env", Stage.user(Self.app) + ["sleep", "60"], environment: [:])
    let mine = try stage.scratch.write("mine", "x")
    _ = try run(["chown", "\(Self.app)", mine])
    #expect(eventually { (try? run(["cat", "/proc/\(sleeping.pid)/comm"]).output) == "sleep\n" })
    let open = try attempt(on: sleeping.pid, [mine]).filter { $0.value == 0 }.keys
    for name in ["read mem", "read environ", "read maps", "write mem", "list fd", "follow exe", "secret \(mine)"] {
      #expect(open.contains(name), "\(name)")
    }
    #if arch(x86_64)
      #expect(open.contains("ptrace(SEIZE)") && open.contains("prlimit(CORE)") && open.contains("kcmp"))
    #endif
    stage.assertCanary(times: 2)
  }
}
