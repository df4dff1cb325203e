import TestServer
import Foundation
import TestSupport

/// Forwards bytes to an upstream on this machine and back. It can delay a connection before its first byte.
package final class Relay {
  private let server: UpstreamServer
  package var port: UInt16 { server.port }

  /// - Parameter onConnection: Called with the number of each connection, from 0, before bytes are forwarded.
  package init(to port: UInt16, onConnection: @escaping @Sendable (Int) -> Void) throws {
    let count = Counter()
    server = try UpstreamServer(chain: [], options: .plain) { connection in
      onConnection(count.add())
      Relay.join(connection, port)
    }
  }

  deinit { server.stop() }

  private static func join(_ connection: AcceptedConnection, _ port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    guard Loopback.connect(descriptor, family: AF_INET, port: port) == 0 else { return }
    nonisolated(unsafe) let down = connection
    let isDone = DispatchGroup()
    DispatchQueue(label: "relay").async(group: isDone) {
      var bytes = [UInt8](repeating: 0, count: 65_536)
      while case let count = recv(descriptor, &bytes, bytes.count, 0), count > 0 {
        if (try? down.write(Array(bytes[..<count]))) == nil { break }
      }
      down.closeWithoutNotify()
    }
    while let bytes = try? connection.read(), !bytes.isEmpty {
      guard bytes.withUnsafeBytes({ send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }) == bytes.count
      else { break }
    }
    shutdown(descriptor, Int32(SHUT_RDWR))
    isDone.wait()
  }
}
