internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Generations
internal import Policy
internal import Providers
internal import Settings
internal import TLS
internal import Transport

/// The steps of an allowed request until it is sent. `ClientSession.perform` begins them for the action `openUpstream`.
struct SendSteps {
  private let session: ClientSession

  init(_ session: ClientSession) { self.session = session }

  private var worker: Worker { session.worker }

  /// - Parameter isFresh: whether the request must not use an idle connection, because it was sent before.
  func begin(isFresh: Bool) { proceed(isFresh: isFresh, from: nil) }

  /// Goes on until the request has to wait, or until `upstream.opening` has the outcome.
  /// - Parameter stage: the first secret source to wait for. `nil` for the first step.
  private func proceed(isFresh: Bool, from stage: SecretStage?) {
    // 1. Wait for the end of this turn of the loop, in which the change of a secret file may still be reported (T44).
    if stage == nil, let grant = session.grant, session.generation.keyring.hasFiles(grant: grant) {
      session.upstream.opening = .endOfTurn(isFresh: isFresh)
      return worker.sessions.openAtTurnEnd(session)
    }
    let stage = stage ?? .files
    // 2. If the configuration has changed, decide about the request again.
    guard session.summary.generation == worker.generation.snapshot.generation else { return session.decideAgain() }
    guard let routeContext = session.routeContext else { return }
    let (attempt, reservation) = (session.attempt, Reservation(session: session, routeContext: routeContext))
    // The permits of an earlier attempt must not count against this one.
    attempt.returnRate()
    attempt.returnBreaker()
    // 3. Look at the gates, in their order.
    let gates = GateReader(worker)
    var verdict = gates.states(of: session, from: stage).verdict(isRetry: isFresh)
    // 4. Wait for a value of the credential that is being read or fetched.
    if case .awaited = verdict {
      if let obstacle = reservation.place() { return refuse(obstacle) }
      if awaitsValue(isFresh: isFresh, from: stage) { return }
      verdict = gates.states(of: session, from: .done).verdict(isRetry: isFresh)
    }
    // 5. Refuse the request at the first closed gate.
    if case .refused(let gate, let obstacle) = verdict {
      if gate != .audit, gate != .concurrency { attempt.isRecordPromised = true }
      return refuse(obstacle)
    }
    // 6. Reserve what the request needs.
    if let obstacle = reservation.all() { return refuse(obstacle) }
    do throws(TLSError) {
      // 7. Use the connection on which this client has logged in.
      let pool = try session.generation.pool(of: routeContext)
      if !isFresh, session.upstream.dedicated != nil,
        let own = session.acquireDedicated(for: pool, at: worker.context.moment().calendar)
      {
        return end(.connection(own, isReused: true))
      }
      // 8. Use an idle connection, or open one. Steps 9 and 10 follow in `acquired`.
      let tally = session.generation.tally.services[routeContext.route.service]
      UpstreamAcquisition(
        from: pool, isFresh ? nil : idleChoice, timeouts: routeContext.timeouts, tally: tally, context: worker.context
      ).begin(for: session)
    } catch {
      end(.failed(ConnectFailure(.plain(error.kind.refusal), error.detail)))
    }
  }

  /// Receives the outcome of step 8.
  func acquired(_ outcome: UpstreamOutcome) {
    // 9. If the token has expired while the connection was opened, release the connection and continue with step 2 (T40).
    if case .connection(let connection, isReused: false) = outcome, let grant = session.currentGrant,
      worker.providers.tokenFailure(ofGrant: grant) != nil
    {
      connection.keep()
      session.upstream.opening = .nothing
      return proceed(isFresh: false, from: .filesOfToken)
    }
    // 10. `ClientSession.feed` passes the connection to the state machine, and `ClientSession.sendHead` gets the breaker's
    // permit and sends the head with its credential.
    end(outcome)
  }

  private func end(_ outcome: UpstreamOutcome) {
    if case .connection(let connection, _) = outcome { connection.begin(session) }
    session.upstream.opening = .over(outcome)
  }

  private func refuse(_ obstacle: GateObstacle) { end(.failed(ConnectFailure(obstacle.refusal, obstacle.detail))) }

  // MARK: waits

  func turnEnded() {
    guard case .endOfTurn(let isFresh) = session.upstream.opening else { return }
    resume(isFresh: isFresh, from: .files)
  }

  /// Begins to wait for a value. Returns `false` if there is nothing to wait for.
  private func awaitsValue(isFresh: Bool, from stage: SecretStage) -> Bool {
    guard let grant = session.grant else { return false }
    let wait = ValueWait(providers: worker.providers, keyring: session.generation.keyring, grant: grant, stage: stage)
      .begin { [unowned session] next in SendSteps(session).resume(isFresh: isFresh, from: next) }
    guard let wait else { return false }
    session.upstream.opening = .value(wait)
    return true
  }

  private func resume(isFresh: Bool, from stage: SecretStage) {
    session.upstream.opening = .nothing
    proceed(isFresh: isFresh, from: stage)
    session.settle()
  }

  // MARK: connections

  /// The idle connections that the request may use.
  private var idleChoice: UpstreamPool.Choice {
    guard let grant = session.grant, session.generation.snapshot.rules.grants[grant].authRetry.requiresChallenge else {
      return .any
    }
    return session.slot?.machine.exchange.isChallenged == true ? .authenticatedFirst : .neverAuthenticated
  }
}

extension ClientSession: UpstreamAcquirer {
  func turnEnded() { SendSteps(self).turnEnded() }

  func connectionIsBeingOpened(by connector: Connector) { upstream.opening = .connection(connector) }

  func acquired(_ outcome: UpstreamOutcome) {
    let isLate = if case .connection = upstream.opening { true } else { false }
    SendSteps(self).acquired(outcome)
    // Otherwise the event that needs the connection is still being processed.
    if isLate { settle() }
  }

  func cancelOpening() {
    let opening = upstream.opening
    upstream.opening = .nothing
    opening.cancel(self)
  }
}
