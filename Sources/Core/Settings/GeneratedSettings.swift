// Written by make generate from config/keys.toml.
// swift-format-ignore-file

/// How many connections and requests bearerd accepts, how large requests may be, and how long bearerd keeps connections
/// open.
package struct Limits: Sendable, Equatable {
  /// The maximum size of the head of a request, and also of its trailers. In bytes.
  package var head = 65_536
  /// The maximum number of header fields in a request.
  package var fields = 128
  /// The maximum size of the path and query of a request, together. In bytes.
  package var target = 16_384
  /// The maximum number of connections from programs.
  package var connections = 16_384
  /// The maximum number of connections from one user's programs. `nil` without the key.
  package var connectionsPerUser: Int?
  /// The maximum number of requests in progress from one user's programs. `nil` without the key.
  package var requestsPerUser: Int?
  /// The maximum number of requests in progress on one HTTP/2 connection from a program.
  package var streams = 1_000
  /// How many idle upstream connections bearerd keeps for the whole time of `upstream_idle`.
  package var idlePerIdentity = 64
  /// The maximum time for the head of a request to arrive. In milliseconds.
  package var clientHead: UInt64 = 30_000
  /// The longest time between two requests on a program's connection. In milliseconds.
  package var clientIdle: UInt64 = 600_000
  /// The minimum speed of a request body, in bytes per second.
  package var clientBodyRate = 1
  /// The maximum decoded size of a compressed body of a 4xx or 5xx response. In bytes.
  package var decodedError = 262_144
  /// How long bearerd keeps an idle upstream connection for later requests. In milliseconds.
  package var upstreamIdle: UInt64 = 60_000
  /// How much of one response an HTTP/2 upstream may send before the program has received it. In bytes.
  package var streamWindow = 262_144
  /// After which silence bearerd asks an HTTP/2 upstream whether it is still there, by a PING frame. In milliseconds;
  /// `nil` for no limit.
  package var upstreamPing: UInt64? = 330_000
  /// How long an HTTP/2 upstream may take to respond to a PING frame. In milliseconds.
  package var upstreamPingTimeout: UInt64 = 20_000
  /// When TCP checks whether a program or upstream that sends nothing is still connected. `nil` for `off`.
  package var tcpKeepalive: Keepalive? = Keepalive()
  /// How long requests in progress may continue when bearerd stops. In milliseconds.
  package var drain: UInt64 = 30_000
  /// How long requests in progress may continue after a reload that removed their rule, credential, caller or pin. In
  /// milliseconds.
  package var revokedGrace: UInt64 = 30_000
  package init() {}
}

/// When TCP checks whether the other side of a silent connection still responds.
package struct Keepalive: Sendable, Equatable {
  /// The time of silence before the first probe. In milliseconds.
  package var idle: UInt64 = 60_000
  /// The time between two probes. In milliseconds.
  package var interval: UInt64 = 15_000
  /// After this number of probes without a response, the connection fails.
  package var probes = 4
  package init() {}
}
