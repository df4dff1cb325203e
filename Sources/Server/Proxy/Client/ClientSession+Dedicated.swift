internal import Gateway
internal import Policy
internal import Setup
internal import Transport

extension ClientSession {
  /// Takes the session on which this client has logged in, only where the program's own login may go out. It is no place for a
  /// request that is to go without.
  func takeDedicated(for pool: UpstreamPool, at now: Int64) -> UpstreamSession? {
    guard upstream.dedicated != nil, let routeContext, routeContext.route.credential == .pass else { return nil }
    return upstream.dedicated.take()?.take(for: pool, slot?.machine.exchange.caller, at: now)
  }

  func keepDedicated(_ session: UpstreamSession) {
    upstream.dedicated?.close()
    upstream.dedicated = DedicatedUpstream(session, of: slot?.machine.exchange.caller)
  }

  func endDedicated() {
    upstream.dedicated.take()?.close()
  }
}
