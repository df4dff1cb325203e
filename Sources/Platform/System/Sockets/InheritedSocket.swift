internal import CLinux
internal import Glibc

/// A socket that the service manager has opened and passed to bearerd (sd_listen_fds(3)). After `close()`, the port
/// stays in use.
package struct InheritedSocket: Sendable, Equatable {
  package enum Address: Sendable, Equatable {
    /// An address of a TCP socket. `ip` has 4 or 16 bytes, in network order.
    case tcp(ip: [UInt8], port: UInt16)
    case unix(path: String)
    /// The socket cannot accept connections, for this reason.
    case unusable(String)
  }

  /// The name from `FileDescriptorName=` of the socket unit. Several sockets can have the same name.
  package let name: String
  package let descriptor: Int32
  package let address: Address

  package init(name: String, descriptor: Int32) {
    self.name = name
    self.descriptor = descriptor
    address = .ofSocket(descriptor)
  }

  /// Returns a second descriptor (CLOEXEC) of the same socket, to be closed separately.
  package func duplicate() throws(SystemError) -> InheritedSocket {
    InheritedSocket(name: name, descriptor: try check(fcntl(descriptor, F_DUPFD_CLOEXEC, 3), "dup"))
  }

  package func close() { Glibc.close(descriptor) }

  /// Accepts and closes the connections in the backlog, so that clients do not wait in vain.
  package func closePendingConnections() {
    for _ in 0..<4096 {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, 0) == 1 else { return }
      let connection = accept(descriptor, nil, nil)
      guard connection >= 0 else { return }
      Glibc.close(connection)
    }
  }
}

extension InheritedSocket.Address {
  fileprivate static func ofSocket(_ descriptor: Int32) -> Self {
    guard let family = socketOption(descriptor, SO_DOMAIN) else { return .unusable("it is not a socket") }
    guard family == AF_INET || family == AF_INET6 || family == AF_UNIX else {
      return .unusable("its address family is \(family), neither internet nor unix")
    }
    guard socketOption(descriptor, SO_TYPE) == Int32(SOCK_STREAM.rawValue) else {
      return .unusable("it is not a stream socket (the unit needs ListenStream=)")
    }
    // Callers are identified with the kernel's TCP tables (T6).
    guard family == AF_UNIX || socketOption(descriptor, SO_PROTOCOL) == Int32(IPPROTO_TCP) else {
      return .unusable("it does not speak TCP")
    }
    guard socketOption(descriptor, SO_ACCEPTCONN) == 1 else {
      return .unusable("it does not listen (the unit needs Accept=no)")
    }
    return family == AF_UNIX ? unix(descriptor) : internet(descriptor)
  }

  private static func internet(_ descriptor: Int32) -> Self {
    var raw = sockaddr_in6()
    let size = withUnsafeMutablePointer(to: &raw) { boundAddress(descriptor, $0) }
    if size == MemoryLayout<sockaddr_in6>.size, raw.sin6_family == sa_family_t(AF_INET6) {
      return .tcp(ip: withUnsafeBytes(of: raw.sin6_addr) { Array($0) }, port: UInt16(bigEndian: raw.sin6_port))
    }
    guard size == MemoryLayout<sockaddr_in>.size else { return .unusable("its address cannot be read") }
    let four = withUnsafeBytes(of: raw) { $0.loadUnaligned(as: sockaddr_in.self) }
    return .tcp(ip: withUnsafeBytes(of: four.sin_addr) { Array($0) }, port: UInt16(bigEndian: four.sin_port))
  }

  private static func unix(_ descriptor: Int32) -> Self {
    var raw = sockaddr_un()
    guard let size = withUnsafeMutablePointer(to: &raw, { boundAddress(descriptor, $0) }) else {
      return .unusable("its address cannot be read")
    }
    let path = withUnsafeBytes(of: raw.sun_path) { bytes in
      bytes.prefix(max(0, size - MemoryLayout<sa_family_t>.size)).prefix { $0 != 0 }
    }
    // An abstract name has no permissions: any user can connect.
    guard path.first == UInt8(ascii: "/") else { return .unusable("it has no path in the file system") }
    return .unix(path: String(decoding: path, as: UTF8.self))
  }
}

/// Calls getsockname(2) and returns the length of the address. `nil` if it fails or does not fit.
private func boundAddress<Address>(_ descriptor: Int32, _ address: UnsafeMutablePointer<Address>) -> Int? {
  var size = socklen_t(MemoryLayout<Address>.size)
  let raw = UnsafeMutableRawPointer(address).assumingMemoryBound(to: sockaddr.self)
  guard getsockname(descriptor, raw, &size) == 0, size <= MemoryLayout<Address>.size else { return nil }
  return Int(size)
}

private func socketOption(_ descriptor: Int32, _ name: Int32) -> Int32? {
  var (value, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
  guard getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 else { return nil }
  return value
}
