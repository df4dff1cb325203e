internal import Gateway
internal import Transport

/// The state of a client session that concerns its upstream.
struct UpstreamSide {
  var connection: UpstreamConnection?
  var opening = UpstreamWait.nothing
  var response = PendingResponse()
  var redactionTimer: RedactionTimer?
  var dedicated: DedicatedUpstream?
}
