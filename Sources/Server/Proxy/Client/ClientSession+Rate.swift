internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Setup
internal import System

/// The rate's part in an exchange (T8): asked as the last of all before anything is opened, told when the head has gone out. A
/// request costs once, however often it is sent, and one that bearerd refuses or cannot deliver costs nothing.
extension ClientSession {
  /// Why the request may not go out now; nil: it may.
  func rateExcess(_ routeContext: RouteContext) -> RateExcess? {
    guard let limiter = routeContext.limiter, !attempt.hasSpentRate, let caller = slot?.machine.exchange.caller else {
      return nil
    }
    guard let wait = worker.sharedState.lock({ limiter.reserve(for: caller, at: worker.loop.now) }) else {
      attempt.take(RatePermit(of: limiter, for: caller, under: worker.sharedState.lock))
      return nil
    }
    let limit = generation.snapshot.rules.rateLimit(service: routeContext.route.service, rule: routeContext.route.rule)
    return RateExcess(limiter.rate, rule: limit.rule, wait: wait)
  }

  /// Logs an excess: a caller that asks too much would fill the log as well, so one line stands for many.
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
