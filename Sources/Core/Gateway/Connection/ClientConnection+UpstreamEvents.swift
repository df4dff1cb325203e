internal import HTTP1
internal import Policy

// Events from the upstream, from timers and from the configuration.
extension ClientConnection {
  /// Starts the exchange on the session that `openUpstream` requested.
  /// - Parameter input: the client's buffered bytes, from `position` on.
  package mutating func upstreamReady(
    isReused: Bool, _ input: Span<UInt8>, position: inout Int, output: inout Output
  ) {
    guard phase == .awaitingUpstream else {
      // No exchange waits for this session. During an exchange, the action would drop the session in use.
      if !hasSession { output.actions.insert(.dropUpstream) }
      return
    }
    phase = .exchanging
    exchange.begin(isReused: isReused, output: &output)
    beginUpstream(output: &output)
    if let refusal = forwardBody(input, position: &position, output: &output) {
      abort(refusal, output: &output)
    } else if clientHasEnded, !exchange.isRequestComplete {
      clientGone(output: &output)
    }
  }

  /// Refuses or retries a request that was not sent: no session could be opened, or the keyring refused.
  /// - Parameter now: the loop's time, in milliseconds.
  package mutating func upstreamRefused(_ refusal: Refusal, now: UInt64 = 0, output: inout Output) {
    switch phase {
    case .awaitingUpstream:
      if !refusesRetries, exchange.retriesFailure(refusal, hasSentHead: false, now: now) {
        awaitRetry(isSessionReusable: false, output: &output)
      } else {
        abort(refusal, output: &output)
      }
    case .exchanging:
      if refusal == .plain(.upstreamClosed), exchange.mayRetryUnsent {
        retry(output: &output)
      } else if !refusesRetries, exchange.retriesFailure(refusal, hasSentHead: false, now: now) {
        awaitRetry(isSessionReusable: false, output: &output)
      } else {
        exchange.record.bytesUp = 0
        abort(refusal, output: &output)
      }
    case .awaitingHead, .awaitingRetry, .upgraded, .lingering, .closed: break
    }
  }

  /// Receives plaintext of the upstream, from `position` on.
  /// - Parameters:
  ///   - redaction: masks the added credential. If it is `nil`, a response that must be searched is refused.
  ///   - now: the loop's time, in milliseconds.
  package mutating func receivedFromUpstream(
    _ input: Span<UInt8>, position: inout Int, redaction: (any Redaction)?, now: UInt64 = 0, output: inout Output
  ) {
    if phase == .upgraded {
      return carryDown(input, position: &position, redaction: redaction, output: &output)
    }
    guard phase == .exchanging else {
      position = input.count
      output.actions.insert(.dropUpstream)
      return
    }
    if position < input.count, upstream.received == .nothing { upstream.received = .bytes }
    if let refusal = forwardResponse(
      input, position: &position, redaction: redaction, now: now, output: &output)
    {
      abort(refusal, output: &output)
    } else if exchange.isUpgraded {
      beginUpgraded(input, position: &position, redaction: redaction, output: &output)
    } else if exchange.isResponseComplete {
      if position < input.count { upstream.received = .surplus }
      finish(output: &output)
    } else if exchange.isDiscarded {
      let isWhole = HTTP1UpstreamEdge.isWhole(input.extracting(position...), exchange.bodyLength)
      let isReusable = isWhole && exchange.canReuseAfterDiscarding
      position = input.count
      awaitRetry(isSessionReusable: isReusable, output: &output)
    }
  }

  /// Prepares the upstream's edge for the request, and sends the whole body if it is kept.
  private mutating func beginUpstream(output: inout Output) {
    guard let route = exchange.route, let snapshot = exchange.snapshot else { return }
    let repairs = snapshot.options(of: route).responses == .repair
    upstream.begin(snapshot.responseLimits, repairs: repairs, sendsChunks: exchange.head.hasChunkedBody)
    if let body = exchange.wholeBody { upstream.writeWhole(body, to: &output) }
  }

  /// Forwards bytes of the response. Returns `nil`, or a refusal if the response cannot be forwarded.
  private mutating func forwardResponse(
    _ input: Span<UInt8>, position: inout Int, redaction: (any Redaction)?, now: UInt64, output: inout Output
  ) -> Refusal? {
    let isLast = isDraining || clientHasEnded
    do throws(MessageError) {
      while exchange.passage.phase == .head {
        guard position < input.count,
          let size = try upstream.readHead(input, position: &position, into: &exchange.response)
        else { return nil }
        let outcome = exchange.receiveHead(
          size: size, isLast: isLast, redaction: redaction, now: now, output: &output)
        if let refusal = writeHead(outcome, isLast: isLast, output: &output) { return refusal }
      }
      if exchange.passage.phase == .inspectingBody {
        let rest = input.extracting(position...)
        exchange.inspectBody(
          HTTP1UpstreamEdge.preview(rest, exchange.bodyLength, limit: Exchange.longestSign), output: &output)
      }
      if exchange.passage.phase == .awaitingRenewal {
        guard exchange.authRetry.isRefused else { return nil }
        let outcome = exchange.processHead(isLast: isLast, redaction, now: now, output: &output)
        if let refusal = writeHead(outcome, isLast: isLast, output: &output) { return refusal }
      }
      return try forwardResponseBody(input, position: &position, redaction, output: &output)
    } catch {
      exchange.recordFault(error, in: input.extracting(position...), redaction)
      return .plain(.upstreamMalformed)
    }
  }

  @inline(__always)
  private mutating func forwardResponseBody(
    _ input: Span<UInt8>, position: inout Int, _ redaction: (any Redaction)?, output: inout Output
  ) throws(MessageError) -> Refusal? {
    let stepsBefore = redaction?.steps ?? 0
    while exchange.passage.phase == .body {
      if upstream.isBodyComplete { return endResponseBody(input, redaction, output: &output) }
      if let redaction, position < input.count, redaction.steps &- stepsBefore >= SearchBudget.maximumSteps {
        output.actions.insert(.continueLater)
        return nil
      }
      let end = position + min(input.count - position, exchange.passage.treatment.largestPiece)
      switch try upstream.readBody(input.extracting(first: end), position: &position) {
      case .needsMore: if position == input.count { return nil }
      case .data(let range):
        if let refusal = exchange.pass(input, range, redaction, output: &output) { return refusal }
        client.writeBody(input, to: &output)
        if exchange.passage.abandonsBody { upstream.abandonBody() }
      case .end: break
      }
    }
    return nil
  }

  private mutating func endResponseBody(
    _ input: Span<UInt8>, _ redaction: (any Redaction)?, output: inout Output
  ) -> Refusal? {
    let refusal = exchange.endBody(
      upstream.takeTrailers(), takesTrailers: client.takesTrailers, redaction, output: &output)
    client.writeBody(input, to: &output)
    if refusal == nil { client.writeEnd(trailers: output.trailers, to: &output) }
    return refusal
  }

  /// Writes the head `output.response` for the client. Returns the refusal of the outcome, if there is one.
  @inline(__always)
  private mutating func writeHead(_ outcome: Exchange.HeadOutcome, isLast: Bool, output: inout Output) -> Refusal? {
    switch outcome {
    case .nothing: return nil
    case .refused(let refusal): return refusal
    case .interim: client.writeInterim(output.response, to: &output.toClient)
    case .final:
      client.writeHead(
        output.response, to: exchange.head, isEarly: exchange.passage.isEarly, isLast: isLast, into: &output.toClient)
      upstream.beginBody(exchange.bodyLength)
    }
    output.actions.insert(.sendToClient)
    return nil
  }

  /// Handles the end of the session. `isClean` is `true` after a close_notify, or if the session has no TLS.
  package mutating func upstreamEnded(
    isClean: Bool, redaction: (any Redaction)?, now: UInt64 = 0, output: inout Output
  ) {
    if phase == .upgraded, isClean {
      releaseBuffered(redaction, output: &output)
      upstreamHasEnded = true
      return endHalf(.shutdownClient, output: &output)
    }
    guard phase == .exchanging else { return upstreamFailed(.upstreamClosed, now: now, output: &output) }
    if isClean, endResponseAtClose(redaction, output: &output) {
      upstream.received = .surplus
      finish(output: &output)
    } else {
      upstreamFailed(.upstreamClosed, now: now, output: &output)
    }
  }

  /// Handles a broken session, or a response that did not arrive in time: retries or aborts the request.
  /// - Parameter now: the loop's time, in milliseconds.
  package mutating func upstreamFailed(_ code: RefusalCode, now: UInt64 = 0, output: inout Output) {
    guard hasSession else { return }
    if phase == .exchanging, code == .upstreamClosed, upstream.received == .nothing,
      exchange.mayRetry
    {
      retry(output: &output)
    } else if phase == .exchanging, upstream.received == .nothing, !refusesRetries,
      exchange.retriesFailure(.plain(code), hasSentHead: true, now: now)
    {
      awaitRetry(isSessionReusable: false, output: &output)
    } else {
      abort(.plain(code), output: &output)
    }
  }

  private mutating func retry(output: inout Output) {
    exchange.record.isRetried = true
    phase = .awaitingUpstream
    output.discardRequest()
    output.actions.formUnion([.dropUpstream, .openFreshUpstream])
  }

  /// Sends the request again with the credential value that `renewCredential` has brought.
  /// - Parameter rest: the bytes after the head of the pending response.
  package mutating func credentialRenewed(rest: [UInt8] = [], output: inout Output) {
    guard phase == .exchanging, exchange.isAwaitingRenewal else { return }
    let isReusable =
      exchange.canReuseAfterChallenge && HTTP1UpstreamEdge.isWhole(rest.span, exchange.bodyLength)
    exchange.beginRetry()
    phase = .awaitingUpstream
    // The retry uses a new connection: an idle one could prove stale, and the request is not sent a third time.
    output.actions.formUnion(isReusable ? [.releaseUpstream, .openUpstream] : [.dropUpstream, .openFreshUpstream])
  }

  /// Continues with the pending response without a new credential. Afterwards, call `receivedFromUpstream` again.
  package mutating func renewalRefused() {
    guard phase == .exchanging, exchange.isAwaitingRenewal else { return }
    exchange.authRetry.refuse()
  }

  // MARK: time and configuration

  /// Sends response bytes that were buffered because they could begin a secret.
  package mutating func bufferDeadlinePassed(redaction: any Redaction, output: inout Output) {
    guard hasSession, phase == .exchanging || phase == .upgraded else { return }
    releaseBuffered(redaction, output: &output)
  }

  private mutating func releaseBuffered(_ redaction: (any Redaction)?, output: inout Output) {
    exchange.releaseBuffered(redaction, output: &output)
    let nothing: [UInt8] = []
    client.writeBody(nothing.span, to: &output)
  }

  /// Ends a response that is delimited by the end of the connection. Returns `false` if the response is incomplete.
  private mutating func endResponseAtClose(_ redaction: (any Redaction)?, output: inout Output) -> Bool {
    guard exchange.passage.phase == .body, upstream.endBodyAtClose() else { return false }
    let nothing: [UInt8] = []
    return endResponseBody(nothing.span, redaction, output: &output) == nil
  }

  package mutating func deadlinePassed(output: inout Output) {
    switch deadline {
    case .idle, .linger: close(output: &output)
    case .head:
      if client.headProgress == .begun {
        refuseHead(.plain(.requestTimeout), timeout: .clientHead, output: &output)
      } else {
        close(output: &output)
      }
    case .responseHead:
      exchange.record.timeout = .responseHead
      upstreamFailed(.upstreamTimeout, output: &output)
    case .retry: beginRetry(output: &output)
    case .upgraded:
      exchange.record.timeout = .upgraded
      upstreamFailed(.upstreamTimeout, output: &output)
    case .silence:
      exchange.record.timeout = .bodySilence
      abort(.plain(exchange.isRequestComplete ? .upstreamTimeout : .requestTimeout), output: &output)
    case .none: break
    }
  }

  /// Aborts a request whose body arrives more slowly than the minimum rate (T54).
  package mutating func requestBodyTooSlow(output: inout Output) {
    guard awaitsRequestBody else { return }
    exchange.record.timeout = .clientBodyRate
    abort(.plain(.requestTimeout), output: &output)
  }

  package mutating func totalDeadlinePassed(output: inout Output) {
    guard phase == .awaitingUpstream || phase == .awaitingRetry || phase == .exchanging else { return }
    exchange.record.timeout = .total
    abort(.plain(.upstreamTimeout), output: &output)
  }

  /// Decides the request again under the new configuration, if it has no session yet.
  package mutating func configurationChanged(_ snapshot: Snapshot, output: inout Output) {
    guard phase == .awaitingUpstream || phase == .awaitingRetry else { return }
    let isWaiting = phase == .awaitingRetry
    let before = exchange.challengeContext
    decide(snapshot: snapshot, output: &output)
    if let before, exchange.challengeContext.map({ $0 != before }) ?? true { exchange.authRetry.isRerouted = true }
    if isWaiting, phase == .awaitingUpstream, !exchange.form.isUnderWay {
      output.actions.subtract([.openUpstream, .openFreshUpstream])
      phase = .awaitingRetry
    }
  }

  /// Whether the new configuration still allows the current exchange, with the same upstream and credential.
  package func isStillAllowed(by snapshot: Snapshot) -> Bool {
    !hasSession || exchange.isStillAllowed(by: snapshot, at: arrival)
  }

  /// Aborts an exchange that a new configuration does not allow.
  package mutating func revoked(output: inout Output) {
    guard hasSession else { return }
    exchange.record.isAborted = true
    if exchange.record.status == 0 { exchange.record.status = 499 }
    output.discardRequest()
    output.actions.formUnion([abortAction, .record, .reset])
    phase = .closed
  }

  /// Ends the exchange because its credential was logged out (T46).
  package mutating func loggedOut(output: inout Output) {
    switch phase {
    case .awaitingUpstream, .awaitingRetry:
      abort(.plain(exchange.wasSentBefore ? .loggedOut : .loginRequired), output: &output)
    case .exchanging: abort(.plain(.loggedOut), output: &output)
    case .upgraded: revoked(output: &output)
    case .awaitingHead, .lingering, .closed: break
    }
  }

  /// Ends the exchange because its credential has the value of another account (`on_change: cut`). A request that has
  /// not been sent continues, with the new value.
  package mutating func credentialReplaced(output: inout Output) {
    switch phase {
    // Not a request that waits after a 401 for this new value.
    case .exchanging: if !exchange.isAwaitingRenewal { abort(.plain(.credentialReplaced), output: &output) }
    case .upgraded: revoked(output: &output)
    case .awaitingHead, .awaitingUpstream, .awaitingRetry, .lingering, .closed: break
    }
  }

  /// Ends the exchange because the daemon stops.
  package mutating func stopped(output: inout Output) {
    switch phase {
    case .awaitingHead: if client.headProgress == .begun { refuseHead(.plain(.draining), output: &output) }
    case .awaitingUpstream, .awaitingRetry: abort(.plain(.draining), output: &output)
    case .exchanging, .upgraded: revoked(output: &output)
    case .lingering, .closed: break
    }
  }

  /// Handles the removal of the listener by a reload. Only an exchange that has a session continues, as the
  /// connection's last.
  package mutating func listenerRemoved(output: inout Output) {
    isDraining = true
    switch phase {
    case .awaitingHead:
      if client.headProgress == .begun {
        refuseHead(.plain(.listenerRemoved), output: &output)
      } else {
        close(output: &output)
      }
    // No other listener may decide the request.
    case .awaitingUpstream, .awaitingRetry: abort(.plain(.listenerRemoved), output: &output)
    case .exchanging, .upgraded, .lingering, .closed: break
    }
  }

  package mutating func drain(output: inout Output) {
    isDraining = true
    if phase == .awaitingHead, client.headProgress != .begun { close(output: &output) }
  }
}
