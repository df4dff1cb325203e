internal import CLinux
internal import Glibc

/// Finds the user who created the other end of a loopback TCP connection, with NETLINK_SOCK_DIAG (T7). A uid from
/// another user namespace becomes 65534.
package final class SocketDiagnostics {
  private let descriptor: Int32
  private var sequence: UInt32 = 0

  package init() throws(SystemError) {
    descriptor = try check(bearerd_socket(AF_NETLINK, NETLINK_SOCK_DIAG), "socket(NETLINK_SOCK_DIAG)")
    do throws(SystemError) {
      var timeout = timeval(tv_sec: 0, tv_usec: 100_000)  // so that the daemon never hangs
      try check(
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size)), "SO_RCVTIMEO"
      )
      // Connected to the kernel, so that no process can send a forged response.
      var kernel = sockaddr_nl()
      kernel.nl_family = sa_family_t(AF_NETLINK)
      try check(
        withUnsafePointer(to: &kernel) {
          connect(
            descriptor, UnsafeRawPointer($0).assumingMemoryBound(to: sockaddr.self),
            socklen_t(MemoryLayout<sockaddr_nl>.size))
        }, "connect(NETLINK_SOCK_DIAG)")
    } catch {
      close(descriptor)
      throw error
    }
  }

  deinit { close(descriptor) }

  /// Returns the owner of the client's socket. `nil` if the owner is not certain. IP addresses have 4 or 16 bytes.
  package func owner(
    clientIP: [UInt8], clientPort: UInt16, serverIP: [UInt8], serverPort: UInt16
  ) -> SocketOwner? {
    guard let client = InternetAddress(clientIP), let server = InternetAddress(serverIP),
      client.isIPv4 == server.isIPv4
    else { return nil }
    // From the perspective of the client's socket, the client is the source.
    let wanted = SocketPair(source: client, sourcePort: clientPort, destination: server, destinationPort: serverPort)
    guard send(wanted), let answer = receive(), answer.pair == wanted, answer.inode != 0,
      acceptable.contains(answer.state)
    else { return nil }
    return SocketOwner(uid: answer.uid, controlGroup: answer.controlGroup)
  }

  /// Whether a TCP socket is still connected. Call this after `owner`, to confirm its result.
  package static func isConnected(descriptor: Int32) -> Bool {
    // The client could have reset the connection, and another program could have got its port.
    // The first byte of tcp_info (linux/tcp.h).
    var state: UInt8 = 0
    var size = socklen_t(1)
    return getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &state, &size) == 0 && size == 1
      && connected.contains(state)
  }

  private func send(_ pair: SocketPair) -> Bool {
    sequence &+= 1
    var query = SocketDiagnosticsRequest(pair, sequence: sequence)
    return withUnsafeBytes(of: &query) { bytes in
      retrying { Glibc.send(descriptor, bytes.baseAddress, bytes.count, 0) } == bytes.count
    }
  }

  private func receive() -> SocketDiagnosticsResponse? {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      // Skips late responses to requests that have timed out.
      for _ in 0..<8 {
        let count = retrying { recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_TRUNC)) }
        guard count > 0, count <= buffer.count else { return nil }
        let message = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        guard let header = NetlinkHeader(message) else { return nil }
        if header.sequence == sequence { return SocketDiagnosticsResponse(message, header) }
      }
      return nil
    }
  }
}

/// The user and control group of the process that created a socket.
package struct SocketOwner: Equatable {
  package let uid: UInt32
  /// The number of the control group (version 2). `nil` if the kernel does not report it.
  package let controlGroup: UInt64?
}

/// TCP states of a client's socket in which its owner is known (include/net/tcp_states.h).
private let acceptable: Set<UInt8> = [1, 4, 5]

/// TCP states in which bearerd's socket is connected.
private let connected: Set<UInt8> = [1, 8]
