/// A service's timeouts, all in milliseconds; nil: none.
package struct Timeouts: Sendable, Equatable {
  package var connect: UInt64 = 10_000
  package var handshake: UInt64 = 10_000
  package var responseHead: UInt64? = 600_000
  package var bodySilence: UInt64?
  /// Silence in both directions of an upgraded connection.
  package var upgraded: UInt64?
  /// For the whole exchange, until it is upgraded.
  package var total: UInt64?
  package init() {}
}
