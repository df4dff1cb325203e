internal import Gateway
internal import Policy
internal import Generations
internal import Transport

extension ClientSession {
  /// Returns the upstream connection on which this client has logged in. `nil` if the request may not use one.
  func acquireDedicated(for pool: UpstreamPool, at now: Int64) -> UpstreamConnection? {
    guard let routeContext, routeContext.route.credential == .pass else { return nil }
    return upstream.dedicated.take()?.acquire(for: pool, slot?.machine.exchange.caller, at: now)
  }

  func keepDedicated(_ connection: UpstreamConnection) {
    upstream.dedicated?.close()
    upstream.dedicated = DedicatedUpstream(connection, after: self, of: slot?.machine.exchange.caller)
  }

  func endDedicated() {
    upstream.dedicated.take()?.close()
  }
}
