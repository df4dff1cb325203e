internal import Configuration
internal import Credentials
internal import EventLoop
package import Gateway
internal import Log
internal import Policy
internal import Providers
internal import Settings
internal import Generations
internal import System
internal import Transport

extension Worker {
  /// Returns the current state of the gates for a request that the rules allow.
  /// - Parameter listener: the index of the listener.
  package func gates(of explanation: Explanation, listener: Int) -> GateReports {
    GateReports(explanation) { gate, route in report(on: gate, route, explanation.caller ?? .network, listener) }
  }

  private func report(on gate: RequestGate, _ route: Route, _ caller: Caller, _ listener: Int) -> GateReport {
    switch gate {
    case .audit: GateReport(gate, log.auditProblem.map { .closed(.unrecorded($0)) } ?? .open)
    case .concurrency: GateReport(gate, hasRoom(for: caller, listener) ? .open : .closed(.tooManyRequests))
    case .rate: rateReport(route, caller)
    case .login, .value, .token, .secret, .suspension:
      if case .inject(let grant) = route.credential {
        credentialReport(gate, grant, breaker: generation.routeContext(of: route).breaker?.shared)
      } else {
        GateReport(gate, .open)
      }
    }
  }

  private func hasRoom(for caller: Caller, _ listener: Int) -> Bool {
    let callers = generation.snapshot.admissions[listener].callers
    let isNetwork = caller.uid == nil && caller.client != nil
    let holder = isNetwork ? .network : CallerQuota.Holder(caller, admittedBy: callers)
    return sharedState.quotas.requestsInProgress(of: holder) < limits.requestsPerUser(outOf: connectionLimit)
  }

  private func credentialReport(_ gate: RequestGate, _ grant: Int, breaker: OriginBreaker?) -> GateReport {
    let keyring = generation.keyring
    var problem: String? { keyring.status(ofGrant: grant).problem }
    switch gate {
    case .login: return GateReport(gate, keyring.isLoggedOut(grant: grant) ? .closed(.loggedOut(problem)) : .open)
    case .value: return GateReport(gate, isExpected(grant) ? .awaited : .open)
    case .token:
      guard let failure = providers.tokenFailure(ofGrant: grant), !isExpected(grant) else {
        return GateReport(gate, .open)
      }
      return GateReport(gate, .closed(.noToken(failure.refusal, failure.detail)))
    case .secret:
      let isThere = keyring.isAvailable(grant: grant) || isExpected(grant)
      return GateReport(gate, isThere ? .open : .closed(.noSecret(problem)))
    case .suspension: return suspensionReport(grant, breaker)
    case .audit, .concurrency, .rate: return GateReport(gate, .open)
    }
  }

  /// Returns why requests cannot get this credential now. `nil` if they can, or if it is only suspended.
  func obstacle(ofGrant grant: Int) -> GateObstacle? {
    for gate in [RequestGate.login, .token, .secret] {
      if case .closed(let obstacle) = credentialReport(gate, grant, breaker: nil).fact { return obstacle }
    }
    return nil
  }

  /// Returns the suspension of a credential at the upstream of a service. `nil` if there is none.
  func suspension(ofGrant grant: Int, service: Int) -> GateObstacle? {
    let breaker = generation.breaker(ofGrant: grant, service: service)
    guard case .closed(let obstacle) = credentialReport(.suspension, grant, breaker: breaker).fact else { return nil }
    return obstacle
  }

  /// Whether a request would wait for a value of the credential.
  private func isExpected(_ grant: Int) -> Bool {
    if generation.keyring.isAvailable(grant: grant) { return false }
    if let token = providers.tokens?.status(ofGrant: grant) { return token.isAvailable }
    return generation.keyring.isCommandPending(grant: grant)
  }

  private func suspensionReport(_ grant: Int, _ breaker: OriginBreaker?) -> GateReport {
    guard let breaker,
      breaker.isSuspended(breaker.value(in: generation.keyring, ofGrant: grant))
    else { return GateReport(.suspension, .open) }
    let wait = breaker.wait(at: loop.now)
    let obstacle = wait.map {
      GateObstacle.suspended(
        $0, isTesting: breaker.state.isTesting, changesByItself: generation.settings.credentials[grant].changesByItself)
    }
    return GateReport(
      .suspension, obstacle.map { .closed($0) } ?? .open,
      .suspension(rejections: breaker.state.rejections, wait: wait ?? 0))
  }

  private func rateReport(_ route: Route, _ caller: Caller) -> GateReport {
    guard let limiter = generation.routeContext(of: route).limiter else { return GateReport(.rate, .open) }
    let usage = sharedState.lock { limiter.usage(of: caller, at: loop.now) }
    let limit = generation.snapshot.rules.rateLimit(service: route.service, rule: route.rule)
    let excess = RateExcess(limiter.rate, rule: limit.rule, wait: usage.wait)
    return GateReport(
      .rate, usage.wait > 0 ? .closed(.rateExceeded(excess)) : .open, .rate(left: usage.left, wait: usage.wait))
  }
}
