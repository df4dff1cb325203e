package final class Loop {
  package init() throws(UVError) { fatalError() }
  /// Runs until `stop()` or until nothing is left to wait for.
  package func run() { fatalError() }
  package func stop() { fatalError() }
  /// Milliseconds of the loop's monotonic clock, updated once per turn.
  package var now: UInt64 { fatalError() }
  /// Called once per turn, before the loop waits for events: the place to write what the turn gathered.
  package var onTurnEnd: (() -> Void)?
}

package struct UVError: Error, Equatable, Sendable, CustomStringConvertible {
  package let operation: String
  /// Negative libuv status.
  package let status: Int32
  /// `uv_tcp_connect: ECONNREFUSED (connection refused)`
  package var description: String { fatalError() }
  package var isConnectionRefused: Bool { fatalError() }
  package var isAddressInUse: Bool { fatalError() }
  package var isAddressNotAvailable: Bool { fatalError() }
  package var isTooManyFiles: Bool { fatalError() }
}

/// An IPv4 or IPv6 socket address.
package struct SocketAddress: Sendable, Equatable, CustomStringConvertible {
  /// 4 or 16 bytes, network order.
  package let ip: [UInt8]
  package let port: UInt16
  package init(ip: [UInt8], port: UInt16) {
    self.ip = ip
    self.port = port
  }
  /// `127.0.0.1:7070`, `[::1]:7070`
  package var description: String { fatalError() }
}
