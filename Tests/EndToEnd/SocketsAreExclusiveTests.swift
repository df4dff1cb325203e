import Foundation
import Synchronization
import ServerSupport
import TestSupport
import Testing

/// Other daemons and users cannot take over bearerd's Unix sockets.
@Suite(.waits) struct SocketsAreExclusive {
  @Test
  func `T9: the socket of a running daemon is not replaced, a stale socket is, and an exit removes only an own socket`()
    throws
  {
    let stage = try Stage()
    let path = stage.scratch.path + "/app.sock"
    let configuration = stage.configuration(listener: "address: unix:\(path)")
    func isServed() throws -> Bool { try stage.sendRequest(as: [], unix: path).output.hasPrefix("HTTP/1.1 200 ") }
    try stage.start(configuration)
    let killed = stage.daemon!
    let second = try stage.fail(configuration)
    #expect(second.status == 71 && second.errors.contains("another program listens on it"), "\(second.errors)")
    #expect(try isServed())
    #expect(killed.stop(SIGKILL) == -SIGKILL)
    #expect(access(path, F_OK) == 0, "nobody has taken it away")
    try stage.start(configuration)
    #expect(try isServed())

    // Another daemon at the same path.
    let first = stage.daemon!
    #expect(unlink(path) == 0)
    try stage.start(configuration)
    #expect(first.stop() == 0)
    #expect(try isServed())
    #expect(stage.daemon!.stop() == 0)
    #expect(access(path, F_OK) != 0, "its own is taken away")
    stage.assertCanary(times: 3)
  }

  @Test func `T9: a Unix socket has the configured mode or 0660, and never a more permissive mode`() throws {
    for (line, mode) in [("", mode_t(0o660)), ("\n    mode: \"0666\"", 0o666), ("\n    mode: \"0600\"", 0o600)] {
      let stage = try Stage()
      let watcher = try Watcher(stage.scratch.path)
      let path = stage.scratch.path + "/app.sock"
      try stage.start(
        stage.configuration(listener: "address: unix:\(path)" + line),
        wrapper: ["/bin/sh", "-c", "umask 0; exec \"$@\"", "sh"])
      let seen = watcher.stop()
      #expect(seen["app.sock"]?.isSubset(of: [0o600, mode]) == true, "\(seen)")
      var status = stat()
      #expect(lstat(path, &status) == 0 && status.st_mode & 0o7777 == mode)
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
