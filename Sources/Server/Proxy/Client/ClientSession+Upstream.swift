internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
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
    guard session === upstream else { return }
    if let held = upstreamPending {
      upstreamPending = PendingBytes.adding(plaintext, to: upstreamPending)
      upstreamPending = nil
      let bytes = held.bytes
      takeResponse(bytes.span)
    } else {
      takeResponse(plaintext)
    }
    settle()
  }

  func takeResponse(_ input: Span<UInt8>) {
    var position = 0
    var output = worker.takeOutput()
    tell(&output) { [redactor = slot?.redactor] machine, output in
      machine.receivedFromUpstream(input, position: &position, redaction: redactor, output: &output)
    }
    if attempt != nil { noteChallenge() }
    if standing.hasFreshCookie { offerFreshCookie() }
    if standing.hasJarCookies { keepCookies() }
    if pass != nil { noteVerdict() }
    if !heardValues.isEmpty { tellPrograms() }
    if headSentAt != 0, standing.hasResponseHead {
      responseHeadTook = Clock.monotonicMicroseconds &- headSentAt
      headSentAt = 0
    }
    perform(input, output)
    let continuesLater = output.actions.contains(.continueLater)
    worker.giveBack(consume output)
    defer { settleHeld() }
    guard position < input.count, upstream != nil else { return }
    upstreamPending = PendingBytes.adding(input.extracting(position...), to: upstreamPending)
    guard continuesLater, !isSearching else { return }
    isSearching = true
    worker.loop.onNextTurn { [weak self] in self?.continueSearch() }
  }

  private func continueSearch() {
    guard isSearching else { return }
    isSearching = false
    offerHeldAnswer()
  }

  /// Some of what came of the upstream waits, and so does its end.
  var holdsAnswer: Bool { standing.isHeld || isSearching }

  func sessionEnded(_ session: UpstreamSession, isClean: Bool) {
    guard session === upstream else { return session.close() }
    if holdsAnswer { return deferredEnd = .ended(isClean: isClean) }
    failureDetail = isClean ? nil : "closed without close_notify"
    step { [redactor = slot?.redactor] machine, output in
      machine.upstreamEnded(isClean: isClean, redaction: redactor, output: &output)
    }
    settle()
  }

  func session(_ session: UpstreamSession, didFail refusal: RefusalCode, detail: String) {
    guard session === upstream else { return }
    if holdsAnswer { return deferredEnd = .failed(refusal, detail) }
    failureDetail = detail
    step { machine, output in machine.upstreamFailed(refusal, output: &output) }
    settle()
  }

  func sessionDidDrain(_ session: UpstreamSession) { settle() }

  /// Leaves its result in `openResult` if it is there at once.
  ///
  /// A change of a secret that came before the request may be heard of after it, as its descriptor may come later in the same
  /// turn, or with the next one (T44). At the end of the turn the worker asks for all of them.
  func open(fresh: Bool) {
    guard let grant = standing.grant, generation.keyring.hasFiles(grant: grant) else { return openNow(fresh: fresh) }
    (opensLater, opensFresh) = (true, fresh)
    worker.openAtTurnEnd(self)
  }

  func turnEnded() {
    guard opensLater else { return }
    opensLater = false
    openNow(fresh: opensFresh)
    if openResult != nil { takeOpened() } else { settle() }
  }

  /// - Parameter stage: of what is waited for; those before it are over.
  func openNow(fresh: Bool, from stage: SecretStage = .files) {
    if standing.generation != worker.generation.snapshot.generation { return decideAnew() }
    guard let routeContext else { return }
    returnRate()
    // The second try of a request that is out already is no other request.
    if !fresh, let problem = worker.journal.auditProblem {
      openResult = .failed(ConnectFailure(.auditUnavailable, problem))
      return
    }
    guard takeRequest() else {
      openResult = .failed(ConnectFailure(.tooManyRequests, ""))
      return
    }
    if let grant = standing.grant {
      let keyring = generation.keyring
      if keyring.isLoggedOut(grant: grant) {
        openResult = .failed(ConnectFailure(.loginRequired, keyring.status(ofGrant: grant).problem ?? ""))
        return
      }
      let isAvailable = keyring.isAvailable(grant: grant)
      if awaitsSecret(grant, isAvailable, from: stage, fresh: fresh) { return }
      if let failure = worker.providers.tokens?.failure(ofGrant: grant) {
        openResult = .failed(failure)
        return
      }
      guard isAvailable else {
        let problem = keyring.status(ofGrant: grant).problem
        openResult = .failed(ConnectFailure(.credentialUnavailable, problem ?? "there is no secret"))
        return
      }
      if let refusal = suspension(ofGrant: grant, of: keyring) {
        openResult = .failed(ConnectFailure(refusal, "the upstream keeps rejecting the credential"))
        return
      }
    }
    if let excess = rateExcess(routeContext) {
      openResult = .failed(ConnectFailure(excess, ""))
      return
    }
    do throws(TLSError) {
      let destination = try generation.destination(of: routeContext)
      let now = worker.context.moment().calendar
      if !fresh, let idle = takeDedicated(for: destination, at: now) ?? destination.takeIdle(at: now, idleChoice) {
        idle.taken(by: self)
        openResult = .session(idle, isReused: true)
      } else {
        connect(
          to: destination, timeouts: routeContext.timeouts, tally: generation.tally.services[routeContext.route.service]
        )
      }
    } catch {
      openResult = .failed(ConnectFailure(error.kind.refusal, error.detail))
    }
  }

  /// With `mode: challenge`, which connection a request may have depends on whether its upstream has asked.
  private var idleChoice: UpstreamPool.Choice {
    guard let grant = standing.grant, generation.snapshot.rules.grants[grant].authRetry.waitsToBeAsked else {
      return .any
    }
    return slot?.machine.exchange.isAsked == true ? .authenticatedFirst : .neverAuthenticated
  }

  func cancelOpening() {
    opensLater = false
    secretWait?.cancel()
    secretWait = nil
    connector?.cancel()
    connector = nil
  }

  func connect(to destination: UpstreamPool, timeouts: Timeouts, tally: ServiceTally) {
    var isInCall = true
    let connector = Connector(
      destination: destination, timeouts: timeouts, tally: tally, context: worker.context
    ) { [unowned self] result in
      self.connector = nil
      switch result {
      case .success(let session):
        if awaitsNextToken(session) { return }
        openResult = .session(session, isReused: false)
      case .failure(let failure): openResult = .failed(failure)
      }
      if !isInCall { takeOpened() }
    }
    self.connector = connector
    connector.start()
    isInCall = false
    if openResult != nil { self.connector = nil }
  }

  /// A session, or the reason why there is none, came on a later turn.
  func takeOpened() {
    let held = pending
    pending = nil
    let bytes = held?.bytes ?? []
    var position = 0
    var output = worker.takeOutput()
    while let opened = openResult.take() {
      take(opened, bytes.span, position: &position, &output)
    }
    worker.giveBack(consume output)
    if let held { keep(held, from: position) }
    settle()
  }

  func take(_ opened: consuming Opened, _ input: Span<UInt8>, position: inout Int, _ output: inout Output) {
    switch opened {
    case .session(let session, let isReused):
      upstream = session
      upstreamPending = nil
      session.owner = self
      tell(&output) { machine, output in
        machine.upstreamReady(isReused: isReused, input, position: &position, output: &output)
      }
    case .failed(let failure):
      failureDetail = failure.detail
      tell(&output) { machine, output in machine.upstreamRefused(failure.refusal, output: &output) }
    }
    perform(input, output)
  }

  func endUpstream(reuse: Bool, isCut: Bool = false) {
    cancelOpening()
    endRedaction()
    isSearching = false
    guard let upstream else { return }
    self.upstream = nil
    (upstreamPending, deferredEnd) = (nil, nil)
    if reuse, upstream.isDedicated { return keepDedicated(upstream) }
    if reuse { upstream.release() } else if isCut { upstream.reset() } else { upstream.close() }
  }
}

extension Denied {
  /// The row of our table for a door that stayed shut.
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
