internal import Gateway
internal import Policy
internal import Generations
internal import Transport

extension ClientSession {
  /// Returns the upstream session on which this client has logged in. `nil` if the request may not use one.
  func acquireDedicated(for pool: UpstreamPool, at now: Int64) -> UpstreamSession? {
    guard let routeContext, routeContext.route.credential == .pass else { return nil }
    return upstream.dedicated.take()?.acquire(for: pool, slot?.machine.exchange.caller, at: now)
  }

  func keepDedicated(_ session: UpstreamSession) {
    upstream.dedicated?.close()
    upstream.dedicated = DedicatedUpstream(session, after: self, of: slot?.machine.exchange.caller)
  }

  func endDedicated() {
    upstream.dedicated.take()?.close()
  }
}
