import Foundation
import TestSupport

/// A client with a plain socket, so that the test controls every byte.
package final class LocalClient {
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  /// All bytes received, for the search for the canary.
  package private(set) var received: [UInt8] = []

  /// - Parameter ip: an IPv4 address of this machine.
  package init(port: UInt16, family: Int32 = AF_INET, ip: String = "127.0.0.1") throws {
    descriptor = try Self.makeSocket(family)
    let result =
      family == AF_INET
      ? Loopback.connect(descriptor, ip: ip, port: port) : Loopback.connect(descriptor, family: family, port: port)
    guard result == 0 else { throw Self.failure("connect") }
    limitTime()
  }

  package init(unix path: String) throws {
    descriptor = try Self.makeSocket(AF_UNIX)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { throw Self.failure("connect") }
    limitTime()
  }

  private static func makeSocket(_ family: Int32) throws -> Int32 {
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw failure("socket") }
    return descriptor
  }

  private static func failure(_ call: String) -> TestFailure {
    TestFailure("\(call): \(String(cString: strerror(errno)))")
  }

  deinit { abandon() }

  private func limitTime() {
    var limit = timeval(tv_sec: Int(20 * patience), tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Disables Nagle's algorithm, so that small pieces are sent immediately.
  package func disableNagle() {
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  package func send(_ text: String) throws { try send(Array(text.utf8)) }

  package func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard sent > 0 else { throw Self.failure("send") }
      rest = rest.dropFirst(sent)
    }
  }

  package func shutdownSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  package func abort() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    abandon()
  }

  /// Closes the connection immediately.
  package func abandon() {
    guard !isAbandoned else { return }
    isAbandoned = true
    close(descriptor)
  }

  private var isAbandoned = false

  package static let hasIPv6 = Squatting(.loopback6, port: 0) != nil

  package struct Response {
    package var status: Int
    package var head: String
    package var body: [UInt8]
    package var text: String { String(decoding: body, as: UTF8.self) }

    package func values(_ name: String) -> [String] {
      head.components(separatedBy: "\r\n").dropFirst().compactMap { line in
        guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else { return nil }
        return line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      }
    }
  }

  /// Returns the next complete response, also an interim response.
  /// - Parameter isHead: Whether the request was a HEAD, so that the response has no body.
  package func response(isHead: Bool = false) throws -> Response {
    while buffer.firstRange(of: Array("\r\n\r\n".utf8)) == nil { try more() }
    let end = buffer.firstRange(of: Array("\r\n\r\n".utf8))!
    let head = String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
    buffer.removeSubrange(..<end.upperBound)
    guard let status = Int(head.split(separator: " ").dropFirst().first ?? "") else {
      throw TestFailure("no status: \(head)")
    }
    var response = Response(status: status, head: head, body: [])
    if isHead || status < 200 || status == 204 || status == 304 { return response }
    if let length = response.values("Content-Length").first.flatMap(Int.init) {
      while buffer.count < length { try more() }
      response.body = Array(buffer[..<length])
      buffer.removeSubrange(..<length)
    } else if response.values("Transfer-Encoding").contains("chunked") {
      response.body = try chunkedBody()
    } else {
      while try fill() {}
      response.body = buffer
      buffer = []
    }
    return response
  }

  private func chunkedBody() throws -> [UInt8] {
    var body: [UInt8] = []
    while true {
      let line = try line()
      guard let size = Int(line.prefix { $0 != ";" }, radix: 16) else { throw TestFailure("bad chunk size \(line)") }
      while buffer.count < size + 2 { try more() }
      if size == 0 {
        while try !self.line().isEmpty {}
        return body
      }
      body += buffer[..<size]
      buffer.removeSubrange(..<(size + 2))
    }
  }

  private func line() throws -> String {
    while buffer.firstRange(of: Array("\r\n".utf8)) == nil { try more() }
    let end = buffer.firstRange(of: Array("\r\n".utf8))!
    defer { buffer.removeSubrange(..<end.upperBound) }
    return String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
  }

  /// Reads the available bytes into `received` and discards them.
  package func drain() throws {
    _ = try fill()
    buffer = []
  }

  /// Whether the daemon has closed the connection and sent nothing more.
  package func isAtEnd() throws -> Bool { buffer.isEmpty ? try !fill() : false }

  private func more() throws {
    guard try fill() else {
      throw TestFailure("closed in the middle of an answer: \(String(decoding: buffer, as: UTF8.self))")
    }
  }

  /// Returns `false` at the end.
  private func fill() throws -> Bool {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &chunk, chunk.count, 0)
    guard count >= 0 else { throw Self.failure("recv") }
    buffer += chunk[..<count]
    received += chunk[..<count]
    return count > 0
  }
}
