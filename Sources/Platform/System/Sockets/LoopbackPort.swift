internal import CLinux
internal import Glibc

package enum LoopbackPort {
  /// Returns `true` if the port is free on both 127.0.0.1 and ::1.
  package static func isFree(_ port: UInt16) -> Bool {
    var four = sockaddr_in()
    four.sin_family = sa_family_t(AF_INET)
    four.sin_port = port.bigEndian
    four.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var six = sockaddr_in6()
    six.sin6_family = sa_family_t(AF_INET6)
    six.sin6_port = port.bigEndian
    six.sin6_addr = in6addr_loopback
    return canBind(AF_INET, &four, MemoryLayout<sockaddr_in>.size)
      && canBind(AF_INET6, &six, MemoryLayout<sockaddr_in6>.size)
  }

  private static func canBind(_ family: Int32, _ address: UnsafeRawPointer, _ size: Int) -> Bool {
    let descriptor = bearerd_stream_socket(family)
    guard descriptor >= 0 else { return errno == EAFNOSUPPORT }
    defer { close(descriptor) }
    var isOn: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
    let status = bind(descriptor, address.assumingMemoryBound(to: sockaddr.self), socklen_t(size))
    return status == 0 || errno == EADDRNOTAVAIL
  }
}
