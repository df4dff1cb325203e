import Foundation
import TestSupport

/// A control socket that answers one text after the other, and the last one again and again.
final class ControlServer: @unchecked Sendable {
  private let descriptor: Int32
  private let lock = NSLock()
  private var answers: [String]
  private var asked: [String] = []
  private var isStopped = false

  init(path: String, answers: [String]) throws {
    self.answers = answers
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

  /// What clients sent so far.
  var requests: [String] { lock.withLock { asked } }

  /// The thread that accepts closes the socket. Once more does nothing: its number may be another test's by then.
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
      let answer = lock.withLock {
        asked.append(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self))
        return answers.count > 1 ? answers.removeFirst() : answers[0]
      }
      var rest = Array(answer.utf8)[...]
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
