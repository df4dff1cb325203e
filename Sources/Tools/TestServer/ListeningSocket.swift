internal import Glibc

/// Opens a non-blocking listening socket, and returns its actual port.
/// - Parameter port: 0 to select a free port.
func listeningSocket(address: String, port: UInt16) throws -> (descriptor: Int32, port: UInt16) {
  var storage = sockaddr_storage()
  let length = try fill(&storage, address: address, port: port)
  let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
  let descriptor = socket(Int32(storage.ss_family), type, 0)
  guard descriptor >= 0 else { throw TestServerError.system("socket") }
  var yes: Int32 = 1
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
  let status = withSockaddr(&storage) { bind(descriptor, $0, length) }
  guard status == 0, listen(descriptor, 128) == 0 else {
    let error = TestServerError.system("bind \(address):\(port)")
    close(descriptor)
    throw error
  }
  var actual = length
  _ = withSockaddr(&storage) { getsockname(descriptor, $0, &actual) }
  // The port has the same offset in sockaddr_in and sockaddr_in6
  let bound = withUnsafeBytes(of: &storage) { UInt16($0[2]) << 8 | UInt16($0[3]) }
  return (descriptor, bound)
}

/// Sets TCP_NODELAY on an accepted connection, and a timeout of 10 seconds for each read and write.
func prepareConnection(_ descriptor: Int32) {
  _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  var limit = timeval(tv_sec: 10, tv_usec: 0)
  var yes: Int32 = 1
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
}

private func fill(_ storage: inout sockaddr_storage, address: String, port: UInt16) throws -> socklen_t {
  var v4 = sockaddr_in()
  v4.sin_family = sa_family_t(AF_INET)
  v4.sin_port = port.bigEndian
  if inet_pton(AF_INET, address, &v4.sin_addr) == 1 {
    withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v4, as: sockaddr_in.self) }
    return socklen_t(MemoryLayout<sockaddr_in>.size)
  }
  var v6 = sockaddr_in6()
  v6.sin6_family = sa_family_t(AF_INET6)
  v6.sin6_port = port.bigEndian
  guard inet_pton(AF_INET6, address, &v6.sin6_addr) == 1 else {
    throw TestServerError("not an IP address: \(address)")
  }
  withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v6, as: sockaddr_in6.self) }
  return socklen_t(MemoryLayout<sockaddr_in6>.size)
}

private func withSockaddr<Result>(
  _ storage: inout sockaddr_storage, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
) -> Result {
  withUnsafeMutablePointer(to: &storage) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
  }
}
