internal import CLinux
internal import Glibc

/// NETLINK_SOCK_DIAG: who owns the other end of a loopback TCP connection. One socket, kept open; the kernel answers while
/// the question is being sent, in microseconds, to any user about any other.
///
/// The uid is that of the socket's creator, not of the process that holds the descriptor now (T7). Uids of other user namespaces
/// come as the overflow uid, 65534.
package final class SocketDiagnostics {
  private let descriptor: Int32
  private var sequence: UInt32 = 0

  package init() throws(SystemError) {
    descriptor = try check(bearerd_socket(AF_NETLINK, NETLINK_SOCK_DIAG), "socket(NETLINK_SOCK_DIAG)")
    do throws(SystemError) {
      var patience = timeval(tv_sec: 0, tv_usec: 100_000)  // the daemon must not hang whatever the kernel does
      try check(
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size)), "SO_RCVTIMEO"
      )
      // Connected to the kernel, so that no process can put an answer of its own into our queue.
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

  /// nil on any doubt: not found, inode 0 (no process has the socket open any more), another socket than the one asked for, a
  /// state other than ESTABLISHED, FIN_WAIT1 or FIN_WAIT2 (a client that has sent all it will), no answer.
  /// `client` is the caller's own address as we see it (peer), `server` the local one; each 4 or 16 bytes.
  package func owner(
    clientIP: [UInt8], clientPort: UInt16, serverIP: [UInt8], serverPort: UInt16
  ) -> SocketOwner? {
    guard let client = InternetAddress(clientIP), let server = InternetAddress(serverIP),
      client.isIPv4 == server.isIPv4
    else { return nil }
    // Seen from the client's socket: its source is the client.
    let wanted = SocketPair(source: client, sourcePort: clientPort, destination: server, destinationPort: serverPort)
    guard send(wanted), let answer = receive(), answer.pair == wanted, answer.inode != 0,
      acceptable.contains(answer.state)
    else { return nil }
    return SocketOwner(uid: answer.uid, controlGroup: answer.controlGroup)
  }

  /// Whether our end of a TCP connection still is one: as long as it is, no other socket can have its pair of addresses. Asked
  /// after `owner`, since a client may reset the connection and leave its port to another one, while what it sent before can
  /// still be read.
  package static func isConnected(descriptor: Int32) -> Bool {
    // The first byte of tcp_info (linux/tcp.h).
    var state: UInt8 = 0
    var size = socklen_t(1)
    return getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &state, &size) == 0 && size == 1
      && connected.contains(state)
  }

  private func send(_ pair: SocketPair) -> Bool {
    sequence &+= 1
    var query = Query(pair, sequence: sequence)
    return withUnsafeBytes(of: &query) { bytes in
      retrying { Glibc.send(descriptor, bytes.baseAddress, bytes.count, 0) } == bytes.count
    }
  }

  private func receive() -> Answer? {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      // An answer to an older question, that of a call which had given up, is thrown away.
      for _ in 0..<8 {
        let count = retrying { recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_TRUNC)) }
        guard count > 0, count <= buffer.count else { return nil }
        let message = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        guard let header = NetlinkHeader(message) else { return nil }
        if header.sequence == sequence { return Answer(message, header) }
      }
      return nil
    }
  }
}

/// The user of the process that made a socket, when it did.
package struct SocketOwner: Equatable {
  package let uid: UInt32
  /// Number of its control group (version 2); nil: the kernel does not say (Linux before 5.8).
  package let controlGroup: UInt64?
}

/// TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2 (include/net/tcp_states.h).
private let acceptable: Set<UInt8> = [1, 4, 5]

/// TCP_ESTABLISHED, and TCP_CLOSE_WAIT: the client has sent all it will.
private let connected: Set<UInt8> = [1, 8]
