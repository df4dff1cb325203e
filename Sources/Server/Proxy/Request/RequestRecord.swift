internal import Configuration
internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Settings
internal import Generations
internal import StatusModel
internal import System

// The record of a request, and its timeouts.
extension RequestRun {
  /// Counts and logs the request, and returns its permits.
  func record() {
    attempt.end()
    _ = quota.take()
    client.pauseBodyPace()
    withExchange { exchange in
      generation.tally.count(&exchange, responseHead: timing.responseHeadTook, at: worker.loop.now)
      // These requests were not sent. One line stands for many, or a client that sends too much would fill the log.
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

  // MARK: timeouts

  /// Returns the timeout in milliseconds, or `nil` if there is none.
  func time(of deadline: Deadline) -> UInt64? {
    switch deadline {
    case .head: worker.limits.clientHead
    case .none: nil
    case .retry: retryWait
    case .responseHead: routeContext?.timeouts.responseHead ?? worker.limits.clientIdle
    case .silence: bodySilence ?? defaultSilence
    case .upgraded: routeContext?.timeouts.upgraded ?? worker.limits.clientIdle
    // A request has begun.
    case .idle, .linger: nil
    }
  }

  /// The service's timeout in milliseconds for a side that sends and reads nothing. `nil` if it has none.
  var bodySilence: UInt64? { routeContext?.timeouts.bodySilence }

  /// The timeout in milliseconds for a silent client (T54), for services that set none. `nil` while the client need not
  /// act.
  private var defaultSilence: UInt64? {
    if routeContext == nil { return worker.limits.clientIdle }
    return awaitsRequestBody && worker.limits.clientBodyRate > 0 ? RequestRun.requestSilence : nil
  }

  /// Default timeout in milliseconds for a client that pauses within its request body.
  private static let requestSilence: UInt64 = 600_000

  /// The milliseconds until the next attempt.
  private var retryWait: UInt64 {
    let (due, now) = (withExchange { $0.retryDue }, worker.loop.now)
    return due > now ? due - now : 0
  }
}
