import Glibc
import System
import Testing

/// Each test changes the environment, and therefore runs in its own process.
@Suite struct ServiceManagerTests {
  @Test(arguments: ["/", "@"]) func `states are sent to the service manager`(_ kind: String) async {
    await #expect(processExitsWith: .success) { [kind] in
      let scratch = try Scratch()
      let manager = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
      let name = kind == "/" ? scratch("notify") : "@bearerd-test-\(getpid())"
      var (address, size) = unixAddress(
        kind == "/" ? Array(name.utf8) + [0] : [0] + Array(name.utf8.dropFirst()))
      try expect(withAddress(&address) { sockaddr, _ in bind(manager, sockaddr, size) } == 0)
      setenv("NOTIFY_SOCKET", name, 1)
      ServiceManager.notify("READY=1\nSTATUS=fine")
      ServiceManager.notify("RELOADING=1")
      var buffer = [UInt8](repeating: 0, count: 256)
      try expect(String(decoding: buffer[..<recv(manager, &buffer, 256, 0)], as: UTF8.self) == "READY=1\nSTATUS=fine")
      let reload = String(decoding: buffer[..<recv(manager, &buffer, 256, 0)], as: UTF8.self)
      let lines = reload.split(separator: "\n")
      try expect(lines.count == 2 && lines[0] == "RELOADING=1" && lines[1].hasPrefix("MONOTONIC_USEC="))
      let sent = try #require(UInt64(lines[1].dropFirst(15)))
      try expect(sent <= Clock.monotonicMicroseconds && sent + 60_000_000 > Clock.monotonicMicroseconds)
    }
  }

  @Test func `without a service manager, notifications are ignored`() async {
    await #expect(processExitsWith: .success) {
      unsetenv("NOTIFY_SOCKET")
      ServiceManager.notify("READY=1")
      for name in ["/nonexistent/notify", "vsock:2:1", "", "@", "/" + String(repeating: "a", count: 200)] {
        setenv("NOTIFY_SOCKET", name, 1)
        ServiceManager.notify("READY=1")
      }
    }
  }

  @Test func `the watchdog interval is used only if it is meant for this process`() async {
    await #expect(processExitsWith: .success) {
      let us = "\(getpid())"
      let rows: [(usec: String?, pid: String?, expected: UInt64?)] = [
        (nil, nil, nil), ("30000000", nil, 30_000), ("30000000", us, 30_000), ("30000000", "1", nil), ("0", us, nil),
        ("x", us, nil), ("-5", us, nil), ("500", us, 1),
      ]
      for row in rows {
        if let usec = row.usec { setenv("WATCHDOG_USEC", usec, 1) } else { unsetenv("WATCHDOG_USEC") }
        if let pid = row.pid { setenv("WATCHDOG_PID", pid, 1) } else { unsetenv("WATCHDOG_PID") }
        try expect(ServiceManager.watchdogInterval == row.expected)
      }
    }
  }

  @Test func `the journal is recognized by its device and inode`() async {
    await #expect(processExitsWith: .success) {
      var status = stat()
      fstat(STDERR_FILENO, &status)
      unsetenv("JOURNAL_STREAM")
      try expect(!ServiceManager.isJournalStream)
      setenv("JOURNAL_STREAM", "\(status.st_dev):\(status.st_ino)", 1)
      try expect(ServiceManager.isJournalStream)
      setenv("JOURNAL_STREAM", "\(status.st_dev):\(status.st_ino + 1)", 1)
      try expect(!ServiceManager.isJournalStream)
    }
  }

  @Test func `inherited sockets are accepted once, and only if they are meant for this process`() async {
    await #expect(processExitsWith: .success) {
      let first: Int32 = 200
      // The parent may have left open descriptors of other tests here.
      for descriptor in first..<first + 8 { close(descriptor) }
      let pair = try LoopbackPair()
      dup2(pair.listener, first)
      dup2(socket(AF_UNIX, streamType, 0), first + 1)
      func sockets(_ count: String, process: String?) -> [InheritedSocket] {
        setenv("LISTEN_FDS", count, 1)
        setenv("LISTEN_FDNAMES", "main", 1)
        if let process { setenv("LISTEN_PID", process, 1) } else { unsetenv("LISTEN_PID") }
        return ServiceManager.inheritedSockets(first: first)
      }
      let us = "\(getpid())"
      try expect(sockets("2", process: nil).isEmpty && sockets("2", process: "1").isEmpty)
      for count in ["-1", "x", "0", "99999999999"] { try expect(sockets(count, process: us).isEmpty) }
      let ours = sockets("3", process: us)
      try expect(ours.map(\.name) == ["main", "unknown"] && ours.map(\.descriptor) == [first, first + 1])
      try expect(ours[0].address == .tcp(ip: [127, 0, 0, 1], port: pair.serverPort))
      guard case .unusable = ours[1].address else { throw Unexpected(line: #line) }
      for descriptor in [first, first + 1] { try expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0) }
      // A child process must not adopt the sockets.
      for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { try expect(getenv(name) == nil) }
      try expect(ServiceManager.inheritedSockets(first: first).isEmpty)
      let copy = try ours[0].duplicate()
      try expect(copy.address == ours[0].address && fcntl(copy.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }
  }
}

@Suite struct UsersTests {
  @Test func `root is found by name and number, and unknown users are not found`() {
    #expect(Users.uid(named: "root") == 0)
    #expect(Users.gid(named: "root") == 0)
    #expect(Users.name(ofUID: 0) == "root")
    #expect(Users.uid(named: "no-such-user") == nil)
    #expect(Users.gid(named: "no-such-group") == nil)
    #expect(Users.name(ofUID: 4_000_000_000) == nil)
    #expect(Users.localName(ofUID: 0) == "root")
    #expect(Users.localName(ofUID: 4_000_000_000) == nil)
    #expect(Users.currentUID == geteuid())
  }

  @Test func `a group's members include those whose primary group it is`() {
    #expect(Users.members(ofGroup: 0).contains(0))
    #expect(Users.members(ofGroup: 4_000_000_000).isEmpty)
  }
}

@Suite struct StandardErrorTests {
  @Test(arguments: ["pipe", "socket"]) func `writing to a full pipe or socket does not block`(_ kind: String) throws {
    signal(SIGPIPE, SIG_IGN)
    let scratch = try Scratch()
    var ends: [Int32] = [0, 0]
    if kind == "pipe" {  // a named pipe, because pipe(2) cannot set close-on-exec
      mkfifo(scratch("pipe"), 0o600)
      ends = [O_RDONLY | O_NONBLOCK, O_WRONLY].map { open(scratch("pipe"), $0 | O_CLOEXEC) }
    } else {
      try #require(socketpair(AF_UNIX, streamType, 0, &ends) == 0)
    }
    let (reader, writer) = (ends[0], ends[1])
    let text = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let written = StandardError.write(text.span, to: writer)
    #expect(written > 0 && written < text.count)
    #expect(StandardError.write(text.span, to: writer) == 0)
    #expect(fcntl(writer, F_GETFL) & O_NONBLOCK == 0)
    var received = [UInt8](repeating: 0, count: written)
    var count = 0
    while count < written,
      case let more = received.withUnsafeMutableBytes({ read(reader, $0.baseAddress! + count, written - count) }),
      more > 0
    {
      count += more
    }
    #expect(received.elementsEqual(text.prefix(written)))
    close(reader)
    // A child process of another test may keep the reader open for a moment.
    var last = text.count
    for _ in 0..<100 where last > 0 { last = StandardError.write(text.span, to: writer) }
    #expect(last == 0)
    close(writer)
  }

  @Test func `a file accepts the whole output`() throws {
    let scratch = try Scratch()
    let file = open(scratch("log"), O_WRONLY | O_CREAT, 0o600)
    let text = [UInt8](repeating: 65, count: 1_000_000)
    #expect(StandardError.write(text.span, to: file) == text.count)
    #expect(StandardError.write([UInt8]().span, to: file) == 0)
    close(file)
    #expect(FileStatus(path: scratch("log"))?.size == 1_000_000)
  }
}

@Test func `clocks do not go backward`() {
  let (now, monotonic) = (Clock.now, Clock.monotonicMicroseconds)
  #expect(now.seconds > 1_600_000_000 && (0..<1_000_000).contains(now.microseconds))
  #expect(Clock.monotonicMicroseconds >= monotonic)
}
