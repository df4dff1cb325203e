// Facts about the upstream, about time and about the configuration.
extension ClientConnection {
  /// The session that `openUpstream` asked for is there.
  /// - Parameter input: bytes of the client that already wait, from `position` on: a body that fits goes out with the head.
  package mutating func upstreamReady(
    isReused: Bool, _ input: Span<UInt8>, position: inout Int, output: inout Output
  ) {
    guard phase == .awaitingUpstream else {
      // No exchange waits for this session. During an exchange the action would mean the session that is in use.
      if !hasSession { output.actions.insert(.dropUpstream) }
      return
    }
    phase = .exchanging
    exchange.begin(isReused: isReused, output: &output)
    if let refusal = exchange.receiveRequestBody(input, position: &position, output: &output) {
      abort(refusal, output: &output)
    } else if clientHasEnded, !exchange.isRequestComplete {
      clientGone(output: &output)
    }
  }

  /// There will be no session, or the keyring said no: nothing was sent.
  package mutating func upstreamRefused(_ refusal: Refusal, output: inout Output) {
    switch phase {
    case .awaitingUpstream: abort(refusal, output: &output)
    case .exchanging:
      if refusal == .plain(.upstreamClosed), exchange.mayRetryUnsent {
        retry(output: &output)
      } else {
        exchange.record.bytesUp = 0
        abort(refusal, output: &output)
      }
    case .awaitingHead, .upgraded, .lingering, .closed: break
    }
  }

  /// Plaintext of the upstream, from `position` on.
  /// - Parameters:
  ///   - redaction: of what was added to the request; an answer that has to be searched does not pass without it.
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
    let isLast = isDraining || clientHasEnded
    if let refusal = exchange.receiveResponse(
      input, position: &position, isLast: isLast, redaction: redaction, now: now, output: &output)
    {
      abort(refusal, output: &output)
    } else if exchange.isUpgraded {
      beginUpgraded(input, position: &position, redaction: redaction, output: &output)
    } else if exchange.isResponseComplete {
      if position < input.count { exchange.session.received = .surplus }
      finish(output: &output)
    }
  }

  /// The session ended: `isClean` if the upstream said so (close_notify).
  package mutating func upstreamEnded(isClean: Bool, redaction: (any Redaction)?, output: inout Output) {
    if phase == .upgraded, isClean {
      let nothing: [UInt8] = []
      exchange.releaseHeld(nothing.span, redaction, output: &output)
      upstreamHasEnded = true
      return endHalf(.shutdownClient, output: &output)
    }
    guard phase == .exchanging else { return upstreamFailed(.upstreamClosed, output: &output) }
    if isClean, exchange.endResponseAtClose(redaction: redaction, output: &output) {
      exchange.session.received = .surplus
      finish(output: &output)
    } else {
      upstreamFailed(.upstreamClosed, output: &output)
    }
  }

  /// The session broke, or its answer did not come in time.
  package mutating func upstreamFailed(_ code: RefusalCode, output: inout Output) {
    guard hasSession else { return }
    if phase == .exchanging, code == .upstreamClosed, exchange.mayRetry {
      retry(output: &output)
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

  /// `renewCredential` has brought another value: the request goes out once more, with that.
  /// - Parameter rest: what came behind the head of the answer that is held back.
  package mutating func credentialRenewed(rest: [UInt8] = [], output: inout Output) {
    guard phase == .exchanging, exchange.isHeld else { return }
    let isReusable = exchange.keepsConnectionReusable(rest)
    exchange.beginRetry()
    phase = .awaitingUpstream
    // Another value goes out on a new session: one that was idle could prove stale, and there is no third time.
    output.actions.formUnion(isReusable ? [.releaseUpstream, .openUpstream] : [.dropUpstream, .openFreshUpstream])
  }

  /// The renewal has brought no token: the answer that was kept goes on. What follows its head is to be offered again.
  package mutating func renewalRefused() {
    guard phase == .exchanging, exchange.isHeld else { return }
    exchange.authRetry.refuse()
  }

  // MARK: facts about time and configuration

  /// The upstream has been silent for a while behind bytes that are held back.
  package mutating func heldLongEnough(redaction: any Redaction, output: inout Output) {
    guard hasSession, phase == .exchanging || phase == .upgraded else { return }
    let nothing: [UInt8] = []
    exchange.releaseHeld(nothing.span, redaction, output: &output)
  }

  package mutating func deadlinePassed(output: inout Output) {
    switch deadline {
    case .idle, .linger: close(output: &output)
    case .head:
      if headProgress == .begun {
        refuseHead(.plain(.requestTimeout), timeout: .clientHead, output: &output)
      } else {
        close(output: &output)
      }
    case .responseHead:
      exchange.record.timeout = .responseHead
      upstreamFailed(.upstreamTimeout, output: &output)
    case .upgraded:
      exchange.record.timeout = .upgraded
      upstreamFailed(.upstreamTimeout, output: &output)
    case .silence:
      exchange.record.timeout = .bodySilence
      abort(.plain(exchange.isRequestComplete ? .upstreamTimeout : .requestTimeout), output: &output)
    case .none: break
    }
  }

  /// The client sends, but too little for the time that it takes (T54).
  package mutating func requestBodyTooSlow(output: inout Output) {
    guard awaitsRequestBody else { return }
    exchange.record.timeout = .clientBodyRate
    abort(.plain(.requestTimeout), output: &output)
  }

  /// The connector's time is up, or the total time.
  package mutating func totalDeadlinePassed(output: inout Output) {
    guard phase == .awaitingUpstream || phase == .exchanging else { return }
    exchange.record.timeout = .total
    abort(.plain(.upstreamTimeout), output: &output)
  }

  /// A request that was not authorised yet is decided anew; one that was goes on. The shell drops the session it was opening.
  package mutating func configurationChanged(_ snapshot: Snapshot, output: inout Output) {
    guard phase == .awaitingUpstream else { return }
    let before = exchange.askedPlace
    decide(snapshot: snapshot, output: &output)
    if let before, exchange.askedPlace.map({ $0 != before }) ?? true { exchange.authRetry.isElsewhere = true }
  }

  /// Whether a running exchange would still be allowed, to the same place with the same credential.
  package func isStillAllowed(by snapshot: Snapshot) -> Bool {
    !hasSession || exchange.isStillAllowed(by: snapshot, at: arrival)
  }

  /// Its time of grace is over.
  package mutating func revoked(output: inout Output) {
    guard hasSession else { return }
    exchange.record.isAborted = true
    if exchange.record.status == 0 { exchange.record.status = 499 }
    output.discardRequest()
    output.actions.formUnion([breakingOff, .record, .reset])
    phase = .closed
  }

  /// The credential of the exchange was logged out (T46): a client that waits for it is told so, or that has no answer yet;
  /// what has begun is cut.
  package mutating func loggedOut(output: inout Output) {
    switch phase {
    case .awaitingUpstream:
      let wasSent = exchange.record.isRetried || exchange.authRetry.isUnderWay
      abort(.plain(wasSent ? .loggedOut : .loginRequired), output: &output)
    case .exchanging: abort(.plain(.loggedOut), output: &output)
    case .upgraded: revoked(output: &output)
    case .awaitingHead, .lingering, .closed: break
    }
  }

  /// The daemon ends now: a client with nothing at an upstream yet is told so, what runs is cut.
  package mutating func stopped(output: inout Output) {
    switch phase {
    case .awaitingHead: if headProgress == .begun { refuseHead(.plain(.draining), output: &output) }
    case .awaitingUpstream: abort(.plain(.draining), output: &output)
    case .exchanging, .upgraded: revoked(output: &output)
    case .lingering, .closed: break
    }
  }

  /// A reload has removed the connection's listener. A request without a session is refused: no other listener may decide it. One with
  /// a session goes on, and is the connection's last.
  package mutating func listenerRemoved(output: inout Output) {
    isDraining = true
    switch phase {
    case .awaitingHead:
      if headProgress == .begun {
        refuseHead(.plain(.listenerRemoved), output: &output)
      } else {
        close(output: &output)
      }
    case .awaitingUpstream: abort(.plain(.listenerRemoved), output: &output)
    case .exchanging, .upgraded, .lingering, .closed: break
    }
  }

  /// No request after this one.
  package mutating func drain(output: inout Output) {
    isDraining = true
    if phase == .awaitingHead, headProgress != .begun { close(output: &output) }
  }
}
