// Called by `RequestRun.perform`.
// Calls `GateReader`, `Reservation`, `ValueWait`, `UpstreamPool.acquire` and `UpstreamConnection.send`.

internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Generations
internal import Policy
internal import Primitives
internal import Providers
internal import Settings
internal import System
internal import TLS
internal import Transport

/// The steps of an allowed request until it is sent. `RequestRun.perform` begins them for the action `openUpstream`.
struct SendSteps {
  private let run: RequestRun

  init(_ run: RequestRun) { self.run = run }

  private var worker: Worker { run.worker }

  /// - Parameter isFresh: whether the request must not use an idle connection, because it was sent before.
  func begin(isFresh: Bool) { proceed(isFresh: isFresh, from: nil) }

  /// Goes on until the request has to wait, or until `run.wait` has the outcome.
  /// - Parameter stage: the first secret source to wait for. `nil` for the first step.
  private func proceed(isFresh: Bool, from stage: SecretStage?) {
    // 1. Wait for the end of this turn of the loop, in which the change of a secret file may still be reported (T44).
    if stage == nil, let grant = run.grant, run.generation.keyring.hasFiles(grant: grant) {
      run.wait = .endOfTurn(isFresh: isFresh)
      return worker.connections.openAtTurnEnd(run)
    }
    let stage = stage ?? .files
    // 2. If the configuration has changed, decide about the request again.
    guard run.isDecidedByCurrentGeneration else { return run.decideAgain() }
    guard let routeContext = run.routeContext else { return }
    let reservation = Reservation(run: run, routeContext: routeContext)
    // The permits of an earlier attempt must not count against this one.
    run.attempt.returnRate()
    run.attempt.returnBreaker()
    // 3. Look at the gates, in their order.
    let gates = GateReader(worker)
    var verdict = gates.states(of: run, from: stage).verdict(isRetry: isFresh)
    // 4. Wait for a value of the credential that is being read or fetched.
    if case .awaited = verdict {
      if let obstacle = reservation.place() { return refuse(obstacle) }
      if awaitsValue(isFresh: isFresh, from: stage) { return }
      verdict = gates.states(of: run, from: .done).verdict(isRetry: isFresh)
    }
    // 5. Refuse the request at the first closed gate.
    if case .refused(let gate, let obstacle) = verdict {
      if gate != .audit, gate != .concurrency { run.isRecordPromised = true }
      return refuse(obstacle)
    }
    // 6. Reserve what the request needs.
    if let obstacle = reservation.all() { return refuse(obstacle) }
    do throws(TLSError) {
      // 7. Use the connection on which this client has logged in.
      let pool = try run.generation.pool(of: routeContext)
      if !isFresh, let own = dedicated(routeContext, pool) { return end(.connection(own, isReused: true)) }
      // 8. Use a connection that exists, or open one. Steps 9 and 10 follow in `acquired`.
      let needsHTTP1 = pool.offersHTTP2 && (routeContext.needsHTTP1 || run.withExchange { $0.needsHTTP1 })
      let opensWebSocket = pool.offersHTTP2 && run.withExchange { $0.opensWebSocket }
      let tally = run.generation.tally.services[routeContext.route.service]
      pool.acquire(
        isFresh ? nil : idleChoice, needsHTTP1: needsHTTP1, opensWebSocket: opensWebSocket, for: run,
        timeouts: routeContext.timeouts, tally: tally, context: worker.context)
    } catch {
      end(.failed(ConnectFailure(.plain(error.kind.refusal), error.detail)))
    }
  }

  /// Receives the outcome of step 8.
  /// - Parameter isLate: whether the request has waited for a connection to be opened.
  func acquired(_ outcome: UpstreamOutcome, isLate: Bool) {
    // 9. If the token has expired while the connection was opened, release the connection and continue with step 2 (T40).
    if case .connection(let connection, let isReused) = outcome, isLate || !isReused, let grant = run.currentGrant,
      worker.providers.tokenFailure(ofGrant: grant) != nil
    {
      connection.keep()
      run.wait = .nothing
      return proceed(isFresh: run.mustOpenFresh, from: .filesOfToken)
    }
    // 10. `RequestRun.receive` passes the connection to the state machine, whose action `sendHead` calls `sendHead` below.
    end(outcome)
  }

  private func end(_ outcome: UpstreamOutcome) {
    if case .connection(let connection, _) = outcome { connection.begin(run) }
    run.wait = .over(outcome)
  }

  private func refuse(_ obstacle: GateObstacle) { end(.failed(ConnectFailure(obstacle.refusal, obstacle.detail))) }

  // MARK: waits

  func turnEnded() {
    guard case .endOfTurn(let isFresh) = run.wait else { return }
    resume(isFresh: isFresh, from: .files)
  }

  /// Begins to wait for a value. Returns `false` if there is nothing to wait for.
  private func awaitsValue(isFresh: Bool, from stage: SecretStage) -> Bool {
    guard let grant = run.grant else { return false }
    let wait = ValueWait(providers: worker.providers, keyring: run.generation.keyring, grant: grant, stage: stage)
      .begin { [unowned run] next in SendSteps(run).resume(isFresh: isFresh, from: next) }
    guard let wait else { return false }
    run.wait = .value(wait)
    return true
  }

  private func resume(isFresh: Bool, from stage: SecretStage) {
    run.wait = .nothing
    proceed(isFresh: isFresh, from: stage)
    run.client.settle()
  }

  // MARK: connections

  /// The existing connections that the request may use.
  private var idleChoice: UpstreamPool.Choice {
    guard let grant = run.grant, run.generation.snapshot.rules.grants[grant].authRetry.requiresChallenge else {
      return .any
    }
    return run.isChallenged ? .authenticatedFirst : .neverAuthenticated
  }

  /// Returns the connection on which this client has logged in. `nil` if the request may not use one.
  private func dedicated(_ routeContext: RouteContext, _ pool: UpstreamPool) -> UpstreamConnection? {
    guard run.client.dedicated != nil, routeContext.route.credential == .pass else { return nil }
    return run.client.dedicated.take()?.acquire(for: pool, run.caller, at: worker.context.moment().calendar)
  }

  // MARK: the head

  /// Sends the request's head with its credential, and the first bytes of its body. If this fails, passes the refusal to
  /// the state machine, and returns `false`.
  func sendHead(_ input: Span<UInt8>, _ output: inout Output) -> Bool {
    guard let upstream = run.upstream else { return true }
    let keyring = worker.generation.keyring
    let grant = output.results.grant?.value(inGeneration: worker.generation.snapshot.generation)
    // A request is never sent without its credential (T40).
    guard (grant == nil) == (output.results.grant == nil) else { return refuseHead(.plain(.grantDenied)) }
    // 11. Get the permit of the credential's breaker.
    if let grant, let routeContext = run.routeContext,
      let obstacle = Reservation(run: run, routeContext: routeContext).breaker(forGrant: grant)
    {
      return refuseHead(obstacle.refusal)
    }
    do throws(AuthorizationError) {
      ResponseCookies(run).openJar(forGrant: grant, isAsked: output.results.isChallenged)
      // 12. Let the keyring add the credential, and send the head with the first bytes of the body.
      let challenge: ChallengeAttempt?
      let endsBody = output.sendsWholeBody
      if output.toUpstream.isEmpty {
        challenge = try upstream.send(
          output.upstreamRequest, of: run, grant: grant, cookies: run.attempt.jarTicket, caller: output.results.caller,
          isChallenged: output.results.isChallenged, body: input.extracting(output.results.upstreamBody),
          endsBody: endsBody, keyring: keyring)
      } else {
        challenge = try upstream.send(
          output.upstreamRequest, of: run, grant: grant, cookies: run.attempt.jarTicket, caller: output.results.caller,
          isChallenged: output.results.isChallenged,
          body: output.toUpstream.storage.span.extracting(first: output.toUpstream.count),
          endsBody: endsBody, keyring: keyring)
        upstream.send(input.extracting(output.results.upstreamBody), of: run)
      }
      run.beginRedaction()
      if let grant { recordUse(of: grant, keyring) }
      run.attempt.spendRate(at: worker.loop.now)
      if let challenge { ChallengeResponse(run).note(challenge) } else { run.attempt.challenge = nil }
      run.timing.headSentAt = Clock.monotonicMicroseconds
      return true
    } catch {
      run.attempt.returnBreaker()
      run.attempt.failureDetail = error.description
      if error.reason != .streamRefused {
        worker.log.denied(error, route: run.routeContext?.route, generation: run.generation)
      }
      return refuseHead(refusal(of: error))
    }
  }

  private func refuseHead(_ refusal: Refusal) -> Bool {
    let now = worker.loop.now
    run.step { machine, output in machine.upstreamRefused(refusal, now: now, output: &output) }
    return false
  }

  /// Records the values of the credential that were sent.
  private func recordUse(of grant: Int, _ keyring: Keyring) {
    if keyring.wantsFeedback(grant: grant) { run.attempt.helperValues = keyring.helperValues(ofGrant: grant) }
    let version = worker.providers.tokenVersion(ofGrant: grant)
    run.attempt.tokenVersion = version
    if version != 0 { run.attempt.valueVersion = keyring.secretVersion(ofGrant: grant) }
  }

  private func refusal(of denied: AuthorizationError) -> Refusal {
    if case .unavailable = denied.reason, let grant = run.currentGrant,
      let failure = worker.providers.tokenFailure(ofGrant: grant)
    {
      return failure.refusal
    }
    return .plain(denied.refusal)
  }
}

extension RequestRun: UpstreamAcquirer {
  func connectionIsBeingOpened(by opening: any UpstreamOpening) { wait = .connection(opening) }

  func acquired(_ outcome: UpstreamOutcome) {
    let isLate = if case .connection = wait { true } else { false }
    SendSteps(self).acquired(outcome, isLate: isLate)
    // Otherwise the event that needs the connection is still being processed.
    if isLate { client.settle() }
  }
}

extension AuthorizationError {
  fileprivate var refusal: RefusalCode {
    switch reason {
    case .unavailable: .credentialUnavailable
    case .originNotGranted, .callerNotGranted, .unknownGrant, .wrongSession: .grantDenied
    case .pinsNotMatched: .pinMismatch
    case .proofExpired: .certificateExpired
    case .sessionFailed, .streamRefused: .upstreamClosed
    }
  }
}
