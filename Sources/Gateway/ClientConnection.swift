package import HTTP1
package import Policy

/// One client connection: requests one after the other, each decided, forwarded and answered.
///
/// The entrance is one function per fact (`receivedFromClient`, `upstreamReady`, `receivedFromUpstream`, …). Each
/// switches over the phase and says in `Output` what is to be done. No clock, no socket, no secret.
package struct ClientConnection: Sendable {
  package enum Phase: Sendable, Equatable {
    /// Between requests, or within a head.
    case awaitingHead
    /// Decided; a session was asked for.
    case awaitingUpstream
    /// A session carries the request and its answer.
    case exchanging
    /// Answered; what the client still sends is discarded until it closes.
    case lingering
    case closed
  }

  package private(set) var phase = Phase.awaitingHead
  /// The exchange under way; between requests, the last one.
  package internal(set) var exchange: Exchange
  /// Index of the listener in the snapshot that is current.
  package var listener: Int
  private let caller: Caller?
  private var reader: HeadReader
  private var hasBegunHead = false
  private var clientHasEnded = false
  /// After this exchange, or at once when idle, the connection ends.
  package private(set) var isDraining = false

  package init(listener: Int, caller: Caller?, limits: HeadLimits) {
    self.listener = listener
    self.caller = caller
    reader = HeadReader(limits: limits)
    exchange = Exchange(limits: limits)
  }

  /// Whether more bytes of the client would be of use now.
  package var wantsClientBytes: Bool {
    switch phase {
    case .awaitingHead, .lingering: !clientHasEnded
    case .awaitingUpstream, .closed: false
    case .exchanging: !clientHasEnded
    }
  }

  package var deadline: Deadline {
    switch phase {
    case .awaitingHead: hasBegunHead ? .head : .idle
    case .awaitingUpstream, .closed: .none
    case .exchanging: exchange.deadline
    case .lingering: .linger
    }
  }

  // MARK: facts about the client

  /// Bytes of the client: `input` from `position` on. Takes what it can use now and moves `position`; the rest comes again.
  package mutating func receivedFromClient(
    _ input: Span<UInt8>, position: inout Int, snapshot: Snapshot, output: inout Output
  ) {
    switch phase {
    case .awaitingHead: readHead(input, position: &position, snapshot: snapshot, output: &output)
    case .awaitingUpstream: break
    case .exchanging:
      if let refusal = exchange.takeRequestBody(input, position: &position, output: &output) {
        abort(refusal, output: &output)
      }
    case .lingering, .closed: position = input.count
    }
  }

  /// The client will send nothing more, but still reads (a half-close).
  package mutating func clientEnded(output: inout Output) {
    clientHasEnded = true
    switch phase {
    case .awaitingHead, .lingering: close(output: &output)
    case .awaitingUpstream, .exchanging:
      if !exchange.isRequestComplete { clientGone(output: &output) }
    case .closed: break
    }
  }

  /// The client is gone, or cannot be written to: nobody is left to answer.
  package mutating func clientGone(output: inout Output) {
    switch phase {
    case .awaitingHead, .lingering: close(output: &output)
    case .awaitingUpstream, .exchanging:
      exchange.record.isAborted = true
      if exchange.record.status == 0 { exchange.record.status = 499 }
      output.actions.formUnion([.dropUpstream, .record])
      close(output: &output)
    case .closed: break
    }
  }

  // MARK: facts about the upstream

  /// The session that `openUpstream` asked for is there.
  /// - Parameter input: bytes of the client that already wait, from `position` on: a body that fits goes out with the head.
  package mutating func upstreamReady(
    isReused: Bool, _ input: Span<UInt8>, position: inout Int, output: inout Output
  ) {
    guard phase == .awaitingUpstream else {
      output.actions.insert(.dropUpstream)
      return
    }
    phase = .exchanging
    exchange.begin(isReused: isReused, output: &output)
    if let refusal = exchange.takeRequestBody(input, position: &position, output: &output) {
      abort(refusal, output: &output)
    }
  }

  /// There will be no session, or the keyring said no: nothing was sent.
  package mutating func upstreamRefused(_ refusal: Refusal, output: inout Output) {
    guard phase == .awaitingUpstream || phase == .exchanging else { return }
    abort(refusal, output: &output)
  }

  /// Plaintext of the upstream, from `position` on.
  package mutating func receivedFromUpstream(
    _ input: Span<UInt8>, position: inout Int, output: inout Output
  ) {
    guard phase == .exchanging else {
      position = input.count
      output.actions.insert(.dropUpstream)
      return
    }
    exchange.closesClient = isDraining || clientHasEnded
    if let refusal = exchange.takeResponse(input, position: &position, output: &output) {
      abort(refusal, output: &output)
    } else if exchange.isResponseComplete {
      exchange.hasSurplus = position < input.count
      finish(output: &output)
    }
  }

  /// The session ended: `isClean` if the upstream said so (close_notify).
  package mutating func upstreamEnded(isClean: Bool, output: inout Output) {
    upstreamStopped(.upstreamClosed, isClean: isClean, output: &output)
  }

  /// The session broke, or its answer did not come in time.
  package mutating func upstreamFailed(_ refusal: Refusal, output: inout Output) {
    upstreamStopped(refusal, isClean: false, output: &output)
  }

  private mutating func upstreamStopped(_ refusal: Refusal, isClean: Bool, output: inout Output) {
    guard phase == .exchanging else { return }
    if isClean, exchange.endResponseAtClose(output: &output) {
      exchange.hasSurplus = true
      finish(output: &output)
    } else if refusal == .upstreamClosed, exchange.mayRetry {
      exchange.record.isRetried = true
      phase = .awaitingUpstream
      output.actions.formUnion([.dropUpstream, .openFreshUpstream])
    } else {
      abort(refusal, output: &output)
    }
  }

  // MARK: facts about time and configuration

  package mutating func deadlinePassed(output: inout Output) {
    switch deadline {
    case .idle, .linger: close(output: &output)
    case .head:
      exchange.reset()
      exchange.record.caller = caller
      refuse(.requestTimeout, closes: true, output: &output)
    case .responseHead: upstreamFailed(.upstreamTimeout, output: &output)
    case .silence:
      abort(exchange.isRequestComplete ? .upstreamTimeout : .requestTimeout, output: &output)
    case .none: break
    }
  }

  /// The connector's time is up, or the total time.
  package mutating func totalDeadlinePassed(output: inout Output) {
    guard phase == .awaitingUpstream || phase == .exchanging else { return }
    abort(.upstreamTimeout, output: &output)
  }

  /// A request that was not authorised yet is decided anew; one that was goes on. The shell drops the session it was opening.
  package mutating func configurationChanged(_ snapshot: Snapshot, output: inout Output) {
    guard phase == .awaitingUpstream else { return }
    decide(snapshot: snapshot, output: &output)
  }

  /// Whether a running exchange would still be allowed, to the same place with the same credential.
  package func isStillAllowed(by snapshot: Snapshot) -> Bool {
    phase != .exchanging || exchange.isStillAllowed(by: snapshot, listener: listener)
  }

  /// Its time of grace is over.
  package mutating func revoked(output: inout Output) {
    guard phase == .exchanging else { return }
    exchange.record.isAborted = true
    output.actions.formUnion([.dropUpstream, .record, .reset])
    phase = .closed
  }

  /// No request after this one.
  package mutating func drain(output: inout Output) {
    isDraining = true
    if phase == .awaitingHead, !hasBegunHead { close(output: &output) }
  }

  // MARK: a request begins

  private mutating func readHead(
    _ input: Span<UInt8>, position: inout Int, snapshot: Snapshot, output: inout Output
  ) {
    guard position < input.count else { return }
    do throws(MessageError) {
      guard let taken = try reader.readRequest(input.extracting(position...), into: &exchange.head) else {
        hasBegunHead = true
        return
      }
      position += taken
      hasBegunHead = false
      exchange.reset()
      exchange.record.caller = caller
      decide(snapshot: snapshot, output: &output)
    } catch {
      position = input.count
      exchange.reset()
      exchange.record.caller = caller
      refuse(.malformed(error.reason), closes: true, output: &output)
    }
  }

  private mutating func decide(snapshot: Snapshot, output: inout Output) {
    exchange.record.caller = caller
    if let refusal = exchange.decide(by: snapshot, listener: listener, caller: caller) {
      refuse(refusal, closes: !exchange.isRequestComplete, output: &output)
    } else {
      phase = .awaitingUpstream
      output.actions.insert(.openUpstream)
    }
  }

  // MARK: an exchange ends

  private mutating func finish(output: inout Output) {
    let keepsUpstream = exchange.leavesUpstreamReusable
    output.actions.insert(keepsUpstream ? .releaseUpstream : .dropUpstream)
    output.actions.insert(.record)
    // Either may have come after the answer's head had gone out.
    if exchange.answerClosesClient || clientHasEnded || isDraining {
      end(output: &output)
    } else {
      phase = .awaitingHead
    }
  }

  /// Answers with a refusal if nothing was answered yet, else breaks off so that the client can tell.
  private mutating func abort(_ refusal: Refusal, output: inout Output) {
    if exchange.hasAnswered {
      exchange.record.isAborted = true
      exchange.record.refusal = refusal
      output.actions.formUnion([.dropUpstream, .record, .reset])
      phase = .closed
    } else {
      output.upstreamHead.removeAll(keepingCapacity: true)
      output.toUpstream.removeAll(keepingCapacity: true)
      output.upstreamBody = 0..<0
      output.actions.subtract([.sendHead, .sendBody])
      output.actions.insert(.dropUpstream)
      refuse(refusal, closes: !exchange.isRequestComplete, output: &output)
    }
  }

  private mutating func refuse(_ refusal: Refusal, closes: Bool, output: inout Output) {
    let closes = closes || isDraining || clientHasEnded || !exchange.head.isKeepAlive
    exchange.refuse(refusal, closes: closes, output: &output)
    output.actions.insert(.record)
    if closes { end(output: &output) } else { phase = .awaitingHead }
  }

  /// The last answer is on its way: what the client still sends would turn it into a reset, so it is read and discarded.
  private mutating func end(output: inout Output) {
    if clientHasEnded {
      output.actions.insert(.close)
      phase = .closed
    } else {
      output.actions.insert(.linger)
      phase = .lingering
    }
  }

  private mutating func close(output: inout Output) {
    output.actions.insert(.close)
    phase = .closed
  }
}
