// Called by `RequestRun`, with one function for each event.
// Calls `Relay` and `Exchange`.

package import HTTP1
package import Policy

/// The state machine of one request, from the first byte of its head to the last byte of its response.
///
/// `RequestRun` calls one function for each event, which writes the resulting actions to `Output`. The machine passes bytes
/// to the `Relay`, and decides from the result whether the connections are kept.
package struct RequestMachine: ~Copyable {
  package enum Phase: Sendable, Equatable {
    /// Before the request head, or within it.
    case awaitingHead
    /// The request was allowed, and a connection to the upstream was requested.
    case awaitingUpstream
    /// The upstream failed, and the request is sent again later. There is no connection to the upstream.
    case awaitingRetry
    /// A connection to the upstream carries the request and its response.
    case exchanging
    /// The upstream has switched protocols. Bytes pass in both directions.
    case upgraded
    /// The exchange is complete or aborted. The actions say whether the client's connection serves another request.
    case ended

    /// Whether the request has a connection to the upstream.
    package var hasUpstream: Bool {
      switch self {
      case .exchanging, .upgraded: true
      case .awaitingHead, .awaitingUpstream, .awaitingRetry, .ended: false
      }
    }

    /// Whether the request was accepted, and its response is not complete.
    package var isRunning: Bool {
      switch self {
      case .awaitingUpstream, .awaitingRetry, .exchanging: true
      case .awaitingHead, .upgraded, .ended: false
      }
    }
  }

  package internal(set) var phase = Phase.awaitingHead
  package var relay: Relay
  var connectionState = ConnectionState()

  package init(limits: HeadLimits) { relay = Relay(limits: limits) }

  /// Overwrites the buffers with zeros, and keeps them for another request.
  package mutating func renew() {
    phase = .awaitingHead
    relay.renew()
  }

  /// What the request must know of the connections that carry it.
  struct ConnectionState {
    var arrival = Arrival()
    /// Whether this is the first request of the client's connection.
    var isFirst = true
    /// Whether the client's connection ends after this request.
    var isDraining = false
    /// Whether the client sends no more bytes.
    var clientHasEnded = false
    /// Whether the upstream of an upgraded connection sends no more bytes.
    var upstreamHasEnded = false
  }

  /// Begins to serve a request. The machine must be new or renewed.
  /// - Parameter isFirst: whether this is the first request of its connection.
  package mutating func begin(
    _ arrival: Arrival, isFirst: Bool, over applicationProtocol: ApplicationProtocol = .http1
  ) {
    connectionState = ConnectionState(arrival: arrival, isFirst: isFirst)
    relay.clientEdge.begin(over: applicationProtocol, isLocalSocket: arrival.isLocalSocket)
    relay.exchange.record.clientProtocol = applicationProtocol
  }

  // MARK: what the run reads between events
  // `mutating`, so that the machine is passed by its address, not copied.

  /// Whether to stop reading from the client while received bytes are unprocessed.
  package var pausesReadingWhenBuffered: Bool {
    mutating get {
      switch phase {
      case .awaitingHead, .upgraded, .ended: false
      case .awaitingUpstream: !relay.exchange.form.isUnderWay
      case .awaitingRetry: true
      case .exchanging: relay.exchange.isRequestComplete
      }
    }
  }

  package var deadline: Deadline {
    mutating get {
      switch phase {
      case .awaitingHead: .head
      case .awaitingUpstream: relay.exchange.form.isUnderWay ? .silence : .none
      case .awaitingRetry: .retry
      case .ended: .none
      case .exchanging: relay.exchange.deadline
      // Half of the connection has ended. The other half gets the same time as a body.
      case .upgraded: connectionState.clientHasEnded || connectionState.upstreamHasEnded ? .silence : .upgraded
      }
    }
  }

  /// Whether the client must act next: its request is incomplete, and no response has begun. `false` for a gRPC call, whose client
  /// may wait for the server.
  package var awaitsRequestBody: Bool {
    mutating get {
      !relay.exchange.isRequestComplete && !relay.exchange.isGRPC
        && (phase == .exchanging || relay.exchange.form.isUnderWay)
        && !relay.exchange.hasResponded
    }
  }

  // MARK: events from the client

  /// Receives what an HTTP/2 connection has read on the request's stream. Afterwards, call `receivedFromClient`.
  package mutating func receivedMessageFromClient(_ message: StreamMessage) { relay.clientEdge.receive(message) }

  /// Handles an HTTP/2 request whose head was refused, and whose stream was reset. No response can reach the client.
  package mutating func headRefused(_ error: MessageError, output: inout Output) {
    refuseHead(.malformed(error.reason), fault: error.fault, output: &output)
  }

  /// Receives client bytes from `position` on. Consumes the bytes that can be used now, and advances `position`.
  package mutating func receivedFromClient(
    _ input: Span<UInt8>, position: inout Int, snapshot: Snapshot, output: inout Output
  ) {
    switch phase {
    case .awaitingHead: readHead(input, position: &position, snapshot: snapshot, output: &output)
    case .awaitingUpstream:
      guard relay.exchange.form.isUnderWay else { return }
      if let refusal = relay.gatherForm(input, position: &position) {
        abort(refusal, output: &output)
      } else if relay.exchange.isRequestComplete {
        output.actions.insert(.openUpstream)
      }
    case .awaitingRetry: break
    case .exchanging:
      if let refusal = relay.forwardBody(input, position: &position, output: &output) {
        abort(refusal, output: &output)
      }
    case .upgraded: carryUp(input, position: &position, output: &output)
    case .ended: position = input.count
    }
  }

  /// Handles the client's half-close. Call this after `receivedFromClient` got all of the client's bytes.
  package mutating func clientEnded(output: inout Output) {
    connectionState.clientHasEnded = true
    switch phase {
    case .awaitingHead: close(output: &output)
    // The rest of the request may wait for the connection. `upstreamReady` checks this.
    case .awaitingUpstream: if relay.exchange.form.isUnderWay { clientGone(output: &output) }
    // The upstream would process a request whose response may reach no one.
    case .awaitingRetry: clientGone(output: &output)
    case .exchanging: if !relay.exchange.isRequestComplete { clientGone(output: &output) }
    case .upgraded: endHalf(.shutdownUpstream, output: &output)
    case .ended: break
    }
  }

  /// Handles a client that has sent everything and no longer reads.
  package mutating func clientClosed(output: inout Output) {
    if phase == .upgraded { endUpgraded(output: &output) } else { clientGone(output: &output) }
  }

  /// Handles a broken client connection. No response can reach the client.
  package mutating func clientGone(output: inout Output) {
    switch phase {
    case .awaitingHead: close(output: &output)
    case .awaitingUpstream, .awaitingRetry, .exchanging, .upgraded:
      relay.exchange.record.isAborted = true
      if relay.exchange.record.status == 0 { relay.exchange.record.status = 499 }
      output.discardRequest()
      output.actions.formUnion([abortAction, .record])
      close(output: &output)
    case .ended: break
    }
  }

  // MARK: the head of the request

  private mutating func readHead(
    _ input: Span<UInt8>, position: inout Int, snapshot: Snapshot, output: inout Output
  ) {
    guard position < input.count || relay.clientEdge.isHTTP2 else { return }
    if !relay.clientEdge.hasBegun {
      relay.clientEdge.beginHead(snapshot.headLimits)
      // Set again when the request line is read.
      relay.exchange.head.method = relay.clientEdge.isHTTP2Head ? .head : .other
      if connectionState.isFirst, !relay.clientEdge.isHTTP2, let refusal = refusalOfCaller(by: snapshot) {
        // A response to HEAD has no body. Nothing else of the request matters.
        let start = input.extracting(position...).extracting(first: 5)
        if start.count == 5, start[4] == UInt8(ascii: " ") {
          relay.exchange.head.method = Method(start.extracting(first: 4))
        }
        position = input.count
        return refuseHead(.policy(refusal), output: &output)
      }
    }
    do throws(MessageError) {
      let isWhole = try relay.clientEdge.readHead(
        input, position: &position, into: &relay.exchange.head, text: &output.headText)
      guard isWhole else { return }
      relay.exchange.headEnded()
      if relay.clientEdge.isHTTP2 { relay.exchange.recognizeGRPC() }
      decide(snapshot: snapshot, output: &output)
    } catch {
      position = input.count
      // Without this, a caller that is not admitted could send one malformed head after the other.
      if relay.clientEdge.isHTTP2, let refusal = refusalOfCaller(by: snapshot) {
        return refuseHead(.policy(refusal), output: &output)
      }
      refuseHead(.malformed(error.reason), fault: error.fault, output: &output)
    }
  }

  /// Returns the refusal that every request of this caller gets. `nil` if the decision depends on the request.
  private func refusalOfCaller(by snapshot: Snapshot) -> PolicyRefusal? {
    guard let listener = snapshot.index(of: connectionState.arrival.listener) else { return nil }
    return snapshot.gate(at: listener, isLocalSocket: connectionState.arrival.isLocalSocket).refusal(
      of: connectionState.arrival.caller)
  }

  /// Refuses a request whose head was never complete.
  @inline(never)
  mutating func refuseHead(
    _ refusal: Refusal, fault: MessageFault = MessageFault(), timeout: RequestTimeout? = nil, output: inout Output
  ) {
    relay.exchange.discardHead()
    relay.exchange.record.caller = connectionState.arrival.caller
    relay.exchange.record.fault = fault
    relay.exchange.record.timeout = timeout
    refuse(refusal, closes: true, output: &output)
  }

  mutating func decide(snapshot: Snapshot, output: inout Output) {
    if let refusal = relay.exchange.decide(by: snapshot, at: connectionState.arrival) {
      // Close if the client mistakes bearerd for another server, or if the caller was not admitted. Also close if the
      // listener was removed, because it cannot decide another request.
      let isMisdirected = refusal == .policy(.authorityMismatch) || refusal == .plain(.listenerRemoved)
      let isUnadmitted =
        refusal.isOfUnadmittedCaller
        || relay.exchange.decision.admitted == nil && connectionState.arrival.caller?.uid == nil
      refuse(refusal, closes: isMisdirected || isUnadmitted || !relay.exchange.isRequestComplete, output: &output)
    } else if let localResponse = relay.exchange.decision.localResponse {
      switch localResponse {
      case .scrape: prepareLocal(.sendMetrics, output: &output)
      case .discovery: prepareLocal([.sendDiscovery, .record], output: &output)
      case .preflight, .finalRecipient: respondToOptions(output: &output)
      }
    } else if relay.exchange.form.isUnderWay || snapshot.signsForms, relay.exchange.awaitsForm {
      phase = .awaitingUpstream
      relay.beginForm(output: &output)
    } else {
      awaitUpstream(output: &output)
    }
  }

  mutating func awaitUpstream(output: inout Output) {
    phase = .awaitingUpstream
    output.actions.insert(relay.exchange.mustOpenFresh ? .openFreshUpstream : .openUpstream)
  }
}
