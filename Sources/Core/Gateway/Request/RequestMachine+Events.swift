internal import HTTP1
package import Policy

// Events from the upstream, from timers and from the configuration.
extension RequestMachine {
  /// Starts the exchange on the connection that `openUpstream` requested.
  /// - Parameter input: the client's buffered bytes, from `position` on.
  package mutating func upstreamReady(
    isReused: Bool, over applicationProtocol: ApplicationProtocol = .http1, _ input: Span<UInt8>, position: inout Int,
    output: inout Output
  ) {
    guard phase == .awaitingUpstream else {
      // No exchange waits for this connection. During an exchange, the action would drop the connection in use.
      if !phase.hasUpstream { output.actions.insert(.dropUpstream) }
      return
    }
    if relay.exchange.isGRPC, case .http1 = applicationProtocol {
      // Other requests can use the connection.
      output.actions.insert(.releaseUpstream)
      return refuse(.plain(.grpcNeedsHTTP2), closes: !relay.exchange.isRequestComplete, output: &output)
    }
    phase = .exchanging
    relay.begin(isReused: isReused, over: applicationProtocol, output: &output)
    if let refusal = relay.forwardBody(input, position: &position, output: &output) {
      abort(refusal, output: &output)
    } else if connectionState.clientHasEnded, !relay.exchange.isRequestComplete {
      clientGone(output: &output)
    }
  }

  /// Refuses or retries a request that was not sent: no connection could be opened, or the keyring refused.
  /// - Parameter now: the loop's time, in milliseconds.
  package mutating func upstreamRefused(_ refusal: Refusal, now: UInt64 = 0, output: inout Output) {
    switch phase {
    case .awaitingUpstream:
      if !isLast, relay.exchange.retriesFailure(refusal, hasSentHead: false, now: now) {
        awaitRetry(isReusable: false, output: &output)
      } else {
        abort(refusal, output: &output)
      }
    case .exchanging:
      if refusal == .plain(.upstreamClosed), relay.exchange.mayRetryUnsent {
        retry(output: &output)
      } else if !isLast, relay.exchange.retriesFailure(refusal, hasSentHead: false, now: now) {
        awaitRetry(isReusable: false, output: &output)
      } else {
        relay.exchange.record.bytesUp = 0
        abort(refusal, output: &output)
      }
    case .awaitingHead, .awaitingRetry, .upgraded, .ended: break
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
    if let refusal = relay.forwardResponse(
      input, position: &position, isLast: isLast, redaction: redaction, now: now, output: &output)
    {
      abort(refusal, output: &output)
    } else if relay.exchange.isUpgraded {
      beginUpgraded(input, position: &position, redaction: redaction, output: &output)
    } else if relay.exchange.isResponseComplete {
      if position < input.count { relay.upstreamEdge.received = .surplus }
      finish(output: &output)
    } else if relay.exchange.isDiscarded {
      let isWhole = relay.upstreamEdge.allowsReuse(after: input.extracting(position...), relay.exchange.bodyLength)
      let isReusable = isWhole && relay.exchange.canReuseAfterDiscarding
      position = input.count
      awaitRetry(isReusable: isReusable, output: &output)
    }
  }

  /// Receives what an HTTP/2 connection has read on the request's stream. Afterwards, call `receivedFromUpstream`.
  package mutating func receivedMessage(_ message: StreamMessage) {
    if phase == .exchanging { relay.upstreamEdge.receive(message) }
  }

  /// Handles a request that the upstream did not process (RFC 9113 §8.7): sends it again, once.
  /// - Parameter isCertain: `false` if the upstream may have processed a part of it. Only an idempotent request is then sent
  ///   again (RFC 9110 §9.2.2).
  package mutating func upstreamUnprocessed(isCertain: Bool = true, now: UInt64 = 0, output: inout Output) {
    if phase == .exchanging, relay.upstreamEdge.received == .nothing, relay.exchange.mayRetryUnprocessed,
      isCertain || relay.exchange.head.method.isIdempotent
    {
      retry(output: &output)
    } else {
      upstreamFailed(.upstreamClosed, mayBeStale: false, now: now, output: &output)
    }
  }

  /// Handles the end of the connection. `isClean` is `true` after a close_notify, or if the connection has no TLS.
  package mutating func upstreamEnded(
    isClean: Bool, redaction: (any Redaction)?, now: UInt64 = 0, output: inout Output
  ) {
    if phase == .upgraded, isClean {
      relay.releaseBuffered(redaction, output: &output)
      connectionState.upstreamHasEnded = true
      return endHalf(.shutdownClient, output: &output)
    }
    guard phase == .exchanging else { return upstreamFailed(.upstreamClosed, now: now, output: &output) }
    if isClean, relay.endResponseAtClose(redaction, output: &output) {
      finish(output: &output)
    } else {
      upstreamFailed(.upstreamClosed, now: now, output: &output)
    }
  }

  /// Handles a broken connection, or a response that did not arrive in time: retries or aborts the request.
  /// - Parameters:
  ///   - mayBeStale: whether an idle connection may have ended before the request was sent on it.
  ///   - now: the loop's time, in milliseconds.
  package mutating func upstreamFailed(
    _ code: RefusalCode, mayBeStale: Bool = true, now: UInt64 = 0, output: inout Output
  ) {
    guard phase.hasUpstream else { return }
    if phase == .exchanging, mayBeStale, code == .upstreamClosed, relay.upstreamEdge.received == .nothing,
      relay.exchange.mayRetry
    {
      retry(output: &output)
    } else if phase == .exchanging, relay.upstreamEdge.received == .nothing, !isLast,
      relay.exchange.retriesFailure(.plain(code), hasSentHead: true, now: now)
    {
      awaitRetry(isReusable: false, output: &output)
    } else {
      abort(.plain(code), output: &output)
    }
  }

  /// Ends the current attempt, and waits for the next one.
  private mutating func awaitRetry(isReusable: Bool, output: inout Output) {
    output.discardRequest()
    if phase.hasUpstream { output.actions.insert(isReusable ? .releaseUpstream : .dropUpstream) }
    output.actions.insert(.prepareRetry)
    relay.exchange.discardResponse()
    phase = .awaitingRetry
  }

  /// Whether the client's connection ends after this request. No further attempt may begin then.
  private var isLast: Bool { connectionState.isDraining || connectionState.clientHasEnded }

  private mutating func retry(output: inout Output) {
    relay.exchange.record.isRetried = true
    phase = .awaitingUpstream
    output.discardRequest()
    output.actions.formUnion([.dropUpstream, .openFreshUpstream])
  }

  /// Sends the request again with the credential value that `renewCredential` has brought.
  /// - Parameter rest: the bytes after the head of the pending response.
  package mutating func credentialRenewed(rest: [UInt8] = [], output: inout Output) {
    guard phase == .exchanging, relay.exchange.isAwaitingRenewal else { return }
    let isReusable =
      relay.exchange.canReuseAfterChallenge
      && relay.upstreamEdge.allowsReuse(after: rest.span, relay.exchange.bodyLength)
    relay.exchange.beginRetry()
    phase = .awaitingUpstream
    // The retry uses a new connection: an idle one could prove stale, and the request is not sent a third time.
    output.actions.formUnion(isReusable ? [.releaseUpstream, .openUpstream] : [.dropUpstream, .openFreshUpstream])
  }

  /// Continues with the pending response without a new credential. Afterwards, call `receivedFromUpstream` again.
  package mutating func renewalRefused() {
    guard phase == .exchanging, relay.exchange.isAwaitingRenewal else { return }
    relay.exchange.authRetry.refuse()
  }

  // MARK: time and configuration

  /// Sends response bytes that were buffered because they could begin a secret.
  package mutating func bufferDeadlinePassed(redaction: any Redaction, output: inout Output) {
    guard phase.hasUpstream else { return }
    relay.releaseBuffered(redaction, output: &output)
  }

  /// - Parameter isUpstreamBlocked: whether bytes of the request's body wait for the upstream.
  package mutating func deadlinePassed(isUpstreamBlocked: Bool = false, output: inout Output) {
    switch deadline {
    case .head: refuseHead(.plain(.requestTimeout), timeout: .clientHead, output: &output)
    case .responseHead:
      relay.exchange.record.timeout = .responseHead
      upstreamFailed(.upstreamTimeout, output: &output)
    case .retry:
      relay.exchange.beginRepetition()
      awaitUpstream(output: &output)
    case .upgraded:
      relay.exchange.record.timeout = .upgraded
      upstreamFailed(.upstreamTimeout, output: &output)
    case .silence:
      relay.exchange.record.timeout = .bodySilence
      let isClientSilent = !relay.exchange.isRequestComplete && !isUpstreamBlocked
      abort(.plain(isClientSilent ? .requestTimeout : .upstreamTimeout), output: &output)
    case .none, .idle, .linger: break
    }
  }

  /// Aborts a request whose body arrives more slowly than the minimum rate (T54).
  package mutating func requestBodyTooSlow(output: inout Output) {
    guard awaitsRequestBody else { return }
    relay.exchange.record.timeout = .clientBodyRate
    abort(.plain(.requestTimeout), output: &output)
  }

  /// - Parameter timeout: what limits the whole request.
  package mutating func totalDeadlinePassed(_ timeout: RequestTimeout = .total, output: inout Output) {
    guard phase.isRunning else { return }
    relay.exchange.record.timeout = timeout
    abort(.plain(.upstreamTimeout), output: &output)
  }

  /// Decides the request again under the new configuration, if it has no connection to the upstream yet.
  package mutating func configurationChanged(_ snapshot: Snapshot, output: inout Output) {
    guard phase == .awaitingUpstream || phase == .awaitingRetry else { return }
    let isWaiting = phase == .awaitingRetry
    let before = relay.exchange.challengeContext
    decide(snapshot: snapshot, output: &output)
    if let before, relay.exchange.challengeContext.map({ $0 != before }) ?? true {
      relay.exchange.authRetry.isRerouted = true
    }
    if isWaiting, phase == .awaitingUpstream, !relay.exchange.form.isUnderWay {
      output.actions.subtract([.openUpstream, .openFreshUpstream])
      phase = .awaitingRetry
    }
  }

  /// Whether the new configuration still allows the current exchange, with the same upstream and credential.
  package func isStillAllowed(by snapshot: Snapshot) -> Bool {
    !phase.hasUpstream || relay.exchange.isStillAllowed(by: snapshot, at: connectionState.arrival)
  }

  /// Aborts an exchange that a new configuration does not allow.
  package mutating func revoked(output: inout Output) {
    guard phase.hasUpstream else { return }
    relay.exchange.record.isAborted = true
    if relay.exchange.record.status == 0 { relay.exchange.record.status = 499 }
    output.discardRequest()
    output.actions.formUnion([abortAction, .record, .reset])
    phase = .ended
  }

  /// Ends the exchange because its credential was logged out (T46).
  package mutating func loggedOut(output: inout Output) {
    switch phase {
    case .awaitingUpstream, .awaitingRetry:
      abort(.plain(relay.exchange.wasSentBefore ? .loggedOut : .loginRequired), output: &output)
    case .exchanging: abort(.plain(.loggedOut), output: &output)
    case .upgraded: revoked(output: &output)
    case .awaitingHead, .ended: break
    }
  }

  /// Ends the exchange because its credential has the value of another account (`on_change: cut`). A request that has
  /// not been sent continues, with the new value.
  package mutating func credentialReplaced(output: inout Output) {
    switch phase {
    // Not a request that waits after a 401 for this new value.
    case .exchanging: if !relay.exchange.isAwaitingRenewal { abort(.plain(.credentialReplaced), output: &output) }
    case .upgraded: revoked(output: &output)
    case .awaitingHead, .awaitingUpstream, .awaitingRetry, .ended: break
    }
  }

  /// Ends the exchange because the daemon stops.
  package mutating func stopped(output: inout Output) {
    switch phase {
    case .awaitingHead: refuseHead(.plain(.draining), output: &output)
    case .awaitingUpstream, .awaitingRetry: abort(.plain(.draining), output: &output)
    // A gRPC program connects again after this status.
    case .exchanging where relay.exchange.isGRPC: abort(.plain(.draining), output: &output)
    case .exchanging, .upgraded: revoked(output: &output)
    case .ended: break
    }
  }

  /// Handles the removal of the listener by a reload. Only an exchange that has a connection to the upstream continues, as the
  /// connection's last.
  package mutating func listenerRemoved(output: inout Output) {
    connectionState.isDraining = true
    switch phase {
    case .awaitingHead: refuseHead(.plain(.listenerRemoved), output: &output)
    // No other listener may decide the request.
    case .awaitingUpstream, .awaitingRetry: abort(.plain(.listenerRemoved), output: &output)
    case .exchanging, .upgraded, .ended: break
    }
  }

  /// Makes this request the last one of its connection.
  package mutating func drain() { connectionState.isDraining = true }
}
