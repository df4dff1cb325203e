import Foundation
import Synchronization
import ServerSupport
import TestSupport
import Testing

/// Other programs cannot use bearerd's ports and Unix socket paths, and bearerd does not replace their files.
@Suite(.waits) struct SocketsAreExclusive {
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

  @Test func `T9: a Unix socket of a running daemon is not replaced, and a stale socket is`() throws {
    let stage = try Stage()
    let path = stage.scratch.path + "/app.sock"
    let configuration = stage.configuration(listener: "address: unix:\(path)")
    try stage.start(configuration)
    let first = stage.daemon!
    let second = try stage.fail(configuration)
    #expect(second.status == 71 && second.errors.contains("another program listens on it"), "\(second.errors)")
    #expect(try stage.sendRequest(as: [], unix: path).output.hasPrefix("HTTP/1.1 200 "))
    #expect(first.stop(SIGKILL) == -SIGKILL)
    #expect(access(path, F_OK) == 0, "nobody has taken it away")
    try stage.start(configuration)
    #expect(try stage.sendRequest(as: [], unix: path).output.hasPrefix("HTTP/1.1 200 "))
    stage.assertCanary(times: 2)
  }

  @Test func `T9: a daemon that exits does not remove the socket of another daemon at the same path`() throws {
    let stage = try Stage()
    let path = stage.scratch.path + "/app.sock"
    let configuration = stage.configuration(listener: "address: unix:\(path)")
    try stage.start(configuration)
    let first = stage.daemon!
    #expect(unlink(path) == 0)
    try stage.start(configuration)
    #expect(first.stop() == 0)
    #expect(try stage.sendRequest(as: [], unix: path).output.hasPrefix("HTTP/1.1 200 "))
    #expect(stage.daemon!.stop() == 0)
    #expect(access(path, F_OK) != 0, "its own is taken away")
    stage.assertCanary(times: 1)
  }

  @Test func `T9: a Unix socket never has a more permissive mode than the configured one`() throws {
    for (line, mode) in [("", mode_t(0o660)), ("\n    mode: \"0600\"", 0o600)] {
      let stage = try Stage()
      let watcher = try Watcher(stage.scratch.path)
      let path = stage.scratch.path + "/app.sock"
      try stage.start(
        stage.configuration(listener: "address: unix:\(path)" + line),
        wrapper: ["/bin/sh", "-c", "umask 0; exec \"$@\"", "sh"])
      let seen = watcher.stop()
      #expect(seen["app.sock"]?.isSubset(of: [0o600, mode]) == true, "\(seen)")
      #expect(seen["control.sock"] == [0o600], "\(seen)")
      stage.assertCanary(times: 0)
    }
  }
}

private final class Seen: Sendable {
  /// Modes by file name.
  let modes = Mutex<[String: Set<mode_t>]>([:])
}

/// Collects the modes of sockets in a directory at each inotify event.
private final class Watcher {
  private let descriptor: Int32
  private let seen = Seen()
  private let hasEnded = Gate()
  private let end: (reading: Int32, writing: Int32)

  init(_ directory: String) throws {
    descriptor = inotify_init1(Int32(IN_CLOEXEC))
    guard inotify_add_watch(descriptor, directory, UInt32(IN_CREATE | IN_ATTRIB)) >= 0 else {
      throw TestFailure("inotify: \(errno)")
    }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw TestFailure("pipe: \(errno)") }
    end = (ends[0], ends[1])
    Thread.detachNewThread { [descriptor, seen, hasEnded, end] in
      while true {
        var waiting = [descriptor, end.reading].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        poll(&waiting, 2, -1)
        if waiting[0].revents != 0 {
          var buffer = [UInt8](repeating: 0, count: 65_536)
          guard read(descriptor, &buffer, buffer.count) > 0 else { break }
          for name in ["app.sock", "control.sock"] {
            var status = stat()
            if lstat(directory + "/" + name, &status) == 0 {
              seen.modes.withLock { _ = $0[name, default: []].insert(status.st_mode & 0o7777) }
            }
          }
        } else if waiting[1].revents != 0 {
          break
        }
      }
      hasEnded.open()
    }
  }

  func stop() -> [String: Set<mode_t>] {
    var byte: UInt8 = 0
    write(end.writing, &byte, 1)
    hasEnded.pass()
    for descriptor in [descriptor, end.reading, end.writing] { close(descriptor) }
    return seen.modes.withLock { $0 }
  }
}
