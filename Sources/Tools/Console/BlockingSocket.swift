internal import Glibc
internal import System

package struct SocketError: Error {
  package enum Kind { case noHost, failed }
  package let kind: Kind
  package let message: String

  package init(kind: Kind, message: String) {
    self.kind = kind
    self.message = message
  }
}

/// A connection with one time limit for all calls together.
package struct BlockingSocket: ~Copyable {
  private let descriptor: Int32
  private let deadline: UInt64

  /// Connects to a host. `seconds` limits the total time of connecting and of all later calls.
  package init(host: String, port: UInt16, seconds: UInt64) throws(SocketError) {
    deadline = Clock.monotonicMicroseconds + seconds * 1_000_000
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = Int32(AI_ADDRCONFIG)
    var list: UnsafeMutablePointer<addrinfo>?
    // RFC 6761 section 6.3. Not every resolver knows names such as api.localhost.
    let name = host.hasSuffix(".localhost") ? "localhost" : host
    let status = getaddrinfo(name, String(port), &hints, &list)
    guard status == 0 else {
      throw SocketError(kind: .noHost, message: "\(host): \(String(cString: gai_strerror(status)))")
    }
    defer { freeaddrinfo(list) }
    var reason = ETIMEDOUT
    var next = list
    while let address = next?.pointee {
      let attemptDeadline = min(deadline, Clock.monotonicMicroseconds + 3_000_000)
      do throws(SystemError) {
        descriptor = try BlockingSocket.openConnection(
          address.ai_family, address.ai_addr, address.ai_addrlen, until: attemptDeadline)
        return
      } catch {
        reason = error.errno
      }
      next = address.ai_next
    }
    throw SocketError(kind: .failed, message: "\(host):\(port): \(String(cString: strerror(reason)))")
  }

  package init(unixPath path: String, seconds: UInt64) throws(SocketError) {
    deadline = Clock.monotonicMicroseconds + seconds * 1_000_000
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
      guard path.utf8.count < room.count else { return false }
      room.copyBytes(from: path.utf8)
      return true
    }
    guard fits else { throw SocketError(kind: .failed, message: "the path is too long for a socket") }
    let limit = deadline
    do throws(SystemError) {
      descriptor = try withUnsafeMutablePointer(to: &address) { (pointer) throws(SystemError) in
        try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (pointer) throws(SystemError) in
          try BlockingSocket.openConnection(AF_UNIX, pointer, socklen_t(MemoryLayout<sockaddr_un>.size), until: limit)
        }
      }
    } catch {
      throw SocketError(kind: .failed, message: String(cString: strerror(error.errno)))
    }
  }

  deinit { close(descriptor) }

  package func send(_ bytes: [UInt8]) throws(SocketError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      try checkDeadline()
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count < 0, errno != EAGAIN, errno != EINTR { throw systemError() }
      if count < 0 { try wait(for: POLLOUT) } else { rest = rest.dropFirst(count) }
    }
  }

  /// Returns received bytes, or an empty array if the peer closed the connection.
  package func receive() throws(SocketError) -> [UInt8] {
    while true {
      try checkDeadline()
      var bytes = [UInt8](repeating: 0, count: 16_384)
      let count = recv(descriptor, &bytes, bytes.count, 0)
      if count >= 0 {
        bytes.removeLast(bytes.count - count)
        return bytes
      }
      if errno != EAGAIN, errno != EINTR { throw systemError() }
      try wait(for: POLLIN)
    }
  }

  /// Returns all bytes until the peer closes the connection. Throws if there are more than `maximum` bytes.
  package func receiveAll(maximum: Int) throws(SocketError) -> [UInt8] {
    var all: [UInt8] = []
    while case let bytes = try receive(), !bytes.isEmpty {
      all += bytes
      guard all.count <= maximum else { throw SocketError(kind: .failed, message: "the answer is too long") }
    }
    return all
  }

  private func wait(for event: Int32) throws(SocketError) {
    guard BlockingSocket.isReady(descriptor, event, until: deadline) else { throw timeoutError }
  }

  private func checkDeadline() throws(SocketError) {
    guard Clock.monotonicMicroseconds < deadline else { throw timeoutError }
  }

  private var timeoutError: SocketError { SocketError(kind: .failed, message: "timed out") }

  private func systemError() -> SocketError { SocketError(kind: .failed, message: String(cString: strerror(errno))) }

  private static func openConnection(
    _ family: Int32, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t, until deadline: UInt64
  ) throws(SystemError) -> Int32 {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(family, type, 0)
    guard descriptor >= 0 else { throw SystemError(operation: "socket", errno: errno) }
    var reason: Int32 = 0
    if connect(descriptor, address, length) != 0 {
      reason = errno
      if reason == EINPROGRESS {
        var size = socklen_t(MemoryLayout<Int32>.size)
        reason = ETIMEDOUT
        if isReady(descriptor, POLLOUT, until: deadline) {
          getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &reason, &size)
        }
      }
    }
    guard reason == 0 else {
      close(descriptor)
      throw SystemError(operation: "connect", errno: reason)
    }
    return descriptor
  }

  private static func isReady(_ descriptor: Int32, _ event: Int32, until deadline: UInt64) -> Bool {
    while true {
      let now = Clock.monotonicMicroseconds
      guard now < deadline else { return false }
      var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
      let count = poll(&entry, 1, Int32(clamping: (deadline - now) / 1000 + 1))
      if count > 0 { return true }
      if count < 0, errno != EINTR { return false }
    }
  }
}
