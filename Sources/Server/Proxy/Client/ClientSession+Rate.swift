internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Generations
internal import StatusModel
internal import System

extension ClientSession {
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
