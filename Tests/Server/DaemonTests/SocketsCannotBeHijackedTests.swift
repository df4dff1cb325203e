import Foundation
import ServerSupport
import TestSupport
import Testing

/// Other programs that try to take over a port or a socket path of the daemon.
@Suite(.inProcess) struct SocketsCannotBeHijacked {
  @Test(arguments: Squat.allCases)
  func `T5: the daemon does not start if another program listens on its port in either family`(_ squat: Squat) throws {
    guard !squat.isIPv6 || LocalClient.hasIPv6 else { return }
    let stage = try Stage()
    let squatter = try #require(Squatting(squat, port: 0))
    let result = try stage.fail(stage.configuration(listener: "address: localhost:\(squatter.port)"))
    #expect(result.status == 71, "\(result.errors)")
    #expect(result.errors.contains("EADDRINUSE"))
    stage.assertCanary(times: 0)
  }

  /// With several workers the port is not shared either: any program of the same user could share it.
  @Test(arguments: Squat.allCases, [1, 3])
  func `T5: no other program can listen on the daemon's port in either family`(
    _ squat: Squat, workers: Int
  ) throws {
    guard !squat.isIPv6 || LocalClient.hasIPv6 else { return }
    let stage = try Stage()
    try stage.start(stage.configuration(more: "workers: \(workers)"))
    let port = try stage.daemon!.port()
    #expect(Squatting(squat, port: port) == nil)
    #expect(try stage.get().status == 200)
    #expect(stage.daemon!.stop() == 0)
    #expect(Squatting(squat, port: port) != nil, "it was the daemon that stood in the way")
    stage.assertCanary(times: 1)
  }

  @Test func `T5: localhost listens on both IPv4 and IPv6`() throws {
    guard LocalClient.hasIPv6 else { return }
    let stage = try Stage()
    try stage.start()
    let port = try stage.daemon!.port()
    let client = try LocalClient(port: port, family: AF_INET6)
    try client.send("GET /api/x HTTP/1.1\r\nHost: [::1]:\(port)\r\n\r\n")
    #expect(try client.response().status == 200)
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 2)
  }

  @Test func `T4: an address that other machines can reach is refused, with the position in the file`() throws {
    let stage = try Stage()
    for address in ["0.0.0.0:0", "\"[::]:0\"", "192.0.2.1:7070", "\"*:7070\"", "\":7070\"", "example.com:7070"] {
      let result = try stage.fail(stage.configuration(listener: "address: \(address)"))
      #expect(result.status == 2, "\(address)")
      #expect(result.errors.contains("refused.yaml:3:"), "\(address): \(result.errors)")
    }
    stage.assertCanary(times: 0)
  }

  @Test func `T4: network addresses refuse connections, and the host name 0_0_0_0 is refused`() throws {
    let stage = try Stage()
    try stage.start()
    let port = try stage.daemon!.port()
    for address in Self.networkAddresses() {
      let script =
        "exit(IO::Socket::IP->new(PeerHost => $ARGV[0], PeerPort => $ARGV[1], Timeout => 5) ? 0 : $!{ECONNREFUSED} ? 3 : 4)"
      let result = try run(["perl", "-MErrno", "-MIO::Socket::IP", "-e", script, address, String(port)])
      #expect(result.status == 3, "\(address)")
    }
    #expect(try stage.request("GET /api/x HTTP/1.1\r\nHost: 0.0.0.0:\(port)\r\n\r\n").status == 421)
    stage.assertCanary(times: 0)
  }

  /// The machine's addresses other than loopback.
  private static func networkAddresses() -> [String] {
    let addresses = (try? run(["hostname", "-I"]).output) ?? ""
    return addresses.split(whereSeparator: \.isWhitespace).map(String.init)
  }

  @Test(arguments: ["file", "directory", "pipe", "link", "dangling link", "socket of another"])
  func `T9: a file at the path of a Unix socket is not changed`(_ kind: String) throws {
    let stage = try Stage()
    let path = stage.scratch.path + "/app.sock"
    let precious = try stage.scratch.write("precious", "precious")
    switch kind {
    case "file": try stage.scratch.write("app.sock", "precious")
    case "directory": #expect(mkdir(path, 0o700) == 0)
    case "pipe": #expect(mkfifo(path, 0o600) == 0)
    case "link": #expect(symlink(precious, path) == 0)
    case "dangling link": #expect(symlink(stage.scratch.path + "/elsewhere.sock", path) == 0)
    default:
      guard isRoot else { return }
      let made = try run([
        "perl", "-MIO::Socket::UNIX", "-e", "IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or die", path,
      ])
      #expect(made.status == 0 && lchown(path, 12_345, 12_345) == 0)
    }
    let before = try Self.identity(path)
    let result = try stage.fail(stage.configuration(listener: "address: unix:\(path)"))
    // With this status, systemd does not restart the daemon (RestartPreventExitStatus=2).
    let reason = kind.hasSuffix("link") ? "symbolic link" : kind
    let text = kind == "socket of another" ? "a socket of uid 12345" : "a \(reason)"
    #expect(
      result.status == 2
        && result.errors.contains("bearerd cannot create the socket \(path): \(text) with this name already exists"),
      "\(result)")
    #expect(result.errors.contains("help: bearerd replaces only its own old socket"))
    #expect(try Self.identity(path) == before)
    #expect(try String(contentsOfFile: precious, encoding: .utf8) == "precious")
    #expect(access(stage.scratch.path + "/elsewhere.sock", F_OK) != 0)
    stage.assertCanary(times: 0)
  }

  private static func identity(_ path: String) throws -> [UInt64] {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw TestFailure("lstat: \(errno)") }
    return [UInt64(status.st_ino), UInt64(status.st_mode), UInt64(status.st_uid), UInt64(status.st_size)]
  }

  /// How the path is made unsafe.
  @Test(arguments: [
    "linked parent", "writable", "group", "sticky", "writable above", "parent of another", "link of another",
  ])
  func `T9: a socket path that other users could change is refused`(_ kind: String) throws {
    if kind.hasSuffix("another") && !isRoot { return }
    let stage = try Stage()
    let (above, parent) = (stage.scratch.path + "/above", stage.scratch.path + "/above/parent")
    #expect(mkdir(above, 0o755) == 0 && mkdir(parent, 0o755) == 0)
    var path = parent + "/app.sock"
    switch kind {
    case "linked parent":
      #expect(symlink(parent, above + "/link") == 0)
      path = above + "/link/app.sock"
    case "writable": chmod(parent, 0o757)
    case "group": chmod(parent, 0o775)
    case "sticky": chmod(parent, 0o1777)
    case "writable above": chmod(above, 0o757)
    case "parent of another": #expect(chown(parent, 12_345, 12_345) == 0)
    default:
      #expect(symlink(above, stage.scratch.path + "/way") == 0)
      #expect(lchown(stage.scratch.path + "/way", 12_345, 12_345) == 0)
      path = stage.scratch.path + "/way/parent/app.sock"
    }
    let result = try stage.fail(stage.configuration(listener: "address: unix:\(path)"))
    #expect(result.status == 2 && result.errors.contains("bearerd cannot create the socket \(path): "), "\(result)")
    #expect(!result.errors.contains("Operation not permitted") && !result.errors.contains("Too many levels"))
    #expect(access(parent + "/app.sock", F_OK) != 0)
    stage.assertCanary(times: 0)
  }

  @Test func `T9: an abstract or empty socket name is refused`() throws {
    let stage = try Stage()
    for address in ["unix:@bearerd-test", "\"unix:\\0bearerd-test\"", "\"unix:\""] {
      let result = try stage.fail(stage.configuration(listener: "address: \(address)"))
      #expect(result.status == 2, "\(address): \(result.errors)")
    }
    #expect(!(try String(contentsOfFile: "/proc/net/unix", encoding: .utf8)).contains("@bearerd-test"))
    stage.assertCanary(times: 0)
  }
}
