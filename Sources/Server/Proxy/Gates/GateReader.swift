internal import Configuration
internal import Credentials
internal import EventLoop
package import Gateway
internal import Generations
internal import Log
internal import Policy
internal import Providers
internal import Settings
internal import System
internal import Transport

/// Reads the states of the gates on one worker, for running requests, `explain` and discovery. It reserves nothing, and
/// starts no read and no token request.
package struct GateReader {
  private let worker: Worker

  package init(_ worker: Worker) { self.worker = worker }

  private var generation: Generation { worker.generation }
  private var keyring: Keyring { generation.keyring }

  // MARK: a running request

  /// Returns the states for `run`, apart from suspension and rate: `Reservation` reads and reserves those in one step.
  /// - Parameter stage: the first secret source to wait for.
  func states(of run: RequestRun, from stage: SecretStage) -> GateStates {
    let grant = run.grant
    var states = GateStates(hasCredential: grant != nil)
    states[.audit] = audit
    if !run.hasQuota { states[.concurrency] = concurrency(run.client.quota.requestsInProgress) }
    if let grant {
      let isCurrent =
        keyring.isAvailable(grant: grant)
        && worker.providers.needsNoWait(forGrant: grant, hasFiles: keyring.hasFiles(grant: grant))
      read(grant, isCurrent ? .current : stage == .done ? .asked : .awaited, into: &states)
    }
    return states
  }

  // MARK: explain and discovery

  /// Returns the states for a request that the rules allow. `nil` if they refuse it.
  /// - Parameter listener: the index of the listener.
  package func states(of explanation: Explanation, listener: Int) -> GateStates? {
    guard explanation.refusal == nil, let route = explanation.route else { return nil }
    var states = GateStates(hasCredential: explanation.grant != nil)
    let (routeContext, caller) = (generation.routeContext(of: route), explanation.caller ?? .network)
    states[.audit] = audit
    states[.concurrency] = concurrency(worker.sharedState.quotas.requestsInProgress(of: holder(caller, listener)))
    if case .inject(let grant) = route.credential {
      read(grant, isExpected(grant) ? .awaited : .asked, into: &states)
      states[.suspension] = suspension(ofGrant: grant, routeContext.breaker?.shared, hasNumbers: true)
    }
    states[.rate] = rate(routeContext, caller)
    return states
  }

  /// Returns the states of the gates that concern a credential, apart from the request.
  /// - Parameters:
  ///   - whole: the grant of the service, which can combine several credentials.
  ///   - service: the index of the service.
  func states(ofGrant grant: Int, in whole: Int, service: Int) -> GateStates {
    var states = GateStates(hasCredential: true)
    read(grant, isExpected(grant) ? .awaited : .asked, into: &states)
    states[.suspension] = suspension(
      ofGrant: whole, generation.breaker(ofGrant: whole, service: service), hasNumbers: false)
    return states
  }

  private func holder(_ caller: Caller, _ listener: Int) -> CallerQuota.Holder {
    if caller.uid == nil, caller.client != nil { return .network }
    return CallerQuota.Holder(caller, admittedBy: generation.snapshot.admissions[listener].callers)
  }

  /// Whether a request would wait for a value of the credential.
  private func isExpected(_ grant: Int) -> Bool {
    if keyring.isAvailable(grant: grant) { return false }
    if let token = worker.providers.tokens?.status(ofGrant: grant) { return token.isAvailable }
    return keyring.isCommandPending(grant: grant)
  }

  // MARK: the gates

  private var audit: GateState {
    worker.log.auditProblem.map { .closed(.unrecorded($0), nil) } ?? .open
  }

  private func concurrency(_ inProgress: Int) -> GateState {
    inProgress < worker.requestLimit ? .open : .closed(.tooManyRequests, nil)
  }

  private enum Value {
    /// The value can be sent, and nothing newer is expected.
    case current
    /// The request has to ask the sources of the value first.
    case awaited
    /// There is nothing to wait for.
    case asked
  }

  /// Reads the gates between `login` and `secret`.
  @inline(__always)
  private func read(_ grant: Int, _ value: Value, into states: inout GateStates) {
    if keyring.isLoggedOut(grant: grant) { states[.login] = .closed(.loggedOut(problem(of: grant)), nil) }
    switch value {
    case .current: break
    // Whether there will be a token and a secret shows after the wait.
    case .awaited: states[.value] = .awaited
    case .asked: readAsked(grant, into: &states)
    }
  }

  private func readAsked(_ grant: Int, into states: inout GateStates) {
    if let failure = worker.providers.tokenFailure(ofGrant: grant) {
      states[.token] = .closed(.noToken(failure.refusal, failure.detail), nil)
    }
    if !keyring.isAvailable(grant: grant) { states[.secret] = .closed(.noSecret(problem(of: grant)), nil) }
  }

  private func problem(of grant: Int) -> String? { keyring.status(ofGrant: grant).problem }

  private func suspension(ofGrant grant: Int, _ breaker: OriginBreaker?, hasNumbers: Bool) -> GateState {
    guard let breaker, breaker.isSuspended(breaker.value(in: keyring, ofGrant: grant)) else { return .open }
    let (state, wait) = (breaker.state, breaker.wait(at: worker.loop.now))
    let numbers = hasNumbers ? GateNumbers.suspension(rejections: state.rejections, wait: wait ?? 0) : nil
    guard let wait else { return numbers.map { .limited($0) } ?? .open }
    return .closed(
      .suspended(
        wait, isTesting: state.isTesting, changesByItself: generation.settings.credentials[grant].changesByItself),
      numbers)
  }

  private func rate(_ routeContext: RouteContext, _ caller: Caller) -> GateState {
    guard let limiter = routeContext.limiter else { return .open }
    let usage = worker.sharedState.lock { limiter.usage(of: caller, at: worker.loop.now) }
    let numbers = GateNumbers.rate(left: usage.left, wait: usage.wait)
    guard usage.wait > 0 else { return .limited(numbers) }
    return .closed(.rateExceeded(generation.excess(of: limiter, routeContext.route, wait: usage.wait)), numbers)
  }
}

extension Generation {
  /// Describes the exceeded rate of a route. `wait` is the milliseconds until the next request is possible.
  func excess(of limiter: RateLimiter, _ route: Route, wait: UInt64) -> RateExcess {
    RateExcess(limiter.rate, rule: snapshot.rules.rateLimit(service: route.service, rule: route.rule).rule, wait: wait)
  }
}
