/// A service's timeouts in milliseconds; `nil` for no timeout.
package struct Timeouts: Sendable, Equatable {
  package var connect: UInt64 = 10_000
  package var handshake: UInt64 = 10_000
  package var responseHead: UInt64? = 600_000
  package var bodySilence: UInt64?
  /// Maximum silence in both directions of an upgraded connection.
  package var upgraded: UInt64?
  /// Maximum duration of the whole exchange.
  package var total: UInt64?
  package init() {}
}
