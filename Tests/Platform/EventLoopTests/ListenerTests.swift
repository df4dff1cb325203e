import EventLoop
import Glibc
import TestSupport
import Testing

@Suite struct ListenerTests {
  let loop: Loop

  init() throws { loop = try Loop() }

  @Test func `a paused listener leaves new connections in the kernel's backlog`() throws {
    let acceptor = Acceptor()
    let listener = try Listener(loop: loop, address: .loopback(), backlog: 16, reusePort: false)
    listener.delegate = acceptor
    var clients = try (0..<3).map { _ in try plainClient(listener.port) }
    loop.settle()
    #expect(acceptor.streams.isEmpty)  // not started yet
    try listener.start()
    try listener.start()
    loop.run { acceptor.streams.count == 3 }
    listener.pause()
    clients.append(try plainClient(listener.port))  // the kernel accepts the connection
    loop.settle()
    #expect(acceptor.streams.count == 3)
    listener.resume()
    loop.run { acceptor.streams.count == 4 }
    acceptor.streams.forEach { $0.close() }
    clients.forEach { Glibc.close($0) }
    listener.close()
  }

  @Test(arguments: ["pause", "close"])
  func `a listener may be paused or closed in its accept callback`(_ call: String) throws {
    let acceptor = Acceptor()
    let listener = try Listener(loop: loop, address: .loopback(), backlog: 16, reusePort: false)
    listener.delegate = acceptor
    let clients = try (0..<3).map { _ in try plainClient(listener.port) }
    acceptor.onAccept = { _ in if call == "pause" { listener.pause() } else { listener.close() } }
    try listener.start()
    loop.run { !acceptor.streams.isEmpty }
    loop.settle()
    #expect(acceptor.streams.count == 1)
    acceptor.streams.forEach { $0.close() }
    clients.forEach { Glibc.close($0) }
    listener.close()
    listener.close()
    #expect(listener.port == 0)
  }

  @Test func `a connection is closed if the listener has no delegate`() throws {
    let listener = try Listener(loop: loop, address: .loopback(), backlog: 16, reusePort: false)
    try listener.start()
    let recorder = Recorder()
    recorder.onConnect = { $0.startReading() }
    let client = try Stream(loop: loop, connectingTo: .loopback(listener.port), delegate: recorder)
    loop.run { recorder.events.last == "end" }
    client.close()
    listener.close()
  }

  @Test func `an address in use is refused unless both listeners set reusePort`() throws {
    let first = try Listener(loop: loop, address: .loopback(), backlog: 1, reusePort: true)
    do throws(UVError) {
      _ = try Listener(loop: loop, address: .loopback(first.port), backlog: 1, reusePort: false)
      Issue.record("bound twice")
    } catch {
      #expect(error.isAddressInUse)
      #expect(error.description == "bind: EADDRINUSE (address already in use)")
    }
    let second = try Listener(loop: loop, address: .loopback(first.port), backlog: 1, reusePort: true)
    #expect(second.port == first.port)
    first.close()
    second.close()
  }

  @Test func `an address of another machine is refused`() throws {
    do throws(UVError) {
      _ = try Listener(loop: loop, address: SocketAddress(ip: [203, 0, 113, 1], port: 0), backlog: 1, reusePort: false)
      Issue.record("bound")
    } catch {
      #expect(error.isAddressNotAvailable)
    }
  }

  /// Returns listeners for IPv6 and IPv4 with the same port.
  private func listeners() throws -> (six: Listener, four: Listener) {
    let any = SocketAddress(ip: [UInt8](repeating: 0, count: 16), port: 0)
    for _ in 0..<20 {
      let six = try Listener(loop: loop, address: any, backlog: 1, reusePort: false)
      // Another test can have the port already.
      if let four = try? Listener(loop: loop, address: .loopback(six.port), backlog: 1, reusePort: false) {
        return (six, four)
      }
      six.close()
    }
    throw TestFailure("no port is free for both")
  }

  /// Two sockets can use the same port of localhost, one for IPv4 and one for IPv6.
  @Test(.enabled(if: hasIPv6)) func `T5: an IPv6 listener does not accept IPv4 connections`() throws {
    let (six, four) = try listeners()
    let acceptor = Acceptor()
    six.delegate = acceptor
    try six.start()
    let recorder = Recorder()
    let address = SocketAddress(ip: [UInt8](repeating: 0, count: 15) + [1], port: six.port)
    let client = try Stream(loop: loop, connectingTo: address, delegate: recorder)
    loop.run { acceptor.streams.count == 1 && recorder.events == ["connect"] }
    #expect(client.peerAddress?.description == "[::1]:\(six.port)")
    #expect(acceptor.streams[0].localAddress == address)
    #expect(acceptor.streams[0].peerAddress == client.localAddress)
    client.close()
    acceptor.streams.forEach { $0.close() }
    six.close()
    four.close()
  }

  @Test func `an inherited socket is adopted only if it listens and has the expected family`() throws {
    let tcp = socket(AF_INET, streamType, 0)
    let datagrams = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
    defer { [tcp, datagrams].forEach { Glibc.close($0) } }
    for descriptor in [tcp, datagrams, -1, 9999] {  // none of them listens
      #expect(throws: UVError.self) { try Listener(loop: loop, adopting: descriptor, isUnix: false) }
    }
    let listening = socket(AF_INET, streamType, 0)
    #expect(listen(listening, 4) == 0 && fcntl(listening, F_SETFD, 0) == 0)
    #expect(throws: UVError.self) { try Listener(loop: loop, adopting: listening, isUnix: true) }
    let acceptor = Acceptor()
    let listener = try Listener(loop: loop, adopting: listening, isUnix: false)
    #expect(fcntl(listening, F_GETFD) & FD_CLOEXEC != 0)
    listener.delegate = acceptor
    try listener.start()
    let client = try plainClient(listener.port)
    loop.run { acceptor.streams.count == 1 }
    acceptor.streams.forEach { $0.close() }
    Glibc.close(client)
    listener.close()
  }

  @Test func `a Unix listener accepts Unix streams`() throws {
    let descriptor = socket(AF_UNIX, streamType, 0)
    // Autobind: an abstract name chosen by the kernel, so that the test leaves no file.
    var (name, size) = (sockaddr_un(), socklen_t(MemoryLayout<sockaddr_un>.size))
    name.sun_family = sa_family_t(AF_UNIX)
    let client = socket(AF_UNIX, streamType, 0)
    withUnsafeMutableBytes(of: &name) { bytes in
      let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      #expect(bind(descriptor, address, 2) == 0 && listen(descriptor, 4) == 0)
      #expect(getsockname(descriptor, address, &size) == 0)
      #expect(connect(client, address, size) == 0)
    }
    let (acceptor, recorder) = (Acceptor(), Recorder())
    let listener = try Listener(loop: loop, adopting: descriptor, isUnix: true)
    listener.delegate = acceptor
    acceptor.onAccept = {
      $0.delegate = recorder
      $0.startReading()
    }
    try listener.start()
    #expect(Glibc.write(client, "hi", 2) == 2)
    Glibc.close(client)
    loop.run { recorder.events == ["read", "end"] }
    #expect(recorder.bytes == Array("hi".utf8))
    #expect(acceptor.streams[0].isUnix && listener.port == 0)
    acceptor.streams[0].close()
    listener.close()
  }

  /// T56. Runs in its own process, because the test uses up all descriptors. This process forks again, so that no
  /// thread of libdispatch runs. libdispatch sometimes reads /proc, and traps (SIGILL) without a free descriptor. The
  /// daemon does not link libdispatch.
  @Test func `without free descriptors a listener pauses, reports the error once, and recovers`() async {
    await #expect(processExitsWith: .success) {
      let child = duplicateProcess()
      if child == 0 {
        do { try Self.runOutOfDescriptors() } catch { _exit(1) }
        _exit(0)
      }
      var status: Int32 = -1
      while waitpid(child, &status, 0) == -1, errno == EINTR {}
      try expect(child > 0 && status == 0)
    }
  }

  private static func runOutOfDescriptors() throws {
    let loop = try Loop()
    let acceptor = Acceptor()
    let listener = try Listener(loop: loop, address: .loopback(), backlog: 16, reusePort: false)
    listener.delegate = acceptor
    try listener.start()
    let clients = [try plainClient(listener.port), try plainClient(listener.port)]
    var reserved: [Int32] = []
    // The process may have inherited descriptors. The limit must be higher than all of them, so that the test can close
    // some descriptors later.
    let highest = dup(0)
    Glibc.close(highest)
    var limit = rlimit(rlim_cur: rlim_t(highest) + 8, rlim_max: rlim_t(highest) + 8)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    while case let taken = dup(0), taken >= 0 { reserved.append(taken) }
    loop.run { !acceptor.errors.isEmpty }
    loop.settle()
    try expect(acceptor.errors.count == 1 && acceptor.errors[0].isTooManyFiles && acceptor.streams.isEmpty)
    listener.resume()  // still no descriptor: one more error
    loop.run { acceptor.errors.count == 2 }
    Glibc.close(reserved.removeLast())
    listener.resume()  // one free descriptor: one connection, then another pause
    loop.run { acceptor.errors.count == 3 }
    try expect(acceptor.streams.count == 1)
    try expect(listener.closePendingConnections() == 1)
    var byte: UInt8 = 0
    try expect(read(clients[1], &byte, 1) == 0)  // closed without a descriptor for the connection
    acceptor.streams[0].close()
    listener.close()
  }
}

/// fork(2), which Swift does not offer. Only the calling thread continues in the new process.
@_silgen_name("fork") private func duplicateProcess() -> pid_t

struct Unexpected: Error {}

/// For child processes: issues recorded there would be lost.
func expect(_ condition: Bool) throws {
  if !condition { throw Unexpected() }
}

/// A blocking client without an event loop.
func plainClient(_ port: UInt16) throws -> Int32 {
  let descriptor = socket(AF_INET, streamType, 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  let status = withUnsafeBytes(of: &address) {
    connect(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
  }
  return try #require(status == 0 ? descriptor : nil)
}

let hasIPv6: Bool = {
  guard let loop = try? Loop() else { return false }
  let loopback = SocketAddress(ip: [UInt8](repeating: 0, count: 15) + [1], port: 0)
  guard let listener = try? Listener(loop: loop, address: loopback, backlog: 1, reusePort: false) else { return false }
  listener.close()
  return true
}()
