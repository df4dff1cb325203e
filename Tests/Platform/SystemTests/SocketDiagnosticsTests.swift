import Glibc
import System
import Testing

private let four: [UInt8] = [127, 0, 0, 1]
private let six = [UInt8](repeating: 0, count: 15) + [1]
private let mapped = [UInt8](repeating: 0, count: 10) + [255, 255, 127, 0, 0, 1]

/// T6, T7: the user at the other end of a loopback connection, or `nil` if the user is not certain.
@Suite struct SocketDiagnosticsTests {
  let diagnostics: SocketDiagnostics

  init() throws { diagnostics = try SocketDiagnostics() }

  /// Addresses of client and server. IPv4-mapped addresses are equivalent to IPv4 addresses.
  @Test(arguments: [(four, four), (mapped, mapped), (mapped, four)])
  func `a connection of this process belongs to its user`(_ addresses: ([UInt8], [UInt8])) throws {
    let pair = try LoopbackPair()
    #expect(owner(pair, addresses.0, addresses.1) == geteuid())
    pair.close()
  }

  @Test func `an IPv4 connection of an IPv6 socket is identified`() throws {
    let pair = try LoopbackPair(family: AF_INET, clientFamily: AF_INET6)
    #expect(owner(pair, four, four) == geteuid())
    #expect(owner(pair, mapped, mapped) == geteuid())
    pair.close()
  }

  @Test(.enabled(if: hasIPv6)) func `an IPv6 connection is identified`() throws {
    let pair = try LoopbackPair(family: AF_INET6)
    #expect(owner(pair, six, six) == geteuid())
    #expect(owner(pair, four, four) == nil)
    pair.close()
  }

  @Test(.enabled(if: isRoot)) func `a connection of another user belongs to that user`() async {
    await #expect(processExitsWith: .success) {
      let diagnostics = try SocketDiagnostics()
      seteuid(65534)
      let pair = try LoopbackPair()
      seteuid(0)
      func ask() -> UInt32? {
        diagnostics.owner(clientIP: four, clientPort: pair.clientPort, serverIP: four, serverPort: pair.serverPort)?
          .uid
      }
      try expect(ask() == 65534)
      seteuid(1)  // a query by a third user
      let unprivileged = try SocketDiagnostics()
      try expect(
        unprivileged.owner(clientIP: four, clientPort: pair.clientPort, serverIP: four, serverPort: pair.serverPort)?
          .uid == 65534)
      seteuid(0)
    }
  }

  @Test func `a client that closed its sending side is still identified`() throws {
    let pair = try LoopbackPair()
    shutdown(pair.client, Int32(SHUT_WR))
    #expect(owner(pair) == geteuid())
    pair.close()
  }

  @Test func `a client that closed its connection is not identified`() throws {
    let pair = try LoopbackPair()
    #expect(write(pair.client, "x", 1) == 1)
    close(pair.client)
    #expect(owner(pair) == nil)
    close(pair.server)
    #expect(owner(pair) == nil)
    close(pair.listener)
  }

  @Test func `a client that reset its connection is not identified`() throws {
    let pair = try LoopbackPair()
    var now = linger(l_onoff: 1, l_linger: 0)
    setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    close(pair.client)
    #expect(owner(pair) == nil)
    close(pair.server)
    close(pair.listener)
  }

  @Test func `a client whose server closed its sending side is not identified`() throws {
    let pair = try LoopbackPair()
    shutdown(pair.server, Int32(SHUT_WR))
    #expect(owner(pair) == nil)  // CLOSE_WAIT
    pair.close()
  }

  /// If the queried connection does not exist, the kernel returns the listening socket at its source address.
  @Test func `a listening socket is not mistaken for a connection`() throws {
    let pair = try LoopbackPair()
    #expect(
      diagnostics.owner(clientIP: four, clientPort: pair.serverPort, serverIP: four, serverPort: pair.serverPort) == nil
    )
    #expect(diagnostics.owner(clientIP: four, clientPort: pair.serverPort, serverIP: four, serverPort: 1) == nil)
    pair.close()
  }

  @Test func `addresses and ports of both ends must match`() throws {
    let pair = try LoopbackPair()
    let (near, far) = (pair.clientPort, pair.serverPort)
    let other: [UInt8] = [127, 0, 0, 2]
    #expect(diagnostics.owner(clientIP: four, clientPort: near, serverIP: other, serverPort: far) == nil)
    #expect(diagnostics.owner(clientIP: other, clientPort: near, serverIP: four, serverPort: far) == nil)
    #expect(diagnostics.owner(clientIP: four, clientPort: near, serverIP: four, serverPort: far &+ 1) == nil)
    #expect(diagnostics.owner(clientIP: four, clientPort: near &+ 1, serverIP: four, serverPort: far) == nil)
    #expect(diagnostics.owner(clientIP: four, clientPort: near, serverIP: four, serverPort: far)?.uid == geteuid())
    pair.close()
  }

  @Test(arguments: [([], []), (four, six), (six, four), (four, [127, 0, 0]), ([UInt8](repeating: 1, count: 17), four)])
  func `an invalid pair of addresses has no owner`(_ addresses: ([UInt8], [UInt8])) {
    #expect(diagnostics.owner(clientIP: addresses.0, clientPort: 1, serverIP: addresses.1, serverPort: 2) == nil)
  }

  @Test func `one diagnostics socket serves many queries`() throws {
    let pairs = try (0..<20).map { _ in try LoopbackPair() }
    for _ in 0..<50 {
      for pair in pairs { #expect(owner(pair) == geteuid()) }
    }
    pairs.forEach { $0.close() }
  }

  private func owner(_ pair: LoopbackPair, _ client: [UInt8] = four, _ server: [UInt8] = four) -> UInt32? {
    diagnostics.owner(
      clientIP: client, clientPort: pair.clientPort, serverIP: server, serverPort: pair.serverPort)?.uid
  }
}

@Suite struct CallerIdentityTests {
  @Test func `the peer of a Unix socket has a uid, and other descriptors have none`() throws {
    var ends: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, streamType, 0, &ends) == 0)
    let lone = socket(AF_UNIX, streamType, 0)
    let tcp = try LoopbackPair()
    #expect(CallerIdentity.ofPeer(descriptor: ends[0]) == geteuid())
    #expect(CallerIdentity.ofPeer(descriptor: lone) == nil)
    #expect(CallerIdentity.ofPeer(descriptor: tcp.server) == nil)
    #expect(CallerIdentity.ofPeer(descriptor: -1) == nil)
    tcp.close()
    (ends + [lone]).forEach { close($0) }
  }

  @Test(.enabled(if: isRoot)) func `a Unix connection of another user belongs to that user`() async {
    await #expect(processExitsWith: .success) {
      let scratch = try Scratch()
      let listener = try UnixSocket.listen(path: scratch("s"), mode: 0o666, group: nil, backlog: 4)
      chmod(scratch.path, 0o711)
      let client = socket(AF_UNIX, streamType, 0)
      seteuid(65534)
      try expect(connectUnix(client, scratch("s")) == 0)
      seteuid(0)
      let server = accept(listener, nil, nil)
      try expect(CallerIdentity.ofPeer(descriptor: server) == 65534)
      try expect(CallerIdentity.ofPeer(descriptor: client) == 0)
    }
  }
}

let hasIPv6 = (try? LoopbackPair(family: AF_INET6).close()) != nil
