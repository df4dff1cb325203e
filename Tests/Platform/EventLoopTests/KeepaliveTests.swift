@testable import EventLoop
import Glibc
import Testing

/// Accepted connections inherit the TCP keep-alive options of the listening socket.
@Suite struct KeepaliveTests {
  private func options(_ descriptor: Int32) -> [Int32] {
    [
      (SOL_SOCKET, SO_KEEPALIVE), (Int32(IPPROTO_TCP), TCP_KEEPIDLE), (Int32(IPPROTO_TCP), TCP_KEEPINTVL),
      (Int32(IPPROTO_TCP), TCP_KEEPCNT),
    ]
    .map { level, name in
      var value: Int32 = -1
      var size = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(descriptor, level, name, &value, &size)
      return value
    }
  }

  @Test func `a listener sets the TCP keep-alive options, within the kernel's limits`() throws {
    let loop = try Loop()
    let listener = try Listener(loop: loop, address: .loopback(), backlog: 4, reusePort: false)
    defer { listener.close() }
    for (keepalive, expected) in [
      (TCPKeepalive(idle: 60, interval: 15, probes: 4), [1, 60, 15, 4]),
      (TCPKeepalive(idle: 0, interval: 100_000, probes: 1_000), [1, 1, 32_767, 127]),
    ] as [(TCPKeepalive, [Int32])] {
      listener.setKeepalive(keepalive)
      #expect(options(listener.descriptor) == expected)
    }
    listener.setKeepalive(nil)
    #expect(options(listener.descriptor).first == 0)
  }
}
