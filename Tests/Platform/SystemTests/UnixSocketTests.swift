import Glibc
import Synchronization
import System
import Testing

@Suite struct UnixSocketTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test(arguments: [0o600, 0o660, 0o666] as [UInt32])
  func `T9: a Unix socket has its configured mode, whatever the umask`(_ mode: UInt32) throws {
    let listener = try listen(scratch("s"), mode: mode)
    #expect(FileStatus(path: scratch("s"))?.mode == mode)
    #expect(fcntl(listener, F_GETFD) & FD_CLOEXEC != 0 && fcntl(listener, F_GETFL) & O_NONBLOCK != 0)
    let client = socket(AF_UNIX, streamType, 0)
    #expect(connectUnix(client, scratch("s")) == 0)
    [client, listener].forEach { close($0) }
  }

  /// Another thread polls the mode all the time. Only the configured group may ever have access.
  @Test func `T9: a Unix socket never has more permissions than its final mode`() async {
    await #expect(processExitsWith: .success) {
      umask(0)
      let scratch = try Scratch()
      let group: UInt32? = geteuid() == 0 ? 65534 : nil
      let path = scratch("s")
      let polls = Polls()
      let watcher = Task.detached {
        var tooMuch = 0
        while !Task.isCancelled {
          guard let status = FileStatus(path: path) else { continue }
          polls.count.add(1, ordering: .relaxed)
          let isNamed = group == nil || status.group == group
          if status.mode & ~(isNamed ? 0o660 : 0o600) != 0 { tooMuch += 1 }
        }
        return tooMuch
      }
      var rounds = 0
      // On a busy machine, the watcher may start late.
      while rounds < 3000 || polls.count.load(ordering: .relaxed) < 2000 {
        close(try UnixSocket.listen(path: path, mode: 0o660, group: group, backlog: 1))
        unlink(path)
        rounds += 1
      }
      watcher.cancel()
      // stat(2) reads mode and group without a lock: under load, a few results combine a new mode with an old group.
      try expect(await watcher.value <= polls.count.load(ordering: .relaxed) / 1000)
    }
  }

  private final class Polls: Sendable {
    let count = Atomic<Int>(0)
  }

  @Test(arguments: ["file", "directory", "link", "foreign"])
  func `T9: a path that is not the daemon's own socket stays unchanged`(_ kind: String) throws {
    if kind == "foreign" && !isRoot { return }
    let path = scratch(kind)
    switch kind {
    case "file": scratch.write("precious", to: kind)
    case "directory": mkdir(path, 0o700)
    case "link":
      close(try listen(scratch("stale")))
      symlink("stale", path)
    default:
      close(try listen(path))
      chown(path, 65534, 65534)
    }
    #expect(error { try listen(path) } == EEXIST)
    #expect(access(path, F_OK) == 0)
    if kind == "file" { #expect(try FileReader.read(path: path, maximum: 99).bytes == Array("precious".utf8)) }
  }

  @Test func `T9: a stale socket is replaced, and a live socket is not`() throws {
    close(try listen(scratch("s")))
    let live = try listen(scratch("s"))
    #expect(error { try listen(scratch("s")) } == EADDRINUSE)
    var clients: [Int32] = []
    for _ in 0..<20 {  // a socket with a full backlog is live, too
      let client = socket(AF_UNIX, streamType | Int32(SOCK_NONBLOCK.rawValue), 0)
      clients.append(client)
      if connectUnix(client, scratch("s")) != 0 { break }
    }
    #expect(error { try listen(scratch("s")) } == EADDRINUSE)
    #expect(accept(live, nil, nil) >= 0)
    (clients + [live]).forEach { close($0) }
  }

  /// Problem on the path to the socket, and expected errno.
  @Test(arguments: [
    ("writable", EPERM), ("group", EPERM), ("sticky", EPERM), ("above", EPERM), ("link", ELOOP), ("missing", ENOENT),
    ("foreign", EPERM), ("foreign above", EPERM), ("foreign link", EPERM), ("file", ENOTDIR),
  ])
  func `T9: an unsafe directory is refused`(_ kind: String, _ expected: Int32) throws {
    if kind.hasPrefix("foreign") && !isRoot { return }
    let (above, parent) = (scratch("above"), scratch("above/parent"))
    mkdir(above, 0o700)
    mkdir(parent, 0o700)
    var path = parent + "/s"
    switch kind {
    case "writable": chmod(parent, 0o702)
    case "group": chmod(parent, 0o720)
    case "sticky": chmod(parent, 0o1777)
    case "above": chmod(above, 0o702)
    case "link":
      symlink("parent", scratch("above/link"))
      path = scratch("above/link/s")
    case "missing": path = scratch("above/missing/s")
    case "foreign": chown(parent, 65534, 65534)
    case "foreign above": chown(above, 65534, 65534)
    case "foreign link":
      symlink("above", scratch("link"))
      lchown(scratch("link"), 65534, 65534)
      path = scratch("link/parent/s")
    default:
      scratch.write("", to: "above/file")
      path = scratch("above/file/s")
    }
    #expect(error { try listen(path) } == expected)
    #expect(access(path, F_OK) != 0)
  }

  @Test func `T9: a link of the daemon's user on the path is followed`() throws {
    mkdir(scratch("real"), 0o755)
    mkdir(scratch("real/parent"), 0o755)
    symlink("real", scratch("link"))
    close(try listen(scratch("link/parent/s")))
    #expect(FileStatus(path: scratch("real/parent/s"))?.mode == 0o600)
    chmod(scratch("real"), 0o777)  // the target of the link is checked, too
    #expect(error { try listen(scratch("link/parent/t")) } == EPERM)
  }

  @Test func `T9: an invalid socket path is refused`() {
    let long = "/" + String(repeating: "a", count: 107)
    for path in ["", "s", "./s", "@s", "\0s", "/tmp/../s", long] {
      #expect(error { try listen(path) } == EINVAL, "\(path)")
    }
  }

  @Test(.enabled(if: isRoot)) func `T9: a socket is removed if its group cannot be set`() async {
    await #expect(processExitsWith: .success) {
      let scratch = try Scratch()
      chown(scratch.path, 65534, 65534)
      seteuid(65534)
      try expect(error { try UnixSocket.listen(path: scratch("s"), mode: 0o660, group: 12345, backlog: 1) } == EPERM)
      try expect(access(scratch("s"), F_OK) != 0)
      seteuid(0)
    }
  }

  private func listen(_ path: String, mode: UInt32 = 0o600) throws -> Int32 {
    try UnixSocket.listen(path: path, mode: mode, group: nil, backlog: 1)
  }
}

func unixAddress(_ name: [UInt8]) -> (address: sockaddr_un, size: socklen_t) {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
  return (address, socklen_t(2 + name.count))
}

func connectUnix(_ descriptor: Int32, _ path: String) -> Int32 {
  var (address, size) = unixAddress(Array(path.utf8) + [0])
  return withAddress(&address) { sockaddr, _ in connect(descriptor, sockaddr, size) }
}
