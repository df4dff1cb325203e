package import Foundation
import TestSupport

/// A socket for bodies that are too large to keep, and for bytes that `LocalClient` hides.
package final class RawClient: @unchecked Sendable {
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private var start = 0
  private var isOpen = true
  private let guardian: SecretGuard?

  /// - Parameters:
  ///   - receiveBuffer: Size of SO_RCVBUF in bytes. A small buffer makes a pausing reader noticeable soon.
  ///   - guardian: Searches all received bytes.
  package init(port: UInt16, family: Int32 = AF_INET, receiveBuffer: Int32? = nil, guardian: SecretGuard? = nil) throws
  {
    self.guardian = guardian
    descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    try connect(Loopback.connect(descriptor, family: family, port: port))
  }

  /// - Parameter ip: an IPv4 address of this machine.
  package init(port: UInt16, ip: String) throws {
    guardian = nil
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    try connect(Loopback.connect(descriptor, ip: ip, port: port))
  }

  package init(unix path: String) throws {
    guardian = nil
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    try connect(
      withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      })
  }

  deinit { close() }

  private func connect(_ result: Int32) throws {
    guard result == 0 else { throw TestFailure("connect: \(String(cString: strerror(errno)))") }
    setTimeout(seconds: Int(20 * patience))
  }

  /// Sets the timeout of reads and writes.
  package func setTimeout(seconds: Int) {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  // MARK: sending

  package func send(_ text: String) throws { try send(Array(text.utf8)) }

  package func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard sent > 0 else { throw TestFailure("send: \(String(cString: strerror(errno)))") }
      rest = rest.dropFirst(sent)
    }
  }

  /// Sends the bytes that the kernel accepts without waiting, and returns their number.
  package func sendWithoutWaiting(_ bytes: [UInt8]) -> Int {
    max(
      0,
      bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      })
  }

  package func shutdownSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  package func close() {
    if isOpen { Glibc.close(descriptor) }
    isOpen = false
  }

  package func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    close()
  }

  // MARK: receiving

  package enum Ending: Equatable { case clean, reset, silent }

  /// Returns some bytes, or none at the end. Throws after a reset.
  package func read(maximum: Int = 65_536) throws -> [UInt8] {
    if start < buffer.count {
      let end = min(buffer.count, start + maximum)
      defer { start = end }
      return Array(buffer[start..<end])
    }
    var bytes = [UInt8](repeating: 0, count: maximum)
    let count = recv(descriptor, &bytes, maximum, 0)
    guard count >= 0 else { throw ReadFailure(number: errno) }
    bytes.removeLast(maximum - count)
    guardian?.search(bytes)
    return bytes
  }

  /// Returns the bytes that are already available.
  package func readWithoutWaiting() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    guardian?.search(Array(bytes.prefix(max(0, count))))
    return Array(bytes.prefix(max(0, count)))
  }

  package struct ReadFailure: Error { let number: Int32 }

  /// Reads through the next `\r\n` and returns the line without it.
  package func line() throws -> String {
    var line: [UInt8] = []
    while true {
      if start == buffer.count {
        buffer = try read()
        start = 0
        guard !buffer.isEmpty else { throw TestFailure("closed after: \(String(decoding: line, as: UTF8.self))") }
      }
      while start < buffer.count {
        line.append(buffer[start])
        start += 1
        if line.last == 10 { return String(decoding: line.dropLast(2), as: UTF8.self) }
      }
    }
  }

  /// Reads through `end` and returns the text with it.
  package func line(endingWith end: String) throws -> String {
    var line = ""
    while !line.hasSuffix(end) { line += String(decoding: try exactly(1), as: UTF8.self) }
    return line
  }

  /// Reads a head and returns it without its empty line.
  package func head() throws -> String {
    var head = ""
    while case let line = try line(), !line.isEmpty { head += line + "\r\n" }
    return head
  }

  /// Reads a response with a Content-Length.
  package func response() throws -> (head: String, body: String) {
    let head = try head()
    let length = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }
      .flatMap { Int($0.dropFirst(16)) }
    return (head, String(decoding: try exactly(length ?? 0), as: UTF8.self))
  }

  package func exactly(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let more = try read(maximum: min(65_536, count - bytes.count))
      guard !more.isEmpty else { throw TestFailure("closed after \(bytes.count) of \(count)") }
      bytes += more
    }
    return bytes
  }

  /// Reads to the end and returns the bytes and how the connection ended.
  package func rest() -> (bytes: [UInt8], ending: Ending) {
    var bytes: [UInt8] = []
    while true {
      do {
        let more = try read()
        if more.isEmpty { return (bytes, .clean) }
        bytes += more
      } catch {
        let number = (error as? ReadFailure)?.number
        return (bytes, number == EAGAIN ? .silent : .reset)
      }
    }
  }

  /// Reads a chunked body and returns its trailers. `body` gets the data of the chunks as it arrives.
  @discardableResult
  package func chunks(_ body: ([UInt8]) throws -> Void) throws -> [String] {
    while true {
      let line = try line()
      guard var rest = Int(line, radix: 16) else { throw TestFailure("no chunk size: \(line)") }
      if rest == 0 {
        var trailers: [String] = []
        while case let trailer = try self.line(), !trailer.isEmpty { trailers.append(trailer) }
        return trailers
      }
      while rest > 0 {
        let piece = try read(maximum: min(rest, 262_144))
        guard !piece.isEmpty else { throw TestFailure("closed in a chunk") }
        rest -= piece.count
        try body(piece)
      }
      guard try self.line().isEmpty else { throw TestFailure("no end of a chunk") }
    }
  }
}

package enum Loopback {
  /// Calls connect(2) with 127.0.0.1 or ::1.
  package static func connect(_ descriptor: Int32, family: Int32, port: UInt16) -> Int32 {
    withAddress(family: family, port: port) { Glibc.connect(descriptor, $0, $1) }
  }

  /// Calls connect(2) with an IPv4 address of this machine.
  package static func connect(_ descriptor: Int32, ip: String, port: UInt16) -> Int32 {
    withAddress(family: AF_INET, port: port, ip: inet_addr(ip)) { Glibc.connect(descriptor, $0, $1) }
  }

  /// - Parameter ip: For AF_INET, in network byte order.
  package static func withAddress<Result>(
    family: Int32, port: UInt16, ip: in_addr_t = UInt32(0x7F00_0001).bigEndian,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    if family == AF_INET {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = ip
      return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
      }
    }
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    address.sin6_addr = in6addr_loopback
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in6>.size)) }
    }
  }
}
