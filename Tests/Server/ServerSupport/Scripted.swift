package import TestServer
import Foundation
import TestSupport

extension AcceptedConnection {
  /// Reads a head and the bytes after it, or returns `nil` if the peer closed. For bodies that the test reads itself.
  package func head() -> (text: String, rest: [UInt8])? {
    var bytes: [UInt8] = []
    while true {
      guard let more = try? read(), !more.isEmpty else { return nil }
      bytes += more
      if let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) {
        return (String(decoding: bytes[..<end.upperBound], as: UTF8.self), Array(bytes[end.upperBound...]))
      }
    }
  }

  package func readToEnd() {
    while let more = try? read(), !more.isEmpty {}
  }

  package func send(_ text: String) { try? write(Array(text.utf8)) }

  package func respond(_ body: String, status: String = "200 OK", fields: String = "") {
    send("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)")
  }
}

extension UpstreamRequest {
  package var text: String { String(decoding: head, as: UTF8.self) }
  /// The path below `/base`.
  package var path: Substring { text.split(separator: " ")[1].dropFirst("/base".count) }
}

/// A counter for several threads. Not a `Mutex`, which the thread sanitizer does not see.
package final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var value = 0

  package init() {}

  /// - Returns: The value before the addition.
  @discardableResult
  package func add(_ more: Int = 1) -> Int {
    lock.withLock {
      defer { value += more }
      return value
    }
  }

  package var count: Int { lock.withLock { value } }
}

extension Stage {
  package func raw(_ listener: String = "main", receiveBuffer: Int32? = nil) throws -> RawClient {
    let guardian = SecretGuard(Stage.encodings(of: canary))
    guardians.append(guardian)
    return try RawClient(port: daemon!.port(listener), receiveBuffer: receiveBuffer, guardian: guardian)
  }

  /// Returns a request head with the listener's Host.
  package func head(_ method: String, _ path: String = "/api/x", fields: String = "", version: String = "1.1") throws
    -> String
  {
    "\(method) \(path) HTTP/\(version)\r\nHost: localhost:\(try daemon!.port())\r\n\(fields)\r\n"
  }

  /// Whether a request on a new connection gets its response.
  package func isAlive() throws -> Bool {
    let client = try raw()
    try client.send(head("GET", "/api/alive"))
    return try client.response().body == "alive"
  }
}

extension UpstreamServer.Options {
  package static var plain: Self {
    var options = Self()
    options.isPlain = true
    return options
  }
}
