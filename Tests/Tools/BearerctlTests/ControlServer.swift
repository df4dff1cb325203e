import Foundation
import TestSupport

/// A control socket that returns the given texts, and then repeats the last one.
final class ControlServer: @unchecked Sendable {
  private let descriptor: Int32
  private let lock = NSLock()
  private var responses: [String]
  private var asked: [String] = []
  private var isStopped = false

  init(path: String, responses: [String]) throws {
    self.responses = responses
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.descriptor = descriptor
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard status == 0, listen(descriptor, 8) == 0 else { throw TestFailure("no socket \(path): \(errno)") }
    Thread.detachNewThread { [self] in serve() }
  }

  var requests: [String] { lock.withLock { asked } }

  /// The accepting thread closes the socket. A second call must not: another test may have the same descriptor number
  /// by then.
  func stop() {
    let isFirst = lock.withLock {
      defer { isStopped = true }
      return !isStopped
    }
    if isFirst { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  private func serve() {
    while case let client = accept(descriptor, nil, nil), client >= 0 {
      var bytes = [UInt8](repeating: 0, count: 1024)
      let count = read(client, &bytes, bytes.count)
      let response = lock.withLock {
        asked.append(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self))
        return responses.count > 1 ? responses.removeFirst() : responses[0]
      }
      var rest = Array(response.utf8)[...]
      while !rest.isEmpty {
        let written = rest.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if written <= 0 { break }
        rest = rest.dropFirst(written)
      }
      close(client)
    }
    close(descriptor)
  }
}
