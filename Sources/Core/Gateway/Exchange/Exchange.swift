// Called by `RequestMachine` and `Relay`.
// Calls `Gate`, `CanonicalTarget` and `RuleSet` to decide, `RequestForwarding` to forward.

package import HTTP1
package import Policy

/// Decides and forwards one request, and forwards its response.
///
/// It knows messages, not the bytes of an HTTP version: the edges read and write those (`HTTP1ClientEdge`,
/// `UpstreamEdge`). The `Relay` calls it, and it calls `RuleSet`, `RequestForwarding` and `ResponseForwarding`.
package struct Exchange: ~Copyable {
  package var head = RequestHead()
  package private(set) var target = CanonicalTarget()
  package internal(set) var response = ResponseHead()

  package private(set) var decision = Decision()
  package var record = AccessRecord()

  var forwarding = RequestForwarding()
  /// Whether the request's body has ended.
  private(set) var isRequestComplete = true
  /// Whether the request is a gRPC call from a client over HTTP/2.
  package internal(set) var isGRPC = false
  /// The trailers of the request. Empty before the end of its body.
  private(set) var requestTrailers = Trailers()
  var authRetry = AuthRetry()
  var form = FormGathering()
  var session = SessionUse()

  var responseOptions = ConnectionOptions()
  var passage = ResponsePassage()

  @inline(__always) init() {}

  /// Prepares for another request. Overwrites the buffers with zeros, and keeps their memory.
  mutating func renew() {
    var fresh = Exchange()
    swap(&fresh.head, &head)
    swap(&fresh.target, &target)
    swap(&fresh.response, &response)
    self = fresh
    head.wipe()
    target.wipe()
    response.wipe()
  }

  // MARK: state for the machine and the run
  // A getter that the run calls for each request is `mutating`, so that the exchange is passed by its address, not copied.

  package var route: Route? { decision.route }
  package var snapshot: Snapshot? { decision.snapshot }
  /// The caller, including the client's name if the request has a client token.
  package var caller: Caller? { record.caller }

  /// Whether a response head was sent, or is being sent, to the client.
  var hasResponded: Bool { passage.hasResponded }
  /// Whether the head of the upstream's response has arrived, and the response is forwarded.
  package var isForwarding: Bool {
    mutating get {
      guard record.status != 0, case .none = record.refusal else { return false }
      return true
    }
  }
  var isResponseComplete: Bool { passage.phase == .done }
  var isUpgraded: Bool { passage.phase == .upgraded }
  var isDiscarded: Bool { passage.phase == .discarded }
  var isComplete: Bool { isRequestComplete && isResponseComplete }

  @inline(__always) var deadline: Deadline {
    switch passage.phase {
    // Both sides of a gRPC call may be silent for long, and the response may begin with its end.
    case .head: isGRPC ? .upgraded : isRequestComplete ? .responseHead : .silence
    case .awaitingRenewal, .discarded: .none
    case .inspectingBody, .body, .upgraded, .done: isGRPC ? .upgraded : .silence
    }
  }

  /// Whether the request and the response head allow another request on the connection.
  var mayServeAnother: Bool {
    // Servers behind the upstream may disagree about an upgrade.
    !passage.isEarly && response.isKeepAlive && forwarding.upgrade == nil && !forwarding.isLast
  }

  // MARK: deciding

  /// Records the end of the request's head.
  mutating func headEnded() {
    record.method = head.method
    isRequestComplete = head.bodyLength == .none || head.bodyLength == .length(0)
  }

  /// Clears the request's head, which is incomplete or malformed, except for its method.
  mutating func discardHead() {
    let method = head.method
    head = RequestHead()
    head.method = method
    head.isKeepAlive = false
    target = CanonicalTarget()
    headEnded()
  }

  /// Records the end of the request's body.
  @inline(__always)
  mutating func requestEnded(_ trailers: Trailers?) {
    isRequestComplete = true
    if let trailers { requestTrailers = trailers }
  }

  /// Decides the request. Returns `nil` if it is allowed.
  mutating func decide(by snapshot: Snapshot, at arrival: Arrival) -> Refusal? {
    var trace: [RuleVerdict]?
    return decide(by: snapshot, at: arrival, trace: &trace)
  }

  /// Decides the request. If `trace` is not `nil`, it gets the verdict of every rule.
  mutating func decide(by snapshot: Snapshot, at arrival: Arrival, trace: inout [RuleVerdict]?) -> Refusal? {
    let hasTarget = decision.snapshot != nil
    decision = Decision()
    decision.snapshot = snapshot
    record.caller = arrival.caller
    record.route = nil
    record.generation = snapshot.generation
    guard let listener = snapshot.index(of: arrival.listener) else {
      if !hasTarget { target = CanonicalTarget() }
      return .plain(.listenerRemoved)
    }
    let bytes = head.bytes
    do throws(PolicyRefusal) {
      let gate = snapshot.gate(at: listener, isLocalSocket: arrival.isLocalSocket)
      let admitted = try gate.admit(
        head, caller: arrival.caller, listener: listener, localEnd: arrival.localEnd, hash: snapshot.tokenHash)
      decision.admitted = admitted
      // Only after admission: other callers must not cause the work for a long list.
      forwarding.readOptions(of: head)
      if admitted.caller.client != nil { record.caller = admitted.caller }
      try readTarget(bytes.span.extracting(head.target))
      if listener == snapshot.metricsListener {
        try checkScrape()
        return nil
      }
      if !snapshot.discoveryOffers.isEmpty, isDiscovery(listener, snapshot) {
        decision.localResponse = .discovery
        return nil
      }
      if let method = admitted.preflight {
        try checkPreflight(bytes.span.extracting(method), admitted, snapshot, &trace)
        return nil
      }
      let route = try snapshot.rules.decide(
        admitted, method: head.method, methodName: bytes.span.extracting(head.methodRange), target: target,
        trace: &trace)
      decision.route = route
      record.route = route
      let refusal = forwarding.check(head, admitted: admitted, target: target, route: route, snapshot: snapshot)
      if refusal == nil, forwarding.maxForwards == 0 { respondLocally() }
      return refusal
    } catch {
      // Admission refused the request. The log must not show a target that an earlier decision has read.
      if decision.admitted == nil { target = CanonicalTarget() }
      if error.isClientTokenFailure { recordRequestedService(by: snapshot, at: arrival, listener) }
      // Host was not checked.
      if decision.admitted == nil, error.isAfterPageCheck, head.method != .connect {
        decision.refusedPage = snapshot.admissions[listener].pages.page(of: head)
      }
      return .policy(error)
    }
  }

  /// The admitted request. `nil` if admission refused the request, or has not checked it.

  private mutating func readTarget(_ bytes: Span<UInt8>) throws(PolicyRefusal) {
    do throws(PolicyRefusal) {
      try target.read(bytes)
    } catch {
      if error == .forbiddenCharacter { record.fault.character = forbiddenCharacter(in: bytes) }
      target.store(unparsed: bytes)
      throw error
    }
  }

  /// Returns the forbidden character in the target, with its position in the request-target as sent.
  private func forbiddenCharacter(in bytes: Span<UInt8>) -> TargetCharacter? {
    guard let found = CanonicalTarget.forbiddenCharacter(in: bytes) else { return nil }
    guard let authority = head.absoluteAuthority else { return found }
    // The reader puts a slash before a target without a path.
    let isCompleted = head.target.lowerBound != authority.upperBound
    let before = authority.upperBound &- head.methodRange.upperBound &- (isCompleted ? 2 : 1)
    return TargetCharacter(found.byte, at: found.position &+ before, isEscaped: found.isEscaped)
  }

  /// Records the service that a request without a valid client token addresses, for the log.
  private mutating func recordRequestedService(by snapshot: Snapshot, at arrival: Arrival, _ listener: Int) {
    let bytes = head.bytes
    target.store(unparsed: bytes.span.extracting(head.target))
    let gate = snapshot.gate(at: listener, isLocalSocket: arrival.isLocalSocket)
    let host = gate.name(of: head, localEnd: arrival.localEnd)
    record.requestedService = snapshot.rules.service(host: host, path: target.path, listener: listener)
  }

  /// Whether bearerd itself responds with the services that the caller may use.
  private func isDiscovery(_ listener: Int, _ snapshot: Snapshot) -> Bool {
    guard head.method == .get || head.method == .head, snapshot.discoveryOffers[listener] != nil else { return false }
    // Not the canonical path: only this exact target is taken from the services.
    return Discovery.path.utf8.elementsEqual(head.bytes[head.target])
  }

  private mutating func checkScrape() throws(PolicyRefusal) {
    guard head.method == .get || head.method == .head, target.path.elementsEqual("/metrics".utf8) else {
      throw .noService
    }
    decision.localResponse = .scrape
  }

  /// Checks the request that a page's preflight announces.
  private mutating func checkPreflight(
    _ name: Span<UInt8>, _ admitted: AdmittedRequest, _ snapshot: Snapshot, _ trace: inout [RuleVerdict]?
  ) throws(PolicyRefusal) {
    // If the listener needs client tokens, a preflight has none, and its sender must not learn about the rules.
    if snapshot.admissions[admitted.listener].clients.isEmpty {
      _ = try snapshot.rules.decide(admitted, method: Method(name), methodName: name, target: target, trace: &trace)
    }
    decision.localResponse = .preflight
  }

  private mutating func respondLocally() {
    decision.localResponse = .finalRecipient
    decision.route = nil
    record.route = nil
  }
}
