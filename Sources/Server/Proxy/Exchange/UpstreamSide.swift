internal import Gateway
internal import Transport

/// The side of a client connection that faces the upstream.
struct UpstreamSide {
  /// The connection that carries the request under way; nil: none does.
  var session: UpstreamSession?
  /// The wait on the way to a connection, or to another try.
  var opening = Opening.nothing
  var response = PendingResponse()
  /// Ends the wait for the rest of what could be a secret.
  var holdTimer: HoldTimer?
  /// A connection on which this client has logged in, between two of its requests.
  var dedicated: DedicatedUpstream?
}
