package import TestServer
import Foundation
import TestSupport
import Testing

extension AcceptedConnection {
  package func switchProtocols(to name: String = "websocket", _ more: String = "") {
    send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: \(name)\r\n\r\n" + more)
  }

  /// Echoes until the peer closes.
  /// - Returns: Whether the peer closed with close_notify.
  @discardableResult
  package func echo() -> Bool {
    while let bytes = try? read() {
      if bytes.isEmpty { return true }
      guard (try? write(bytes)) != nil else { return false }
    }
    return false
  }
}

extension Stage {
  /// Returns an upstream that echoes on a WebSocket, and responds "alive" to other requests.
  /// - Parameter ended: Called with whether the peer closed with close_notify.
  package static func echoing(_ ended: @escaping @Sendable (Bool) -> Void = { _ in })
    -> @Sendable (AcceptedConnection) -> Void
  {
    { connection in
      while let (head, _) = connection.head() {
        if head.contains("\r\nUpgrade: websocket\r\n") {
          connection.switchProtocols()
          ended(connection.echo())
          return
        }
        connection.respond("alive")
      }
    }
  }

  package static let upgradeFields =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\n"

  package func upgraded(_ path: String = "/api/x", receiveBuffer: Int32? = nil) throws -> RawClient {
    let client = try raw(receiveBuffer: receiveBuffer)
    try client.send(head("GET", path, fields: Self.upgradeFields))
    let head = try client.head()
    guard head.hasPrefix("HTTP/1.1 101 ") else { throw TestFailure(head) }
    return client
  }

  package func echoes(_ client: RawClient, _ text: String = "ping") throws -> Bool {
    try client.send(text)
    return try client.exactly(text.utf8.count) == Array(text.utf8)
  }
}
