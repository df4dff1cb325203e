package struct Limits: Sendable, Equatable {
  package var headBytes = LimitKey.headDefault
  package var fields = LimitKey.fieldsDefault
  package var targetBytes = LimitKey.targetDefault
  package var connections = LimitKey.connectionsDefault
  /// Maximum number of connections of one user. `nil` for three quarters of `connections`.
  package var connectionsPerUser: Int?
  package var requestsPerUser: Int?
  package var idlePerIdentity = LimitKey.idlePerIdentityDefault
  /// The maximum time for a request head to arrive, in milliseconds.
  package var clientHead = LimitKey.clientHeadDefault
  package var clientIdle = LimitKey.clientIdleDefault
  /// The minimum average speed of a request body, in bytes per second. 0 for no minimum.
  package var clientBodyRate = LimitKey.clientBodyRateDefault
  /// Maximum size of a compressed error response after decoding, in bytes.
  package var decodedError = LimitKey.decodedErrorDefault
  package var upstreamIdle = LimitKey.upstreamIdleDefault
  package var drain = LimitKey.drainDefault
  package var revokedGrace = LimitKey.revokedGraceDefault
  /// TCP keepalive for all connections. `nil` for none.
  package var keepalive: Keepalive? = Keepalive()
  package init() {}
}

/// How the kernel detects a dead peer on a TCP connection.
package struct Keepalive: Sendable, Equatable {
  /// Milliseconds of silence before the first probe.
  package var idle = KeepaliveKey.idleDefault
  /// Milliseconds between two probes.
  package var interval = KeepaliveKey.intervalDefault
  /// Number of probes without a response after which the connection fails.
  package var probes = KeepaliveKey.probesDefault
  package init() {}
}
