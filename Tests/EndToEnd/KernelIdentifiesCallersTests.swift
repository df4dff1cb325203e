import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// The kernel identifies a caller. Data that the client sends does not.
@Suite(.waits) struct KernelIdentifiesCallers {
  /// A service at a TCP port and a Unix socket, and metrics, each with its own users.
  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T3 T6 T7 T9: only listed users are admitted, and the log names the line to add for others`() throws {
    let stage = try Stage()
    let path = "\(stage.scratch.path)/app.sock"
    #expect(chmod(stage.scratch.path, 0o755) == 0)
    let root = stage.configuration(
      listener: "address: [localhost:0, \"unix:\(path)\"]\n    mode: \"0666\"",
      more: "control: control.sock\nmetrics: { address: localhost:0, allow_users: [12345] }")
    func listing(_ users: String) -> String {
      root.replacing("    allow_users: [0]\n", with: "    allow_users: [\(users)]\n")
    }
    let other = Stage.user(12_345)
    func status(_ wrapper: [String], unix: String? = nil) throws -> Substring {
      try stage.sendRequest(as: wrapper, unix: unix).output.dropFirst(9).prefix(3)
    }
    try stage.start(root)
    // On TCP, the kernel's socket table identifies the caller, and on the Unix socket SO_PEERCRED.
    for unix in [nil, path] {
      #expect(try status([], unix: unix) == "200")
      let refused = try stage.sendRequest(as: other, unix: unix)
      #expect(
        refused.output.hasPrefix("HTTP/1.1 403 ") && refused.output.contains("urn:bearerd:error:caller-not-allowed"))
      let line: LoggedField = .naming("listeners.main", "allow_users: [root, 12345]")
      #expect(stage.log.wait(for: .request, ["uid": 12345, "help": line], count: unix == nil ? 1 : 2))
    }
    #expect(stage.upstream.records.count == 1)

    // Root in another user namespace is user 12345 outside. Without a map, the process has the overflow uid inside.
    let namespaces = [other + ["unshare", "--user", "--map-root-user"], other + ["unshare", "--user"]]
    if (try? run(namespaces[0] + ["true"]))?.status == 0 {
      for wrapper in namespaces { #expect(try status(wrapper) == "403") }
    }

    // A user who may use the services may not read the metrics.
    let metrics = try stage.daemon!.port("metrics")
    let script = """
      my $s = IO::Socket::INET->new("localhost:\(metrics)") or exit 3;
      print $s "GET /metrics HTTP/1.0\\r\\nHost: localhost:\(metrics)\\r\\n\\r\\n"; $s->flush; local $/; print scalar <$s>;
      """
    let scrape = ["perl", "-MIO::Socket::INET", "-e", script]
    #expect(try run(other + scrape).output.hasPrefix("HTTP/1.1 200 "))
    #expect(try run(Stage.user(12_346) + scrape).output.hasPrefix("HTTP/1.1 403 "))
    #expect(try run(scrape).output.hasPrefix("HTTP/1.1 403 "))
    #expect(stage.log.contains(.request, ["help": .naming("metrics", "allow_users: [12345, ")]))

    // Root must be listed like every other user.
    try stage.reload(listing("12345"))
    #expect(try status(other) == "200")
    #expect(try status([]) == "403")
    #expect(stage.log.wait(for: .request, ["help": .naming("allow_users: [12345, root]")]))

    // `allow_users` of a service or credential narrows the users of the listener.
    let both = listing("0, 12345")
    try stage.reload(both)
    #expect(try status(other) == "200")
    try stage.reload(both.replacing("    credential: canary\n", with: "    credential: canary\n    allow_users: [0]\n"))
    #expect(try stage.sendRequest(as: other).output.contains("caller-not-allowed"))
    #expect(stage.log.wait(for: .request, ["help": .naming("services.api", "allow_users: [root, 12345]")]))
    #expect(try status([]) == "200")
    try stage.reload(
      both.replacing("bearer: { file: canary.token }", with: "bearer: { file: canary.token }\n    allow_users: [0]"))
    #expect(try ["403", "503"].contains(status(other)))
    #expect(try status([]) == "200")
    stage.assertCanary(times: 6)
  }

  @Test(.enabled(if: isRoot, "becomes another user, and makes a group"))
  func `T6: allow_groups admits members by passwd or by group file, and no other user`() throws {
    let stage = try Stage()
    // The daemon sees these files in place of the system's.
    let users = try stage.scratch.write(
      "passwd",
      "root:x:0:0::/:/bin/sh\nlisted:x:12345:12345::/:/bin/sh\nprimary:x:12346:54321::/:/bin/sh\nno:x:12347:12347::/:/bin/sh\n",
      mode: 0o644)
    let groups = "root:x:0:\nbuilders:x:54321:listed\nothers:x:12347:\n"
    let file = try stage.scratch.write("group", groups, mode: 0o644)
    let script = "mount --bind \(users) /etc/passwd && mount --bind \(file) /etc/group && exec \"$@\""
    let wrapper = ["/usr/bin/env", "unshare", "--mount", "sh", "-c", script, "sh"]
    guard (try? run(wrapper + ["true"]))?.status == 0 else { return }
    let byName = stage.configuration().replacing("allow_users: [0]", with: "allow_groups: [builders]")
    try stage.start(byName, wrapper: wrapper)
    func statuses() throws -> [Substring] {
      try [12_345, 12_346, 12_347, 0].map { try stage.sendRequest(as: Stage.user($0)).output.dropFirst(9).prefix(3) }
    }
    #expect(try statuses() == ["200", "200", "403", "403"])
    // The suggested line quotes the user name `no`, which is a Boolean in YAML.
    let line: LoggedField = .naming("listeners.main", "allow_users: ['no']", "allow_groups")
    #expect(stage.log.wait(for: .request, ["uid": 12347, "help": line]))
    // The groups of the caller's process do not count. Only the groups of its uid do.
    let claiming = ["setpriv", "--reuid=12347", "--regid=54321", "--groups=54321"]
    #expect(try stage.sendRequest(as: claiming).output.hasPrefix("HTTP/1.1 403 "))
    // Groups by number, together with users.
    try stage.reload(
      stage.configuration().replacing("allow_users: [0]", with: "allow_groups: [54321]\n    allow_users: [0]"))
    #expect(try statuses() == ["200", "200", "403", "200"])
    // Groups are read only when the configuration is loaded.
    try groups.replacing(":listed", with: ":").write(toFile: file, atomically: false, encoding: .utf8)
    #expect(try stage.sendRequest(as: Stage.user(12_345)).output.hasPrefix("HTTP/1.1 200 "))
    try stage.reload(byName)
    #expect(try statuses() == ["403", "200", "403", "403"])
    stage.assertCanary(times: 7)
  }

  @Test func `T7: a request of a closed connection is neither attributed to the next user of its port nor forwarded`()
    throws
  {
    let stage = try Stage()
    try stage.start()
    let port = try stage.daemon!.port()
    kill(stage.daemon!.pid, SIGSTOP)
    let request = "GET /api/gone HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n"
    let gone = try connected(to: port, from: 0)
    #expect(write(gone, request, request.utf8.count) == request.utf8.count)
    var (address, size) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
    _ = withUnsafeMutableBytes(of: &address) {
      getsockname(gone, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
    }
    // A reset frees the port immediately, and the daemon can still read the sent bytes.
    var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
    setsockopt(gone, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    close(gone)
    let next = try connected(to: port, from: UInt16(bigEndian: address.sin_port))
    defer { close(next) }
    for _ in 0..<20 {
      let client = try stage.client()
      try client.send(request)
      client.abandon()
    }
    kill(stage.daemon!.pid, SIGCONT)
    #expect(stage.log.wait(for: .request, ["refused": "caller-unknown"]))
    // This request is behind the others in the queue, so they have all been processed.
    #expect(try stage.get("/api/here").status == 200)
    #expect(!stage.recorded.contains("gone"))
    stage.assertCanary(times: 1)
  }

  private func connected(to port: UInt16, from source: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    for (port, call) in [(source, bind), (port, connect)] {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      let status = withUnsafeBytes(of: &address) {
        call(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), UInt32($0.count))
      }
      if status != 0 { throw TestFailure("errno \(errno)") }
    }
    return descriptor
  }

  #if arch(x86_64)
    @Test func `T7: all requests are refused if the lookup of callers fails`() throws {
      // A seccomp filter, which the daemon inherits, lets socket(AF_NETLINK) fail with EACCES.
      let filter = """
        my @f = ([0x20,0,0,0], [0x15,0,3,41], [0x20,0,0,16], [0x15,0,1,16], [0x06,0,0,0x0005000D], [0x06,0,0,0x7fff0000]);
        my $code = join "", map { pack "SCCL", @$_ } @f;
        my $program = pack "Sx6P", scalar(@f), $code;
        syscall(157, 38, 1, 0, 0, 0) == 0 or die "no_new_privs: $!";
        syscall(157, 22, 2, $program) == 0 or die "seccomp: $!";
        exec @ARGV;
        """
      let stage = try Stage()
      let daemon = try stage.start(wrapper: ["/usr/bin/perl", "-e", filter, "--"])
      #expect(daemon.log.wait(for: .callersUnknown, ["help": .naming("unix:/PATH")]))
      for _ in 0..<3 {
        let response = try stage.get()
        #expect(response.status == 403 && response.text.contains("urn:bearerd:error:caller-unknown"))
      }
      #expect(stage.upstream.records.isEmpty)
      stage.assertCanary(times: 0)
    }
  #endif

  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T8: a program of an admitted user can use a credential, but cannot read it`() throws {
    let stage = try Stage()
    let (owner, app) = (Stage.user(12_346), Stage.user(12_345))
    let file = try stage.scratch.write("bearerd.yaml", "", mode: 0o644)
    _ = try run(["chown", "-R", "12346:12346", stage.scratch.path])
    try stage.start(
      stage.configuration().replacing("allow_users: [0]", with: "allow_users: [12345]"),
      wrapper: ["/usr/bin/setpriv"] + owner.dropFirst() + ["--"])
    #expect(try stage.sendRequest(as: app).output.hasPrefix("HTTP/1.1 200 "))
    let process = "/proc/\(stage.daemon!.pid)"
    let secret = stage.scratch.path + "/canary.token"
    for path in [file, secret]
      + ["mem", "environ", "maps", "auxv", "fd/0", "task/\(stage.daemon!.pid)/mem"].map({ "\(process)/\($0)" })
    {
      let result = try run(app + ["head", "-c", "1", path])
      #expect(result.status != 0 && result.output.isEmpty, "\(path)")
    }
    #expect(try run(app + ["ls", process + "/fd"]).status != 0)
    #expect(try run(app + ["kill", "-ABRT", "\(stage.daemon!.pid)"]).status != 0)
    // The control socket only admits the daemon's user and root.
    let control = try run(
      app + [
        "perl", "-MIO::Socket::UNIX", "-e",
        "my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit 3; print $s \"status\\n\"; print <$s>",
        stage.scratch.path + "/control.sock",
      ])
    #expect(control.output.isEmpty)
    #expect(try stage.sendRequest(as: app).output.hasPrefix("HTTP/1.1 200 "))
    stage.assertCanary(times: 2)
  }
}
