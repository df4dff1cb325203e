import Foundation

/// How another program could listen on a port of `localhost`.
package enum Squat: CaseIterable {
  case loopback4, loopback6, all4, all6, allOfBoth
  package var isIPv6: Bool { self == .loopback6 || self == .all6 || self == .allOfBoth }
  package var usesAll: Bool { self == .all4 || self == .all6 || self == .allOfBoth }
}

/// A listening socket of another program, which allows its port to be shared.
package final class Squatting {
  private let descriptor: Int32
  package private(set) var port: UInt16

  /// Returns `nil` if the address is in use.
  package init?(_ squat: Squat, port: UInt16) {
    self.port = port
    descriptor = socket(squat.isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var (yes, only) = (Int32(1), Int32(squat == .allOfBoth ? 0 : 1))
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &yes, 4)
    var storage = sockaddr_storage()
    var length: socklen_t
    if squat.isIPv6 {
      setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &only, 4)
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      address.sin6_addr = squat.usesAll ? in6addr_any : in6addr_loopback
      length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in6.self) }
    } else {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = squat.usesAll ? 0 : UInt32(0x7F00_0001).bigEndian
      length = socklen_t(MemoryLayout<sockaddr_in>.size)
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in.self) }
    }
    let descriptor = descriptor
    let isBound = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else { return nil }
    // The port is at the same offset in both families.
    self.port = withUnsafeBytes(of: &storage) {
      UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
    }
  }

  deinit { close(descriptor) }
}
