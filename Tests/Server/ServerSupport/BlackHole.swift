import Foundation
import TestSupport

/// A loopback port with a full backlog, which does not respond to connection attempts.
package final class BlackHole {
  package let port: UInt16
  private let listener: Int32
  private let fillers: [Int32]

  /// - Parameter port: 0 chooses a free port.
  package init(family: Int32 = AF_INET, port wanted: UInt16 = 0) throws {
    let listener = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.listener = listener
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    if family == AF_INET6 {
      setsockopt(listener, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }
    guard Loopback.withAddress(family: family, port: wanted, { bind(listener, $0, $1) }) == 0, listen(listener, 0) == 0
    else { throw TestFailure("black hole: \(String(cString: strerror(errno)))") }
    var storage = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    _ = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
    }
    let port = UInt16(bigEndian: storage.sin6_port)  // at the same place in sockaddr_in
    self.port = port
    // More connections than fit in the backlog. The last ones stay in SYN_SENT.
    fillers = (0..<4).map { _ in
      let filler = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
      _ = Loopback.connect(filler, family: family, port: port)
      return filler
    }
  }

  deinit { for descriptor in fillers + [listener] { close(descriptor) } }
}
