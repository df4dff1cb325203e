package import HTTP1
package import Policy

/// The state machine of one client connection. It decides and forwards one request after the other.
///
/// Each event has a function, which writes the resulting actions to `Output`. The daemon calls it; it passes bytes to the
/// edges, and what they read to the `Exchange`.
@usableFromInline
package struct ClientConnection: ~Copyable, Sendable {
  @usableFromInline
  package enum Phase: Sendable, Equatable {
    /// Between requests, or within a request head.
    case awaitingHead
    /// The request was allowed, and a session was requested.
    case awaitingUpstream
    /// The upstream failed, and the request is sent again later. There is no session.
    case awaitingRetry
    /// A session carries the request and its response.
    case exchanging
    /// The upstream has switched protocols. Bytes pass in both directions.
    case upgraded
    /// The last response was sent. Further bytes of the client are discarded.
    case lingering
    case closed

    @inlinable @inline(__always) var hasSession: Bool {
      switch self {
      case .exchanging, .upgraded: true
      case .awaitingHead, .awaitingUpstream, .awaitingRetry, .lingering, .closed: false
      }
    }
  }

  package internal(set) var phase = Phase.awaitingHead
  /// The current exchange. Between requests, the last one.
  package internal(set) var exchange = Exchange()
  var client: HTTP1ClientEdge
  var upstream: HTTP1UpstreamEdge
  private(set) var arrival: Arrival
  /// `true` if the connection ends after the current exchange, or immediately when idle.
  package internal(set) var isDraining = false

  var clientHasEnded = false
  /// `true` if the upstream of an upgraded connection will send nothing more.
  var upstreamHasEnded = false

  package init(listener: ListenerID?, caller: Caller?, limits: HeadLimits, isLocalSocket: Bool = false) {
    arrival = Arrival(listener: listener, caller: caller, isLocalSocket: isLocalSocket)
    client = HTTP1ClientEdge(limits: limits)
    upstream = HTTP1UpstreamEdge(limits)
  }

  /// Begins to serve a connection that is between requests. The state machine must be new, or reset with `forget`.
  /// - Parameters:
  ///   - localEnd: an address that `Host` may name in addition to the listener's names.
  ///   - isFresh: `true` if the connection has not received a request yet.
  package mutating func serve(
    listener: ListenerID, caller: Caller?, isLocalSocket: Bool, localEnd: LocalEnd? = nil, isFresh: Bool
  ) {
    arrival = Arrival(listener: listener, caller: caller, isLocalSocket: isLocalSocket, localEnd: localEnd)
    client.serve(isFresh: isFresh)
  }

  /// Clears all data of the connection, and keeps the allocated storage.
  package mutating func forget() {
    client.forget()
    upstream.forget()
    exchange.forget()
    phase = .awaitingHead
    arrival = Arrival(listener: nil, caller: nil)
    isDraining = false
    clientHasEnded = false
    upstreamHasEnded = false
  }

  @inline(__always) package var wantsClientBytes: Bool {
    switch phase {
    case .awaitingHead, .awaitingUpstream, .awaitingRetry, .exchanging, .upgraded, .lingering: !clientHasEnded
    case .closed: false
    }
  }

  /// Whether to stop reading from the client while received bytes are unprocessed.
  @inline(__always) package var pausesReadingWhenBuffered: Bool {
    switch phase {
    case .awaitingHead, .upgraded, .lingering, .closed: false
    case .awaitingUpstream: !exchange.form.isUnderWay
    case .awaitingRetry: true
    case .exchanging: exchange.isRequestComplete
    }
  }

  @inline(__always) package var deadline: Deadline {
    switch phase {
    case .awaitingHead: client.headProgress == .next ? .idle : .head
    case .awaitingUpstream: exchange.form.isUnderWay ? .silence : .none
    case .awaitingRetry: .retry
    case .closed: .none
    case .exchanging: exchange.deadline
    // Half of the connection has ended. The other half gets the same time as a body.
    case .upgraded: clientHasEnded || upstreamHasEnded ? .silence : .upgraded
    case .lingering: .linger
    }
  }

  package var hasSession: Bool { phase.hasSession }

  /// Whether the client must act next: its request is incomplete, and no response has begun.
  @inline(__always) package var awaitsRequestBody: Bool {
    !exchange.isRequestComplete && (phase == .exchanging || exchange.form.isUnderWay) && !exchange.hasResponded
  }

  /// Whether the upstream's response has begun and is being forwarded.
  @inline(__always) package var hasResponseHead: Bool {
    guard exchange.record.status != 0, case .none = exchange.record.refusal else { return false }
    return true
  }

  package mutating func withExchange(_ body: (inout Exchange) -> Void) { body(&exchange) }

  // MARK: events from the client

  /// Receives client bytes from `position` on. Consumes the bytes that can be used now, and advances `position`.
  package mutating func receivedFromClient(
    _ input: Span<UInt8>, position: inout Int, snapshot: Snapshot, output: inout Output
  ) {
    switch phase {
    case .awaitingHead: readHead(input, position: &position, snapshot: snapshot, output: &output)
    case .awaitingUpstream:
      if exchange.form.isUnderWay { gatherForm(input, position: &position, output: &output) }
    case .awaitingRetry: break
    case .exchanging:
      if let refusal = forwardBody(input, position: &position, output: &output) {
        abort(refusal, output: &output)
      }
    case .upgraded: carryUp(input, position: &position, output: &output)
    case .lingering, .closed: position = input.count
    }
  }

  /// Handles the client's half-close. Call this after `receivedFromClient` got all of the client's bytes.
  package mutating func clientEnded(output: inout Output) {
    clientHasEnded = true
    switch phase {
    case .awaitingHead, .lingering: close(output: &output)
    // The rest of the request may wait for the session. `upstreamReady` checks this.
    case .awaitingUpstream: if exchange.form.isUnderWay { clientGone(output: &output) }
    // The upstream would process a request whose response may reach no one.
    case .awaitingRetry: clientGone(output: &output)
    case .exchanging:
      if !exchange.isRequestComplete { clientGone(output: &output) }
    case .upgraded: endHalf(.shutdownUpstream, output: &output)
    case .closed: break
    }
  }

  /// Handles a client that has sent everything and no longer reads.
  package mutating func clientClosed(output: inout Output) {
    if phase == .upgraded { endUpgraded(output: &output) } else { clientGone(output: &output) }
  }

  /// Handles a broken client connection. No response can reach the client.
  package mutating func clientGone(output: inout Output) {
    switch phase {
    case .awaitingHead, .lingering: close(output: &output)
    case .awaitingUpstream, .awaitingRetry, .exchanging, .upgraded:
      exchange.record.isAborted = true
      if exchange.record.status == 0 { exchange.record.status = 499 }
      output.discardRequest()
      output.actions.formUnion([abortAction, .record])
      close(output: &output)
    case .closed: break
    }
  }

  /// Forwards body bytes of the client. Returns `nil`, or a refusal if the framing is invalid.
  mutating func forwardBody(_ input: Span<UInt8>, position: inout Int, output: inout Output) -> Refusal? {
    do throws(MessageError) {
      while true {
        switch try client.readBody(input, position: &position) {
        case .needsMore: return nil
        case .data(let range):
          exchange.receivedBody(input.extracting(range))
          upstream.writeBody(input, range, to: &output)
        case .end:
          if !exchange.isRequestComplete { exchange.requestEnded(client.takeTrailers()) }
          if upstream.sendsChunks {
            upstream.writeEnd(exchange.forwardedTrailers, of: exchange.requestTrailers.bytes, to: &output)
          }
          return nil
        }
      }
    } catch {
      exchange.record.fault = error.fault
      return .malformed(error.reason)
    }
  }

  // MARK: a request begins

  private mutating func readHead(
    _ input: Span<UInt8>, position: inout Int, snapshot: Snapshot, output: inout Output
  ) {
    guard position < input.count else { return }
    if client.headProgress != .begun {
      let isFirst = client.headProgress == .first
      // Set again when the request line is read: a refusal of this head must not use the last head's method.
      exchange.head.method = .other
      client.beginHead(snapshot.headLimits)
      if isFirst, let refusal = refusalOfCaller(by: snapshot) {
        // A response to HEAD has no body. Nothing else of the request matters.
        let start = input.extracting(position...).extracting(first: 5)
        if start.count == 5, start[4] == UInt8(ascii: " ") { exchange.head.method = Method(start.extracting(first: 4)) }
        position = input.count
        return refuseHead(.policy(refusal), output: &output)
      }
    }
    do throws(MessageError) {
      guard try client.readHead(input, position: &position, into: &exchange.head) else { return }
      exchange.reset()
      decide(snapshot: snapshot, output: &output)
    } catch {
      position = input.count
      refuseHead(.malformed(error.reason), fault: error.fault, output: &output)
    }
  }

  /// Returns the refusal that every request of this caller gets. `nil` if the decision depends on the request.
  private func refusalOfCaller(by snapshot: Snapshot) -> PolicyRefusal? {
    guard let listener = snapshot.index(of: arrival.listener) else { return nil }
    return snapshot.gate(at: listener, isLocalSocket: arrival.isLocalSocket).refusal(of: arrival.caller)
  }

  /// Refuses a request whose head was never complete.
  @inline(never)
  mutating func refuseHead(
    _ refusal: Refusal, fault: MessageFault = MessageFault(), timeout: RequestTimeout? = nil, output: inout Output
  ) {
    client.discardHead()
    exchange.discardHead()
    exchange.reset()
    exchange.record.caller = arrival.caller
    exchange.record.fault = fault
    exchange.record.timeout = timeout
    refuse(refusal, closes: true, output: &output)
  }

  mutating func decide(snapshot: Snapshot, output: inout Output) {
    exchange.record.caller = arrival.caller
    if let refusal = exchange.decide(by: snapshot, at: arrival) {
      // Close if the client mistakes bearerd for another server, or if the caller was not admitted. Also close if the
      // listener was removed, because it cannot decide another request.
      let isMisdirected = refusal == .policy(.authorityMismatch) || refusal == .plain(.listenerRemoved)
      let isUnadmitted = refusal.isOfUnadmittedCaller || exchange.decision.admitted == nil && arrival.caller?.uid == nil
      refuse(refusal, closes: isMisdirected || isUnadmitted || !exchange.isRequestComplete, output: &output)
    } else if let localResponse = exchange.decision.localResponse {
      switch localResponse {
      case .scrape: prepareLocal(.sendMetrics, output: &output)
      case .discovery: prepareLocal([.sendDiscovery, .record], output: &output)
      case .preflight, .finalRecipient: respondToOptions(output: &output)
      }
    } else if snapshot.signsForms, exchange.awaitsForm {
      phase = .awaitingUpstream
      beginForm(output: &output)
    } else {
      phase = .awaitingUpstream
      output.actions.insert(exchange.mustOpenFresh ? .openFreshUpstream : .openUpstream)
    }
  }
}
