internal import EventLoop
internal import Gateway
internal import Policy
internal import System

/// The rate's part in an exchange (T8): asked as the last of all before anything is opened, told when the head has gone out. A
/// request costs once, however often it is sent, and one that bearerd refuses or cannot deliver costs nothing.
extension ClientSession {
  struct RateHold {
    let limiter: RateLimiter
    let caller: Caller
  }

  /// Why the request may not go out now; nil: it may.
  func rateExcess(_ way: Way) -> Refusal? {
    guard let limiter = way.limiter, !hasSpentRate, let caller = desk?.machine.exchange.caller else { return nil }
    guard let wait = worker.commons.lock({ limiter.reserve(for: caller, at: worker.loop.now) }) else {
      rateHold = RateHold(limiter: limiter, caller: caller)
      return nil
    }
    let limit = generation.snapshot.rules.rateLimit(service: way.route.service, rule: way.route.rule)
    return .rateLimited(RateExcess(limiter.rate, rule: limit.rule, wait: wait))
  }

  /// The head has gone out.
  func spendRate() {
    guard let hold = rateHold else { return }
    rateHold = nil
    hasSpentRate = true
    worker.commons.lock { hold.limiter.spend(hold.caller, at: worker.loop.now) }
  }

  /// It did not, or is decided once more.
  func returnRate() {
    guard let hold = rateHold else { return }
    rateHold = nil
    worker.commons.lock { hold.limiter.giveBack(to: hold.caller) }
  }

  /// Whoever asks too much would fill the log as well: one line for many.
  func record(_ excess: RateExcess, of caller: Caller?) {
    guard let way, let caller, let limiter = way.limiter,
      let refused = worker.commons.lock({ limiter.countRefusal(of: caller, at: worker.loop.now) })
    else { return }
    worker.journal.event(
      .warning, "rate-limited", ("service", generation.snapshot.rules.services[way.route.service].name),
      ("rule", excess.rule.map { String($0 + 1) }), ("uid", caller.uid.map { String($0) }), ("client", caller.client),
      ("rate", excess.rate.description), ("refused", String(refused)),
      ("help", "rate of the service or the rule says how often one caller may ask"))
  }
}
