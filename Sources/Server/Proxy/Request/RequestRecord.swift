internal import Configuration
internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Settings
internal import Generations
internal import StatusModel
internal import System

// The record of a request.
extension RequestRun {
  /// Counts and logs the request, and returns its permits.
  func record() {
    if attempt.isAccepted { concludeCall() }
    attempt.end()
    releaseQuota()
    client.pauseBodyPace()
    withExchange { exchange in
      generation.tally.count(&exchange, responseHead: timing.responseHeadTook, at: worker.loop.now)
      // These requests were not sent. One line stands for many refusals, or a client could fill the log.
      if let refusal = exchange.record.refusal {
        if refusal == .plain(.tooManyRequests) { return recordExcess() }
        if case .rateLimited(let excess) = refusal { return record(excess, of: exchange.caller) }
        // Limits all log lines for callers that are not admitted, also for malformed requests.
        let isUnadmitted = client.quota.holder == .notAdmitted || refusal.isOfUnadmittedCaller
        if isUnadmitted, !worker.acquireUnadmittedLogLine() { return }
      }
      worker.log.exchange(&exchange, of: self)
    }
  }

  private func recordExcess() {
    let quota = client.quota
    guard let refused = quota.countRefusal(at: worker.loop.now) else { return }
    worker.log.event(
      .callerLimit, ("uid", quota.holder.name), ("requests", String(quota.requestsInProgress)),
      ("refused", String(refused)),
      ("help", "limits: { requests_per_user: N } sets how many requests one user may have in progress"))
  }

  /// Logs an exceeded rate. One line stands for many refusals.
  private func record(_ excess: RateExcess, of caller: Caller?) {
    guard let routeContext, let caller, let limiter = routeContext.limiter,
      let refused = worker.sharedState.lock({ limiter.countRefusal(of: caller, at: worker.loop.now) })
    else { return }
    worker.log.event(
      .rateLimited, ("service", generation.snapshot.rules.services[routeContext.route.service].name),
      ("rule", excess.rule.map { String($0 + 1) }), ("uid", caller.uid.map { String($0) }), ("client", caller.client),
      ("rate", excess.rate.description), ("refused", String(refused)),
      ("help", "rate of the service or the rule sets how many requests one caller may send"))
  }
}
