internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Providers
internal import Setup
internal import System
internal import TLS
internal import Transport

extension ClientSession: UpstreamSessionOwner {
  func sessionIsReady(_ session: UpstreamSession) {}

  func session(_ session: UpstreamSession, didReceive plaintext: Span<UInt8>) {
    guard session === upstream.session else { return }
    if let held = upstream.response.bytes {
      upstream.response.bytes = PendingBytes.adding(plaintext, to: held)
      upstream.response.bytes = nil
      let bytes = held.bytes
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
    tell(&buffer.output) { [redactor = slot?.redactor] machine, output in
      machine.receivedFromUpstream(input, position: &position, redaction: redactor, now: now, output: &output)
    }
    let opened = perform(input, &buffer.output)
    let continuesLater = buffer.output.actions.contains(.continueLater)
    worker.giveBack(buffer)
    if position < input.count, upstream.session != nil {
      upstream.response.bytes = PendingBytes.adding(input.extracting(position...), to: upstream.response.bytes)
      if continuesLater { searchLater() }
    }
    resolveHeld()
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
    offerHeldAnswer()
  }

  /// Some of what came of the upstream waits, and so does its end.
  var holdsAnswer: Bool { summary.isHeld || upstream.response.isSearching }

  func sessionEnded(_ session: UpstreamSession, isClean: Bool) {
    guard session === upstream.session else { return session.close() }
    if holdsAnswer { return upstream.response.end = .ended(isClean: isClean) }
    attempt.failureDetail = isClean ? nil : "closed without close_notify"
    step { [redactor = slot?.redactor] machine, output in
      machine.upstreamEnded(isClean: isClean, redaction: redactor, output: &output)
    }
    settle()
  }

  func session(_ session: UpstreamSession, didFail refusal: RefusalCode, detail: String) {
    guard session === upstream.session else { return }
    if holdsAnswer { return upstream.response.end = .failed(refusal, detail) }
    attempt.failureDetail = detail
    step { machine, output in machine.upstreamFailed(refusal, output: &output) }
    settle()
  }

  func sessionDidDrain(_ session: UpstreamSession) { settle() }

  /// Returns a connection, or why there is none, if that is known at once; nil: it comes later, to `resumeInput`.
  ///
  /// A change of a secret that came before the request may be heard of after it, as its descriptor may come later in the same
  /// turn, or with the next one (T44). At the end of the turn the worker asks for all of them.
  func open(fresh: Bool) -> Opened? {
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

  /// - Parameter stage: of what is waited for; those before it are over.
  func openNow(fresh: Bool, from stage: SecretStage = .files) -> Opened? {
    if summary.generation != worker.generation.snapshot.generation {
      decideAnew()
      return nil
    }
    guard let routeContext else { return nil }
    attempt.returnRate()
    let gates = RequestGates(hasCredential: grant != nil, isRetry: fresh)
    switch gates.verdict(RequestFacts(self, routeContext, from: stage, isFresh: fresh)) {
    case .passed: break
    case .awaited: return nil
    case .refused(_, let obstacle): return .failed(obstacle.refusal, obstacle.detail)
    }
    do throws(TLSError) {
      let pool = try generation.pool(of: routeContext)
      let now = worker.context.moment().calendar
      if !fresh, let idle = takeDedicated(for: pool, at: now) ?? pool.takeIdle(at: now, idleChoice) {
        idle.taken(by: self)
        return .session(idle, isReused: true)
      }
      return connect(
        to: pool, timeouts: routeContext.timeouts, tally: generation.tally.services[routeContext.route.service])
    } catch {
      return .failed(error.kind.refusal, error.detail)
    }
  }

  /// With `mode: challenge`, which connection a request may have depends on whether its upstream has asked.
  private var idleChoice: UpstreamPool.Choice {
    guard let grant, generation.snapshot.rules.grants[grant].authRetry.waitsToBeAsked else {
      return .any
    }
    return slot?.machine.exchange.isAsked == true ? .authenticatedFirst : .neverAuthenticated
  }

  func cancelOpening() {
    upstream.opening.cancel()
    upstream.opening = .nothing
  }

  /// nil: what comes of it comes later, to `resumeInput`.
  private func connect(to pool: UpstreamPool, timeouts: Timeouts, tally: ServiceTally) -> Opened? {
    var isInCall = true
    var result: Opened?
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

  /// The client's bytes that waited go on, behind what opening a connection came to on a later turn, if it is that.
  func resumeInput(with opened: consuming Opened? = nil) {
    let held = flow.pending
    flow.pending = nil
    let bytes = held?.bytes ?? []
    var position = 0
    let buffer = worker.borrowOutput()
    var next = opened
    while let opened = next.take() { next = take(opened, bytes.span, position: &position, &buffer.output) }
    worker.giveBack(buffer)
    if let held { keep(held, from: position) }
    settle()
  }

  /// Returns what opening another one, which this may lead to, comes to at once.
  func take(
    _ opened: consuming Opened, _ input: Span<UInt8>, position: inout Int, _ output: inout Output
  ) -> Opened? {
    switch consume opened {
    case .session(let session, let isReused):
      upstream.session = session
      upstream.response.bytes = nil
      session.hand(to: self)
      tell(&output) { machine, output in
        machine.upstreamReady(isReused: isReused, input, position: &position, output: &output)
      }
    case .failed(let failure):
      attempt.failureDetail = failure.detail
      tell(&output) { machine, output in machine.upstreamRefused(failure.refusal, output: &output) }
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

extension Opened {
  fileprivate static func failed(_ refusal: Refusal, _ detail: String = "") -> Opened {
    .failed(ConnectFailure(refusal, detail))
  }

  fileprivate static func failed(_ code: RefusalCode, _ detail: String = "") -> Opened {
    .failed(.plain(code), detail)
  }
}

extension AuthorizationError {
  /// The refusal code for an error of the keyring.
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
