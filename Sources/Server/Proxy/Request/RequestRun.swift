// Called by `ClientConnection` and `UpstreamConnection`.
// Calls `RequestMachine`, then carries out its actions: `SendSteps` first.

internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import Primitives
internal import Providers
internal import Generations
internal import Redaction
internal import Settings
internal import System
internal import TLS
internal import Transport

/// One request and its state, from the first byte of its head to the last byte of its response.
///
/// A run passes events to its `RequestMachine`, and carries out the actions that result.
final class RequestRun {
  let worker: Worker
  let client: any RequestClient
  private let slot: ExchangeSlot
  /// Whether the client takes over `quota` after the request, because its response may wait.
  private let leavesQuota: Bool
  /// The configuration that decides the request.
  private(set) var generation: Generation
  /// What the request shares with other requests of its route. `nil` if it has no route.
  private(set) var routeContext: RouteContext?
  /// Counts the request as in progress for its caller. `nil` if the request does not count.
  var quota: QuotaPermit?
  var hasQuota: Bool { quota != nil }
  /// Whether the gate `audit` has let the request pass, so that its audit record must not be lost.
  var isRecordPromised = false
  var attempt = Attempt()
  var timing: ExchangeTiming
  /// The connection that carries the request. `nil` if there is none.
  private(set) var upstream: UpstreamConnection?
  var wait = UpstreamWait.nothing
  var pending = PendingResponse()

  /// - Parameter isFirst: whether this is the first request of the client's connection.
  init(
    of client: any RequestClient, worker: Worker, isFirst: Bool, over applicationProtocol: ApplicationProtocol = .http1
  ) {
    (self.client, self.worker, generation) = (client, worker, worker.generation)
    slot = worker.acquireSlot()
    leavesQuota = applicationProtocol == .http2
    timing = ExchangeTiming(startedAt: worker.loop.now)
    slot.machine.begin(client.arrival, isFirst: isFirst, over: applicationProtocol)
  }

  deinit { worker.release(slot) }

  // MARK: state

  var phase: RequestMachine.Phase { slot.machine.phase }
  // For an enum of another module, a pattern is cheaper than `==`.
  var isAwaitingHead: Bool { if case .awaitingHead = phase { true } else { false } }
  private var hasEnded: Bool { if case .ended = phase { true } else { false } }
  var deadline: Deadline { slot.machine.deadline }
  var pausesReadingWhenBuffered: Bool { slot.machine.pausesReadingWhenBuffered }
  var awaitsRequestBody: Bool { slot.machine.awaitsRequestBody }
  var bytesUp: UInt64 { slot.machine.relay.exchange.record.bytesUp }
  /// Whether the request was refused because of the caller's user.
  var isOfUnadmittedCaller: Bool { slot.machine.relay.exchange.record.refusal?.isOfUnadmittedCaller ?? false }
  var caller: Caller? { slot.machine.relay.exchange.record.caller }
  var isChallenged: Bool { slot.machine.relay.exchange.isChallenged }
  var response: ResponseHead { slot.machine.relay.exchange.response }
  var mustOpenFresh: Bool { slot.machine.relay.exchange.mustOpenFresh }
  /// Whether the upstream's response has begun and is being forwarded.
  var hasResponseHead: Bool { slot.machine.relay.exchange.isForwarding }
  /// Whether the response is held back until the credential is renewed.
  var isAwaitingRenewal: Bool { slot.machine.relay.exchange.isAwaitingRenewal }
  /// Whether a part of the response is buffered.
  var isResponseBuffered: Bool { pending.isSearching || isAwaitingRenewal }
  /// Whether the request waits for the end of this turn of the loop.
  var opensAtTurnEnd: Bool { if case .endOfTurn = wait { true } else { false } }
  /// Whether `receive` must be called with the outcome of `SendSteps`.
  var hasOutcome: Bool { wait.isOver }

  func releaseQuota() { if !leavesQuota { _ = quota.take() } }

  /// The grant of the request, as an index in `generation`. `nil` without a credential.
  private(set) var grant: Int?

  /// The grant of the request, as an index in the worker's configuration. `nil` if there is none.
  var currentGrant: Int? { isDecidedByCurrentGeneration ? grant : nil }

  /// Whether the worker's configuration has decided the request.
  var isDecidedByCurrentGeneration: Bool { generation === worker.generation }

  /// Lets `body` use the exchange. It must not use the run's properties that concern the exchange.
  @inline(__always)
  func withExchange<Result>(_ body: (inout Exchange) -> Result) -> Result { body(&slot.machine.relay.exchange) }

  // MARK: events

  /// Passes client bytes, or the outcome of `SendSteps`, to the state machine. Afterwards, the client calls `settle`.
  /// Consumes the bytes that the request can use now.
  func receive(_ input: Span<UInt8>, position: inout Int) {
    advance(input, position: &position, hasMessage: false)
  }

  /// Passes the head of an HTTP/2 request to the state machine. If a body can follow, the outcome of `SendSteps` waits for the
  /// next call of `receive`, so that the head and the first data can be sent together.
  /// - Parameter endsStream: whether the request has no body.
  func receiveHead(_ block: HeaderBlock, endsStream: Bool) {
    slot.machine.receivedMessageFromClient(.head(block))
    if endsStream { slot.machine.receivedMessageFromClient(.end) }
    advanceWithMessage(leavesOutcome: !endsStream)
  }

  /// Records an HTTP/2 request whose head was refused, and whose stream was reset.
  func headRefused(_ error: MessageError) {
    client.requestBegan()
    step { machine, output in machine.headRefused(error, output: &output) }
  }

  /// Passes the last data of an HTTP/2 request without trailers, and its end. Data that is not consumed must be passed to
  /// `receive` later.
  func receiveLast(_ input: Span<UInt8>, position: inout Int) {
    slot.machine.receivedMessageFromClient(.end)
    advance(input, position: &position, hasMessage: true)
  }

  /// Passes the trailers or the end of an HTTP/2 request to the state machine. All data must have been consumed.
  func receive(_ message: StreamMessage) {
    slot.machine.receivedMessageFromClient(message)
    advanceWithMessage()
  }

  private func advanceWithMessage(leavesOutcome: Bool = false) {
    let nothing: [UInt8] = []
    var position = 0
    advance(nothing.span, position: &position, hasMessage: true, leavesOutcome: leavesOutcome)
  }

  /// - Parameter hasMessage: whether the state machine has got a message, and must be called even without input.
  @inline(__always)
  private func advance(
    _ input: Span<UInt8>, position: inout Int, hasMessage: Bool, leavesOutcome: Bool = false
  ) {
    let buffer = worker.borrowOutput()
    defer { worker.returnOutput(buffer) }
    var hasMessage = hasMessage
    while !hasEnded {
      // An outcome is passed on here only, so that refused requests cannot lead to deep recursion, and so that the first
      // bytes of a body can be sent together with the head.
      if wait.isOver {
        if leavesOutcome { return }
        receiveOutcome(input, position: &position, &buffer.output)
        continue
      }
      guard position < input.count || hasMessage else { return }
      let (start, phase, isAwaitingHead) = (position, phase, isAwaitingHead)
      buffer.output.begin()
      slot.machine.receivedFromClient(
        input, position: &position, snapshot: worker.generation.snapshot, output: &buffer.output)
      if isAwaitingHead, position > start || hasMessage { began() }
      hasMessage = false
      perform(input, &buffer.output)
      if position == start, self.phase == phase, !wait.isOver { return }
    }
  }

  /// Begins the exchange, after the head was read or refused.
  private func began() {
    client.requestBegan()
    if generation !== worker.generation { generation = worker.generation }
    selectRoute()
    if caller?.client != nil { client.callerIsProven() }
    timing.startedAt = worker.loop.now
    if let total = routeContext?.timeouts.total { timing.totalBy = timing.startedAt + total }
    if let timeout = withExchange({ $0.callTimeout }), timing.startedAt + timeout < timing.totalBy {
      (timing.totalBy, timing.totalTimeout) = (timing.startedAt + timeout, .grpcTimeout)
    }
  }

  private func receiveOutcome(_ input: Span<UInt8>, position: inout Int, _ output: inout Output) {
    var over = UpstreamWait.nothing
    swap(&over, &wait)
    output.begin()
    switch consume over {
    case .over(.connection(let connection, let isReused)):
      upstream = connection
      pending.bytes = []
      slot.machine.upstreamReady(
        isReused: isReused, over: connection.applicationProtocol, input, position: &position, output: &output)
    case .over(.failed(let failure)):
      attempt.failureDetail = failure.detail
      slot.machine.upstreamRefused(failure.refusal, now: worker.loop.now, output: &output)
    case .nothing, .endOfTurn, .value, .connection: return
    }
    perform(input, &output)
  }

  /// Passes an event without bytes to the state machine. Afterwards, call `settle` of the client.
  func step(_ event: (inout RequestMachine, inout Output) -> Void) {
    let nothing: [UInt8] = []
    let buffer = worker.borrowOutput()
    buffer.output.begin()
    event(&slot.machine, &buffer.output)
    perform(nothing.span, &buffer.output)
    worker.returnOutput(buffer)
  }

  /// Decides the request again, with the current configuration. The request must have neither an upstream connection nor a wait.
  /// Afterwards, call `settle` of the client.
  func decideAgain() {
    if client.isOrphaned { return refuseForRemovedListener() }
    attempt.returnBreaker()
    generation = worker.generation
    let nothing: [UInt8] = []
    let buffer = worker.borrowOutput()
    buffer.output.begin()
    slot.machine.configurationChanged(generation.snapshot, output: &buffer.output)
    selectRoute()
    perform(nothing.span, &buffer.output)
    worker.returnOutput(buffer)
  }

  private func selectRoute() {
    grant = slot.machine.relay.exchange.grant(inGeneration: generation.snapshot.generation)
    guard let route = slot.machine.relay.exchange.decision.route else { return routeContext = nil }
    routeContext = generation.routeContext(of: route)
  }

  func deadlinePassed() {
    let isTotal = phase.isRunning && worker.loop.now >= timing.totalBy
    if phase == .awaitingRetry, !isTotal {
      if client.isGone { return step { machine, output in machine.clientClosed(output: &output) } }
      if let service = routeContext?.route.service { generation.tally.services[service].count(.upstreamRetries) }
    }
    let timeout = timing.totalTimeout
    let isUpstreamBlocked = upstream?.isBlocked(self) ?? false
    // The default time is for clients only.
    if isUpstreamBlocked, !isTotal, deadline == .silence, routeContext?.timeouts.bodySilence == nil { return }
    step { machine, output in
      guard isTotal else { return machine.deadlinePassed(isUpstreamBlocked: isUpstreamBlocked, output: &output) }
      machine.totalDeadlinePassed(timeout, output: &output)
    }
  }

  // MARK: actions

  /// Carries out the actions in `output`.
  private func perform(_ input: Span<UInt8>, _ output: inout Output) {
    if output.results.actions.isEmpty { return }
    if output.results.actions.concernLocalResponse { writeLocalResponse(to: &output) }
    let actions = output.results.actions
    if actions.concernResponseHead {
      if actions.contains(.offerCookie) { ResponseCookies(self).offerFresh() }
      if actions.contains(.keepCookies) { ResponseCookies(self).keep() }
      if actions.contains(.restartDeadline) { client.restartDeadline() }
      if actions.contains(.inspectResponse) {
        inspectResponse(status: output.results.upstreamStatus)
        judgeCredential(output.results.verdict, isPreliminary: output.results.isVerdictPreliminary)
      } else if actions.contains(.judgeCredential) {
        judgeCredential(output.results.verdict, isPreliminary: output.results.isVerdictPreliminary)
      }
    }
    if actions.contains(.sendHead) {
      if !SendSteps(self).sendHead(input, &output) { return }
    } else if actions.contains(.sendBody), let upstream {
      upstream.send(output.toUpstream.storage.span.extracting(first: output.toUpstream.count), of: self)
      upstream.send(input.extracting(output.results.upstreamBody), of: self)
    }
    if actions.contains(.endRequest), !output.sendsWholeBody {
      upstream?.endRequest(of: self, trailers: output.requestTrailers)
    }
    // A client that sees the end of the response may send its next request, even to a different worker.
    if actions.contains(.record) { releaseQuota() }
    if actions.contains(.sendHeads) {
      client.sendHeads(output.clientHeads.storage.span.extracting(first: output.clientHeads.count))
    }
    if actions.contains(.sendToClient) {
      client.send(
        output.toClient.storage.span.extracting(first: output.toClient.count),
        input.extracting(output.results.clientBody))
    }
    if actions.contains(.endResponse) { client.endResponse(trailers: output.trailers) }
    if actions.contains(.shutdownUpstream) { upstream?.shutdown(self) }
    if actions.contains(.dedicateUpstream) { upstream?.dedicate() }
    if actions.contains(.releaseUpstream) { endUpstream(reuse: true) }
    if actions.contains(.dropUpstream) { endUpstream(reuse: false) }
    if actions.contains(.resetUpstream) { endUpstream(reuse: false, isCut: true) }
    if actions.contains(.record) { record() }
    if actions.concernConnections { performOnConnections(actions) }
    if hasEnded {
      // Nothing may call the run after its end.
      if !wait.isNothing { cancelWait() }
      client.ended(self)
    }
  }

  private func performOnConnections(_ actions: Actions) {
    if actions.contains(.openUpstream) { SendSteps(self).begin(isFresh: false) }
    if actions.contains(.openFreshUpstream) { SendSteps(self).begin(isFresh: true) }
    if actions.concernRepetition {
      if actions.contains(.renewCredential) { CredentialRenewal(self).renew() }
      if actions.contains(.replaceCredential) { CredentialRenewal(self).replace() }
      // The next attempt counts toward the rate again.
      if actions.contains(.prepareRetry) { attempt = Attempt() }
    }
    if actions.contains(.shutdownClient) { if hasEnded { client.linger() } else { client.shutdown() } }
    if actions.contains(.reset) {
      client.close(reset: true)
    } else if actions.contains(.close) {
      client.close(reset: false)
    }
  }

  /// Processes the latency and the challenges of a response head.
  private func inspectResponse(status: Int) {
    if timing.headSentAt != 0, hasResponseHead {
      timing.responseHeadTook = Clock.monotonicMicroseconds &- timing.headSentAt
      timing.headSentAt = 0
    }
    if attempt.challenge != nil { ChallengeResponse(self).record(status: status) }
  }

  /// Reports a response's verdict on the credential.
  /// - Parameter isPreliminary: whether the end of a gRPC call can still reject the credential. `verdict` is `nil` before its first
  ///   message, and at an end that says nothing about the credential.
  private func judgeCredential(_ verdict: CredentialVerdict?, isPreliminary: Bool) {
    if isPreliminary { return attempt.accept(hasMessage: verdict != nil, log: worker.log) }
    let verdict = verdict ?? (attempt.isAccepted ? .accepted : nil)
    if attempt.hasBreaker { attempt.recordVerdict(verdict, log: worker.log) }
    if !attempt.helperValues.isEmpty { report(verdict) }
  }

  /// Reports the acceptance of the credential in a gRPC call that has ended without a status.
  func concludeCall() { judgeCredential(.accepted, isPreliminary: false) }

  private func report(_ verdict: CredentialVerdict?) {
    let values = attempt.helperValues
    attempt.helperValues = []
    guard let verdict else { return }
    worker.providers.commands?.report(verdict, for: values)
  }

  private func writeLocalResponse(to output: inout Output) {
    if output.results.actions.contains(.sendMetrics) {
      let text = worker.metricsText(worker.allCounts ?? WorkerCounts(of: worker))
      slot.machine.writeMetrics(text, to: &output)
    } else if let admitted = slot.machine.relay.exchange.decision.admitted, let listener = client.arrival.listener {
      let authority = Discovery.authority(of: slot.machine.relay.exchange.head)
      let document = worker.discoveryDocument(for: admitted.caller, at: listener, authority: authority)
      slot.machine.writeDiscovery(document, for: admitted, to: &output)
    }
  }

  // MARK: the configuration

  /// Applies a new configuration. Returns `false` if it does not allow the exchange in progress.
  func configurationChanged() -> Bool {
    if phase == .awaitingUpstream || phase == .awaitingRetry {
      cancelWait()
      decideAgain()
      client.settle()
    }
    return isStillAllowed
  }

  private var isStillAllowed: Bool { slot.machine.isStillAllowed(by: worker.generation.snapshot) }

  func listenerRemoved() {
    refuseForRemovedListener()
    client.settle()
  }

  private func refuseForRemovedListener() {
    step { machine, output in machine.listenerRemoved(output: &output) }
  }

  /// Ends an exchange that an earlier configuration authorized and the current one does not allow.
  func cutIfNotAllowed() {
    guard phase.hasUpstream, client.isOrphaned || !isStillAllowed else { return }
    step { machine, output in machine.revoked(output: &output) }
    client.settle()
  }
}

// MARK: - The upstream's connection

extension RequestRun: UpstreamRunDelegate {
  var asksForTunnel: Bool { slot.machine.relay.exchange.asksForTunnel }

  func connection(_ connection: UpstreamConnection, didReceive plaintext: Span<UInt8>) {
    guard connection === upstream else { return }
    if isResponseBuffered {
      // Not processed again for each piece, which would copy all of them each time.
      pending.bytes.append(plaintext)
      client.settle()
    } else if !pending.bytes.isEmpty {
      pending.bytes.append(plaintext)
      processPending()
    } else {
      receiveResponse(plaintext)
      client.settle()
    }
  }

  func connection(_ connection: UpstreamConnection, didReceive message: StreamMessage, isFollowed: Bool) {
    guard connection === upstream else { return }
    // The end of a stream that carries a WebSocket.
    if case .end = message, case .upgraded = phase { return connectionEnded(connection, isClean: true) }
    slot.machine.receivedMessage(message)
    if !isFollowed, !isResponseBuffered { processPending() }
  }

  func connectionDidRefuse(_ connection: UpstreamConnection, isUnprocessed: Bool, detail: String) {
    guard connection === upstream else { return }
    attempt.failureDetail = detail
    step { [now = worker.loop.now] machine, output in
      machine.upstreamUnprocessed(isCertain: isUnprocessed, now: now, output: &output)
    }
    client.settle()
  }

  func connectionDidReset(_ connection: UpstreamConnection, detail: String) {
    guard connection === upstream else { return }
    if isResponseBuffered { return pending.end = .failed(.upstreamClosed, detail) }
    attempt.failureDetail = detail
    step { [now = worker.loop.now] machine, output in
      machine.upstreamFailed(.upstreamClosed, mayBeStale: false, now: now, output: &output)
    }
    client.settle()
  }

  private func receiveResponse(_ input: Span<UInt8>) {
    var position = 0
    let buffer = worker.borrowOutput()
    buffer.output.begin()
    slot.machine.receivedFromUpstream(
      input, position: &position, redaction: slot.redaction.redactor, now: worker.loop.now, output: &buffer.output)
    let continuesLater = buffer.output.results.actions.contains(.continueLater)
    perform(input, &buffer.output)
    worker.returnOutput(buffer)
    if position < input.count, upstream != nil {
      pending.bytes.append(input.extracting(position...))
      if continuesLater { searchLater() }
    }
    // No timer if later bytes have already arrived and are about to be searched.
    slot.redaction.update(for: self, isDue: !hasEnded && !pending.isSearching)
  }

  private func searchLater() {
    guard !pending.isSearching else { return }
    pending.isSearching = true
    worker.loop.onNextTurn { [weak self] in self?.continueSearch() }
  }

  private func continueSearch() {
    guard pending.isSearching else { return }
    pending.isSearching = false
    processPending()
  }

  /// Continues with a response that was buffered, and with the end of its connection.
  func processPending() {
    var bytes: [UInt8] = []
    swap(&bytes, &pending.bytes)
    receiveResponse(bytes.span)
    if !isResponseBuffered, let upstream, let end = pending.end {
      pending.end = nil
      switch end {
      case .ended(let isClean): return connectionEnded(upstream, isClean: isClean)
      case .failed(let refusal, let detail): return connection(upstream, didFail: refusal, detail: detail)
      }
    }
    client.settle()
  }

  func connectionEnded(_ connection: UpstreamConnection, isClean: Bool) {
    guard connection === upstream else { return }
    if isResponseBuffered { return pending.end = .ended(isClean: isClean) }
    let details = [isClean ? nil : "closed without close_notify", connection.tlsAdvice].compactMap(\.self)
    attempt.failureDetail = details.isEmpty ? nil : details.joined(separator: ": ")
    step { [redactor = slot.redaction.redactor, now = worker.loop.now] machine, output in
      machine.upstreamEnded(isClean: isClean, redaction: redactor, now: now, output: &output)
    }
    client.settle()
  }

  func connection(_ connection: UpstreamConnection, didFail refusal: RefusalCode, detail: String) {
    guard connection === upstream else { return }
    if isResponseBuffered { return pending.end = .failed(refusal, detail) }
    attempt.failureDetail = detail
    step { [now = worker.loop.now] machine, output in machine.upstreamFailed(refusal, now: now, output: &output) }
    client.settle()
  }

  func connectionDidDrain(_ connection: UpstreamConnection) { client.settle() }

  func endUpstream(reuse: Bool, isCut: Bool = false) {
    cancelWait()
    slot.redaction.end(for: self)
    guard let connection = upstream else { return }
    upstream = nil
    pending = PendingResponse()
    guard reuse else { return connection.cancel(self, isCut: isCut) }
    // A request that was not sent has no response.
    if withExchange({ $0.response.status != 0 }) {
      connection.announcedIdle = slot.machine.relay.exchange.announcedIdle
    }
    guard connection.isDedicated else { return connection.release(self) }
    client.dedicated?.close()
    client.dedicated = DedicatedUpstream(connection, after: self, of: caller)
  }

  // MARK: redaction

  /// Prepares to mask the credential that was sent.
  func beginRedaction() {
    guard let grant = currentGrant else { return }
    let sent = worker.generation.keyring.popSentPatterns(ofGrant: grant)
    guard slot.machine.relay.exchange.redact != .off else { return }
    slot.redaction.redactor.begin(sent)
    slot.redaction.redactor.mostDecoded = worker.limits.decodedError
  }

  /// Sends what the redactor holds back.
  func redactionDelayPassed() {
    step { [redactor = slot.redaction.redactor] machine, output in
      machine.bufferDeadlinePassed(redaction: redactor, output: &output)
    }
    client.settle()
  }

  // MARK: a response that is held back

  /// Sends the request again, and discards the response that is held back.
  func sendAgain() {
    let rest = pending.bytes
    (pending.bytes, pending.end) = ([], nil)
    // The expired value was valid before, so its rejection does not count for the breaker.
    attempt.returnBreaker()
    step { machine, output in machine.credentialRenewed(rest: rest, output: &output) }
    client.settle()
  }

  /// Forwards the response that is held back, because the credential could not be renewed.
  func forwardPending() {
    step { machine, _ in machine.renewalRefused() }
    processPending()
  }

  /// Calls `body` on the next turn of the loop, unless the wait is cancelled.
  func waitForNextTurn(_ body: @escaping (RequestRun) -> Void) {
    let wait = SecretWait { [unowned self] in body(self) }
    self.wait = .value(wait)
    worker.loop.onNextTurn { wait.end() }
  }

  func cancelWait() {
    let wait = wait
    self.wait = .nothing
    wait.cancel(self)
  }
}
