package import HTTP1
package import Policy

/// One client connection: requests one after the other, each decided, forwarded and answered.
///
/// The entrance is one function per fact (`receivedFromClient`, `upstreamReady`, `receivedFromUpstream`, …). Each
/// switches over the phase and says in `Output` what is to be done. No clock, no socket, no secret.
@usableFromInline
package struct ClientConnection: ~Copyable, Sendable {
  @usableFromInline
  package enum Phase: Sendable, Equatable {
    /// Between requests, or within a head.
    case awaitingHead
    /// Decided; a session was asked for.
    case awaitingUpstream
    /// A session carries the request and its answer.
    case exchanging
    /// The upstream switched protocols: both sides say what they want.
    case upgraded
    /// Answered; what the client still sends is discarded until it closes.
    case lingering
    case closed
  }

  /// How much has come of the head that is awaited.
  enum HeadProgress {
    /// The first one of the connection: nothing was ever asked here.
    case first
    /// Another one.
    case next
    /// Bytes of it have come.
    case begun
  }

  package internal(set) var phase = Phase.awaitingHead
  /// The exchange under way; between requests, the last one.
  package internal(set) var exchange: Exchange
  private(set) var arrival: Arrival
  /// After this exchange, or at once when idle, the connection ends.
  package internal(set) var isDraining = false

  var clientHasEnded = false
  /// Upgraded only: it will send nothing more.
  var upstreamHasEnded = false
  private(set) var headProgress = HeadProgress.first
  private var limits: HeadLimits
  private var reader: HeadReader

  package init(listener: ListenerID?, caller: Caller?, limits: HeadLimits, isLocalSocket: Bool = false) {
    arrival = Arrival(listener: listener, caller: caller, isLocalSocket: isLocalSocket)
    self.limits = limits
    reader = HeadReader(limits: limits)
    exchange = Exchange(limits: limits)
  }

  /// Goes on with a connection that is between requests: another one than so far, mostly. To be called on one that is new, or
  /// that has forgotten.
  /// - Parameter localEnd: what `Host` may name besides the listener's names.
  package mutating func serve(
    listener: ListenerID, caller: Caller?, isLocalSocket: Bool, localEnd: LocalEnd? = nil, isFresh: Bool
  ) {
    arrival = Arrival(listener: listener, caller: caller, isLocalSocket: isLocalSocket, localEnd: localEnd)
    headProgress = isFresh ? .first : .next
  }

  /// Nothing stays of the connection that it served, nor of what that one asked, but storage.
  package mutating func forget() {
    if headProgress == .begun { reader = HeadReader(limits: limits) }
    exchange.forget()
    phase = .awaitingHead
    arrival = Arrival(listener: nil, caller: nil)
    isDraining = false
    clientHasEnded = false
    upstreamHasEnded = false
    headProgress = .first
  }

  /// Whether the client is to be read, be it only to hear that it is gone.
  @inline(__always) package var wantsClientBytes: Bool {
    switch phase {
    case .awaitingHead, .awaitingUpstream, .exchanging, .upgraded, .lingering: !clientHasEnded
    case .closed: false
    }
  }

  /// Whether bytes that are held already wait for something else than more of them: while they do, reading on would only
  /// pile them up. Of a head or a body that is not whole yet more is needed, whatever is held.
  @inline(__always) package var holdsClientBytes: Bool {
    switch phase {
    case .awaitingHead, .upgraded, .lingering, .closed: false
    case .awaitingUpstream: !exchange.form.isUnderWay
    case .exchanging: exchange.isRequestComplete
    }
  }

  @inline(__always) package var deadline: Deadline {
    switch phase {
    case .awaitingHead: headProgress == .next ? .idle : .head
    case .awaitingUpstream: exchange.form.isUnderWay ? .silence : .none
    case .closed: .none
    case .exchanging: exchange.deadline
    // Half of it is over: the rest has as long as a body would.
    case .upgraded: clientHasEnded || upstreamHasEnded ? .silence : .upgraded
    case .lingering: .linger
    }
  }

  /// A request was authorised and its exchange is not over.
  package var hasSession: Bool {
    switch phase {
    case .exchanging, .upgraded: true
    case .awaitingHead, .awaitingUpstream, .lingering, .closed: false
    }
  }

  /// Whether the next move is the client's: its request is not whole, and no answer has begun.
  @inline(__always) package var awaitsRequestBody: Bool {
    !exchange.isRequestComplete && (phase == .exchanging || exchange.form.isUnderWay) && !exchange.hasAnswered
  }

  /// Whether the upstream's answer has begun, and was fit to be passed on.
  @inline(__always) package var hasResponseHead: Bool {
    guard exchange.record.status != 0, case .none = exchange.record.refusal else { return false }
    return true
  }

  /// The exchange where it is, for those outside: to be looked at there. Lent without the right to change it, it would be copied.
  package mutating func withExchange(_ body: (inout Exchange) -> Void) { body(&exchange) }

  // MARK: facts about the client

  /// Bytes of the client: `input` from `position` on. Takes what it can use now and moves `position`; the rest comes again.
  package mutating func receivedFromClient(
    _ input: Span<UInt8>, position: inout Int, snapshot: Snapshot, output: inout Output
  ) {
    switch phase {
    case .awaitingHead: readHead(input, position: &position, snapshot: snapshot, output: &output)
    case .awaitingUpstream:
      if exchange.form.isUnderWay { gatherForm(input, position: &position, output: &output) }
    case .exchanging:
      if let refusal = exchange.receiveRequestBody(input, position: &position, output: &output) {
        abort(refusal, output: &output)
      }
    case .upgraded: carryUp(input, position: &position, output: &output)
    case .lingering, .closed: position = input.count
    }
  }

  /// The client will send nothing more, but still reads (a half-close). All that it sent has been offered.
  package mutating func clientEnded(output: inout Output) {
    clientHasEnded = true
    switch phase {
    case .awaitingHead, .lingering: close(output: &output)
    // The rest of the request may be waiting for the session: `upstreamReady` sees.
    case .awaitingUpstream: if exchange.form.isUnderWay { clientGone(output: &output) }
    case .exchanging:
      if !exchange.isRequestComplete { clientGone(output: &output) }
    case .upgraded: endHalf(.shutdownUpstream, output: &output)
    case .closed: break
    }
  }

  /// The client has sent everything and does not read any more.
  package mutating func clientClosed(output: inout Output) {
    if phase == .upgraded { endUpgraded(output: &output) } else { clientGone(output: &output) }
  }

  /// The client broke off, or cannot be written to: no answer can reach it.
  package mutating func clientGone(output: inout Output) {
    switch phase {
    case .awaitingHead, .lingering: close(output: &output)
    case .awaitingUpstream, .exchanging, .upgraded:
      exchange.record.isAborted = true
      if exchange.record.status == 0 { exchange.record.status = 499 }
      output.discardRequest()
      output.actions.formUnion([breakingOff, .record])
      close(output: &output)
    case .closed: break
    }
  }

  // MARK: a request begins

  private mutating func readHead(
    _ input: Span<UInt8>, position: inout Int, snapshot: Snapshot, output: inout Output
  ) {
    guard position < input.count else { return }
    if headProgress != .begun {
      let isFirst = headProgress == .first
      beginHead(snapshot)
      if isFirst, let refusal = refusalOfCaller(by: snapshot) {
        // An answer to HEAD has no body. Nothing else of the request matters.
        let start = input.extracting(position...).extracting(first: 5)
        if start.count == 5, start[4] == UInt8(ascii: " ") { exchange.head.method = Method(start.extracting(first: 4)) }
        position = input.count
        return refuseHead(.policy(refusal), output: &output)
      }
    }
    do throws(MessageError) {
      guard let taken = try reader.readRequest(input.extracting(position...), into: &exchange.head) else { return }
      position += taken
      headProgress = .next
      exchange.reset()
      decide(snapshot: snapshot, output: &output)
    } catch {
      position = input.count
      refuseHead(.malformed(error.reason), fault: error.fault, output: &output)
    }
  }

  /// Why nothing that this caller could ask would be answered otherwise; nil: its request decides.
  private func refusalOfCaller(by snapshot: Snapshot) -> PolicyRefusal? {
    guard let listener = snapshot.index(of: arrival.listener) else { return nil }
    return snapshot.gate(at: listener, isLocalSocket: arrival.isLocalSocket).refusal(of: arrival.caller)
  }

  private mutating func beginHead(_ snapshot: Snapshot) {
    headProgress = .begun
    // Known again as soon as the request line is: a refusal of this head must not take the last one's for it.
    exchange.head.method = .other
    if limits != snapshot.headLimits {
      limits = snapshot.headLimits
      reader = HeadReader(limits: limits)
    }
  }

  /// The head was never whole: nothing but the method is known of it.
  @inline(never)
  mutating func refuseHead(
    _ refusal: Refusal, fault: MessageFault = MessageFault(), timeout: RequestTimeout? = nil, output: inout Output
  ) {
    headProgress = .next
    // The reader stands within the head, or is done after an error.
    reader = HeadReader(limits: limits)
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
      // A client that takes us for another server shall not go on here, and a stranger shall not keep the connection.
      // Of a listener that is gone, no other request can be decided either.
      let isMisdirected = refusal == .policy(.authorityMismatch) || refusal == .plain(.listenerRemoved)
      let isStranger = refusal.isOfStranger || exchange.decision.admitted == nil && arrival.caller?.uid == nil
      refuse(refusal, closes: isMisdirected || isStranger || !exchange.isRequestComplete, output: &output)
    } else if let ownAnswer = exchange.decision.ownAnswer {
      switch ownAnswer {
      case .scrape: answerScrape(output: &output)
      case .preflight, .finalRecipient: answerOptions(output: &output)
      }
    } else if snapshot.signsForms, exchange.awaitsForm {
      phase = .awaitingUpstream
      beginForm(output: &output)
    } else {
      phase = .awaitingUpstream
      let isSecondTry = exchange.record.isRetried || exchange.authRetry.isUnderWay
      output.actions.insert(isSecondTry ? .openFreshUpstream : .openUpstream)
    }
  }
}
