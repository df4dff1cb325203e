internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Generations
internal import StatusModel
internal import System

/// The rate limit in an exchange (T8). A request counts once, when its head is sent.
extension ClientSession {
  /// Reserves one request of the caller's rate. Returns `nil` on success, otherwise the exceeded limit.
  func rateExcess(_ routeContext: RouteContext) -> RateExcess? {
    guard let limiter = routeContext.limiter, !attempt.hasSpentRate, let caller = slot?.machine.exchange.caller else {
      return nil
    }
    guard let wait = worker.sharedState.lock({ limiter.reserve(for: caller, at: worker.loop.now) }) else {
      attempt.store(RatePermit(of: limiter, for: caller, under: worker.sharedState.lock))
      return nil
    }
    let limit = generation.snapshot.rules.rateLimit(service: routeContext.route.service, rule: routeContext.route.rule)
    return RateExcess(limiter.rate, rule: limit.rule, wait: wait)
  }

  /// Logs an exceeded rate. One line stands for many refusals.
  func record(_ excess: RateExcess, of caller: Caller?) {
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
