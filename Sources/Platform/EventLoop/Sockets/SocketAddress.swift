internal import CLibuv
internal import Glibc

package struct SocketAddress: Sendable, Equatable, CustomStringConvertible {
  /// The IP address: 4 or 16 bytes, in network order.
  package let ip: [UInt8]
  package let port: UInt16

  package init(ip: [UInt8], port: UInt16) {
    self.ip = ip
    self.port = port
  }

  package var isIPv6: Bool { ip.count == 16 }

  /// For example `127.0.0.1:7070` or `[::1]:7070`.
  package var description: String {
    let family = isIPv6 ? AF_INET6 : AF_INET
    let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
      guard ip.count == 4 || ip.count == 16, let start = buffer.baseAddress,
        ip.withUnsafeBytes({ uv_inet_ntop(family, $0.baseAddress, start, buffer.count) }) == 0
      else { return "?" }
      return String(cString: start)
    }
    return isIPv6 ? "[\(text)]:\(port)" : "\(text):\(port)"
  }

  /// Calls `body` with the C address and returns its libuv status; EINVAL if `ip` has neither 4 nor 16 bytes.
  func withSockaddr(_ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
    func call(_ bytes: UnsafeRawBufferPointer) -> CInt {
      guard let start = bytes.baseAddress else { return UV_EINVAL.rawValue }
      return body(start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    switch ip.count {
    case 4:
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: ip) }
      return withUnsafeBytes(of: address) { call($0) }
    case 16:
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: ip) }
      return withUnsafeBytes(of: address) { call($0) }
    default: return UV_EINVAL.rawValue
    }
  }

  /// Gets the address from a function like getsockname; `nil` if that fails or the address is not an IP address.
  init?(from query: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<CInt>) -> CInt) {
    var storage = sockaddr_storage()
    var length = CInt(MemoryLayout<sockaddr_storage>.size)
    let address = withUnsafeMutableBytes(of: &storage) { bytes -> SocketAddress? in
      guard let start = bytes.baseAddress else { return nil }
      let pointer = start.assumingMemoryBound(to: sockaddr.self)
      return query(pointer, &length) == 0 ? SocketAddress(pointer) : nil
    }
    guard let address else { return nil }
    self = address
  }

  /// Copies an IPv4 or IPv6 address; `nil` for other address families.
  init?(_ raw: UnsafePointer<sockaddr>) {
    switch CInt(raw.pointee.sa_family) {
    case AF_INET:
      let address = UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_in.self)
      self.init(ip: withUnsafeBytes(of: address.sin_addr) { Array($0) }, port: UInt16(bigEndian: address.sin_port))
    case AF_INET6:
      let address = UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_in6.self)
      self.init(ip: withUnsafeBytes(of: address.sin6_addr) { Array($0) }, port: UInt16(bigEndian: address.sin6_port))
    default: return nil
    }
  }
}
