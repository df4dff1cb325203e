internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import System
internal import TLS

extension ClientSession: UpstreamSessionOwner {
  func sessionIsReady(_ session: UpstreamSession) {}

  func session(_ session: UpstreamSession, didReceive plaintext: Span<UInt8>) {
    guard session === upstream else { return }
    if upstreamPending.isEmpty {
      takeResponse(plaintext)
    } else {
      upstreamPending.append(plaintext)
      let held = upstreamPending
      upstreamPending = []
      takeResponse(held.span)
    }
    settle()
  }

  func takeResponse(_ input: Span<UInt8>) {
    var position = 0
    worker.output.reset()
    machine.receivedFromUpstream(
      input, position: &position, redaction: redactor, output: &worker.output)
    if pass != nil { noteVerdict() }
    if headSentAt != 0, machine.hasResponseHead {
      responseHeadTook = Clock.monotonicMicroseconds &- headSentAt
      headSentAt = 0
    }
    perform(input)
    settleHeld()
    if position < input.count, upstream != nil { upstreamPending.append(input.extracting(position...)) }
  }

  func sessionEnded(_ session: UpstreamSession, isClean: Bool) {
    guard session === upstream else { return session.close() }
    failureDetail = isClean ? nil : "closed without close_notify"
    step { [redactor] machine, output in
      machine.upstreamEnded(isClean: isClean, redaction: redactor, output: &output)
    }
    settle()
  }

  func session(_ session: UpstreamSession, didFail refusal: Refusal, detail: String) {
    guard session === upstream else { return }
    failureDetail = detail
    step { machine, output in machine.upstreamFailed(refusal, output: &output) }
    settle()
  }

  func sessionDidDrain(_ session: UpstreamSession) { settle() }

  /// Leaves its result in `openResult` if it is there at once.
  /// - Parameter hasWaited: for the files of its secrets.
  func open(fresh: Bool, hasWaited: Bool = false) {
    if machine.exchange.snapshot?.generation != worker.generation.snapshot.generation {
      generation = worker.generation
      return step { machine, output in machine.configurationChanged(worker.generation.snapshot, output: &output) }
    }
    guard let route = machine.exchange.route else { return }
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
    if let grant = machine.exchange.grant, awaitsSecret(grant, fresh: fresh, hasWaited: hasWaited) { return }
    if let grant = machine.exchange.grant, !generation.keyring.isAvailable(grant: grant) {
      let problem = generation.keyring.status(ofGrant: grant).problem
      openResult = .failed(ConnectFailure(.credentialUnavailable, problem ?? "there is no secret"))
      return
    }
    if let grant = machine.exchange.grant, let refusal = suspension(ofGrant: grant) {
      openResult = .failed(ConnectFailure(refusal, "the upstream keeps rejecting the credential"))
      return
    }
    if let excess = rateExcess(route) {
      openResult = .failed(ConnectFailure(excess, ""))
      return
    }
    do throws(TLSError) {
      let destination = try generation.destination(of: route)
      if !fresh, let idle = destination.takeIdle(at: worker.lookAtClocks().calendar) {
        idle.taken(by: self)
        openResult = .session(idle, isReused: true)
      } else {
        connect(
          to: destination, timeouts: generation.snapshot.rules.services[route.service].timeouts,
          tally: generation.tally.services[route.service])
      }
    } catch {
      openResult = .failed(ConnectFailure(.internalError, error.detail))
    }
  }

  /// True when the credential is being read, or not there yet, but may be soon.
  private func awaitsSecret(_ grant: Int, fresh: Bool, hasWaited: Bool) -> Bool {
    if !hasWaited {
      secretWait = worker.secrets?.wait(forGrant: grant) { [unowned self] in openLater(fresh: fresh) }
    }
    if secretWait == nil, !generation.keyring.isAvailable(grant: grant) {
      secretWait = worker.commands?.wait(forGrant: grant) { [unowned self] in openLater(fresh: fresh) }
    }
    return secretWait != nil
  }

  private func openLater(fresh: Bool) {
    secretWait = nil
    open(fresh: fresh, hasWaited: true)
    if openResult != nil { takeOpened() }
  }

  func cancelOpening() {
    secretWait?.cancel()
    secretWait = nil
    connector?.cancel()
    connector = nil
  }

  func connect(to destination: Destination, timeouts: Timeouts, tally: ServiceTally) {
    var isInCall = true
    let connector = Connector(
      destination: destination, timeouts: timeouts, tally: tally, worker: worker
    ) { [unowned self] result in
      self.connector = nil
      let opened: Opened =
        switch result {
        case .success(let session): .session(session, isReused: false)
        case .failure(let failure): .failed(failure)
        }
      openResult = opened
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
    pending = []
    var position = 0
    while let opened = openResult {
      openResult = nil
      take(opened, held.span, position: &position)
    }
    keep(held, from: position)
    settle()
  }

  func take(_ opened: Opened, _ input: Span<UInt8>, position: inout Int) {
    worker.output.reset()
    switch opened {
    case .session(let session, let isReused):
      upstream = session
      upstreamPending.removeAll(keepingCapacity: true)
      session.owner = self
      machine.upstreamReady(isReused: isReused, input, position: &position, output: &worker.output)
    case .failed(let failure):
      failureDetail = failure.detail
      machine.upstreamRefused(failure.refusal, output: &worker.output)
    }
    perform(input)
  }

  func endUpstream(reuse: Bool, isCut: Bool = false) {
    cancelOpening()
    endRedaction()
    guard let upstream else { return }
    self.upstream = nil
    upstreamPending.removeAll(keepingCapacity: true)
    if reuse { upstream.release() } else if isCut { upstream.reset() } else { upstream.close() }
  }
}

extension Denied {
  /// The row of our table for a door that stayed shut.
  var refusal: Refusal {
    switch reason {
    case .unavailable: .credentialUnavailable
    case .originNotGranted, .callerNotGranted, .unknownGrant, .wrongSession: .grantDenied
    case .pinsNotMatched: .pinMismatch
    case .proofExpired: .certificateExpired
    case .sessionFailed: .upstreamClosed
    }
  }
}
