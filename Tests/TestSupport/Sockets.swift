import Glibc

/// Connects to a port of this machine. Reads time out after 10 seconds.
package func connectedSocket(port: UInt16) throws -> Int32 {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
  let status = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
  guard status == 0 else { throw TestFailure("connect: \(errno)") }
  var limit = timeval(tv_sec: Int(10 * patience), tv_usec: 0)
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  return descriptor
}

/// Connects to a Unix socket. Reads time out after 20 seconds.
package func connectedSocket(unix path: String) throws -> Int32 {
  let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
  let status = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
  guard status == 0 else { throw TestFailure("connect: \(errno)") }
  var limit = timeval(tv_sec: Int(20 * patience), tv_usec: 0)
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  return descriptor
}

/// Returns the next bytes, or none at the end of the stream.
package func receive(_ descriptor: Int32) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: 65_536)
  let count = recv(descriptor, &bytes, bytes.count, 0)
  return Array(bytes.prefix(max(0, count)))
}

/// Closes the socket after the peer has closed. With unread bytes the kernel would send a reset, and the server would not
/// record the last data.
package func closeGently(_ descriptor: Int32) {
  shutdown(descriptor, Int32(SHUT_WR))
  while !receive(descriptor).isEmpty {}
  close(descriptor)
}
