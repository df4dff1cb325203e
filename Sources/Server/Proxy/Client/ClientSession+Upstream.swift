internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Providers
internal import Generations
internal import System
internal import TLS
internal import Transport

extension ClientSession: UpstreamSessionOwner {
  func sessionIsReady(_ session: UpstreamSession) {}

  func session(_ session: UpstreamSession, didReceive plaintext: Span<UInt8>) {
    guard session === upstream.session else { return }
    if let buffered = upstream.response.bytes {
      upstream.response.bytes = PendingBytes.adding(plaintext, to: buffered)
      upstream.response.bytes = nil
      let bytes = buffered.bytes
      receiveResponse(bytes.span)
    } else {
      receiveResponse(plaintext)
    }
    settle()
  }

  func receiveResponse(_ input: Span<UInt8>) {
    var position = 0
    let buffer = worker.borrowOutput()
    let now = worker.loop.now
    dispatch(&buffer.output) { [redactor = slot?.redactor] machine, output in
      machine.receivedFromUpstream(input, position: &position, redaction: redactor, now: now, output: &output)
    }
    let opened = perform(input, &buffer.output)
    let continuesLater = buffer.output.actions.contains(.continueLater)
    worker.returnOutput(buffer)
    if position < input.count, upstream.session != nil {
      upstream.response.bytes = PendingBytes.adding(input.extracting(position...), to: upstream.response.bytes)
      if continuesLater { searchLater() }
    }
    updateRedactionTimer()
    if let opened { resumeInput(with: opened) }
  }

  private func searchLater() {
    guard !upstream.response.isSearching else { return }
    upstream.response.isSearching = true
    worker.loop.onNextTurn { [weak self] in self?.continueSearch() }
  }

  private func continueSearch() {
    guard upstream.response.isSearching else { return }
    upstream.response.isSearching = false
    processBufferedResponse()
  }

  /// Whether a part of the response is buffered.
  var isResponseBuffered: Bool { summary.isAwaitingRenewal || upstream.response.isSearching }

  func sessionEnded(_ session: UpstreamSession, isClean: Bool) {
    guard session === upstream.session else { return session.close() }
    if isResponseBuffered { return upstream.response.end = .ended(isClean: isClean) }
    let details = [isClean ? nil : "closed without close_notify", session.tlsAdvice].compactMap(\.self)
    attempt.failureDetail = details.isEmpty ? nil : details.joined(separator: ": ")
    step { [redactor = slot?.redactor, now = worker.loop.now] machine, output in
      machine.upstreamEnded(isClean: isClean, redaction: redactor, now: now, output: &output)
    }
    settle()
  }

  func session(_ session: UpstreamSession, didFail refusal: RefusalCode, detail: String) {
    guard session === upstream.session else { return }
    if isResponseBuffered { return upstream.response.end = .failed(refusal, detail) }
    attempt.failureDetail = detail
    step { [now = worker.loop.now] machine, output in machine.upstreamFailed(refusal, now: now, output: &output) }
    settle()
  }

  func sessionDidDrain(_ session: UpstreamSession) { settle() }

  /// Opens an upstream connection. Returns its outcome, or `nil` if the outcome comes later (T44).
  /// - Parameter fresh: whether the request must not use an idle connection.
  func open(fresh: Bool) -> OpenOutcome? {
    guard let grant, generation.keyring.hasFiles(grant: grant) else { return openNow(fresh: fresh) }
    upstream.opening = .endOfTurn(isFresh: fresh)
    worker.sessions.openAtTurnEnd(self)
    return nil
  }

  func turnEnded() {
    guard case .endOfTurn(let isFresh) = upstream.opening else { return }
    upstream.opening = .nothing
    if let opened = openNow(fresh: isFresh) { resumeInput(with: opened) } else { settle() }
  }

  /// Checks the gates and opens a connection. Returns its outcome, or `nil` if the outcome comes later.
  /// - Parameters:
  ///   - fresh: whether the request must not use an idle connection.
  ///   - stage: the first secret source to wait for.
  func openNow(fresh: Bool, from stage: SecretStage = .files) -> OpenOutcome? {
    if summary.generation != worker.generation.snapshot.generation {
      decideAgain()
      return nil
    }
    guard let routeContext else { return nil }
    attempt.returnRate()
    let gates = RequestGates(hasCredential: grant != nil, isRetry: fresh)
    switch gates.verdict(RequestFacts(self, routeContext, from: stage, isFresh: fresh)) {
    case .passed: break
    case .awaited: return nil
    case .refused(_, let obstacle): return .failed(ConnectFailure(obstacle.refusal, obstacle.detail))
    }
    do throws(TLSError) {
      let pool = try generation.pool(of: routeContext)
      let now = worker.context.moment().calendar
      if !fresh, let idle = acquireDedicated(for: pool, at: now) ?? pool.acquireIdle(at: now, idleChoice) {
        idle.activate(for: self)
        return .session(idle, isReused: true)
      }
      return connect(
        to: pool, timeouts: routeContext.timeouts, tally: generation.tally.services[routeContext.route.service])
    } catch {
      return .failed(ConnectFailure(.plain(error.kind.refusal), error.detail))
    }
  }

  /// The idle connections that the request may use.
  private var idleChoice: UpstreamPool.Choice {
    guard let grant, generation.snapshot.rules.grants[grant].authRetry.requiresChallenge else {
      return .any
    }
    return slot?.machine.exchange.isChallenged == true ? .authenticatedFirst : .neverAuthenticated
  }

  func cancelOpening() {
    upstream.opening.cancel()
    upstream.opening = .nothing
  }

  /// Opens a new connection. Returns its outcome, or `nil` if the outcome comes later.
  private func connect(to pool: UpstreamPool, timeouts: Timeouts, tally: ServiceTally) -> OpenOutcome? {
    var isInCall = true
    var result: OpenOutcome?
    let connector = Connector(
      pool: pool, timeouts: timeouts, tally: tally, context: worker.context
    ) { [unowned self] outcome in
      upstream.opening = .nothing
      switch outcome {
      case .success(let session):
        if awaitsNextToken(session) { return }
        result = .session(session, isReused: false)
      case .failure(let failure): result = .failed(failure)
      }
      if !isInCall, let opened = result.take() { resumeInput(with: opened) }
    }
    upstream.opening = .connection(connector)
    connector.start()
    isInCall = false
    return result.take()
  }

  /// Processes the outcome of opening a connection, if there is one, and then the pending client bytes.
  func resumeInput(with opened: consuming OpenOutcome? = nil) {
    let pending = flow.pending
    flow.pending = nil
    let bytes = pending?.bytes ?? []
    var position = 0
    let buffer = worker.borrowOutput()
    var next = opened
    while let opened = next.take() { next = handle(opened, bytes.span, position: &position, &buffer.output) }
    worker.returnOutput(buffer)
    if let pending { keep(pending, from: position) }
    settle()
  }

  /// Passes the outcome of opening a connection to the state machine. Returns the next outcome if this opens another.
  func handle(
    _ opened: consuming OpenOutcome, _ input: Span<UInt8>, position: inout Int, _ output: inout Output
  ) -> OpenOutcome? {
    switch consume opened {
    case .session(let session, let isReused):
      upstream.session = session
      upstream.response.bytes = nil
      session.attach(to: self)
      dispatch(&output) { machine, output in
        machine.upstreamReady(isReused: isReused, input, position: &position, output: &output)
      }
    case .failed(let failure):
      attempt.failureDetail = failure.detail
      let now = worker.loop.now
      dispatch(&output) { machine, output in machine.upstreamRefused(failure.refusal, now: now, output: &output) }
    }
    return perform(input, &output)
  }

  func endUpstream(reuse: Bool, isCut: Bool = false) {
    cancelOpening()
    endRedaction()
    upstream.response.isSearching = false
    guard let session = upstream.session else { return }
    upstream.session = nil
    upstream.response = PendingResponse()
    if reuse { slot?.machine.withExchange { session.announcedIdle = $0.announcedIdle } }
    if reuse, session.isDedicated { return keepDedicated(session) }
    if reuse { session.release() } else if isCut { session.reset() } else { session.close() }
  }
}

extension AuthorizationError {
  var refusal: RefusalCode {
    switch reason {
    case .unavailable: .credentialUnavailable
    case .originNotGranted, .callerNotGranted, .unknownGrant, .wrongSession: .grantDenied
    case .pinsNotMatched: .pinMismatch
    case .proofExpired: .certificateExpired
    case .sessionFailed: .upstreamClosed
    }
  }
}
