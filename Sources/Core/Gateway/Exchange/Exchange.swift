package import HTTP1
package import Policy

/// One request and its response: decided by policy, forwarded, answered. Bytes in, bytes out.
///
/// What is true of one exchange stands in values of its own (`decision`, `session`, `passage`), which begin anew with each
/// request; what is kept from one request to the next is storage.
package struct Exchange: ~Copyable, Sendable {
  /// The client's request.
  package var head = RequestHead()
  package private(set) var target = CanonicalTarget()
  /// The configuration's decision on the request.
  private(set) var decision = Decision()
  /// For the log.
  package var record = AccessRecord()

  /// How the request goes on to the upstream, its body, and what is kept of it to be sent again or to be signed.
  var forwarding = RequestForwarding()
  var requestBody: BodyReader
  var authRetry = AuthRetry()
  var form = FormGathering()
  var session = SessionUse()

  /// The upstream's response, how it is read, and how far it has come.
  package internal(set) var response = ResponseHead()
  var reading: ResponseReading
  var passage = ResponsePassage()

  init(limits: HeadLimits) {
    requestBody = BodyReader(.none, limits: limits)
    reading = ResponseReading(limits)
  }

  // MARK: what the connection asks

  package var route: Route? { decision.route }
  package var snapshot: Snapshot? { decision.snapshot }
  package var caller: Caller? { decision.caller }

  /// A head has gone, or is going, to the client.
  var hasAnswered: Bool { passage.answer != .none }
  package var answerClosesClient: Bool { passage.answer == .closes || passage.answer == .early }
  var isRequestComplete: Bool { requestBody.isComplete }
  var isResponseComplete: Bool { passage.phase == .done }
  var isUpgraded: Bool { passage.phase == .upgraded }
  var isComplete: Bool { isRequestComplete && isResponseComplete }

  @inline(__always) var deadline: Deadline {
    switch passage.phase {
    case .head: isRequestComplete ? .responseHead : .silence
    case .held: .none
    case .judged, .body, .upgraded, .done: .silence
    }
  }

  /// Whether the session ended exactly where its answer did, and both sides may go on (T17, T26). After a request to switch
  /// protocols
  /// not every server behind the upstream need agree that it did not; after a body that may have been left unread, none can
  /// tell.
  var leavesUpstreamReusable: Bool {
    isComplete && session.received != .surplus && mayServeAnother
  }

  /// Whether the request, and the head of its answer, allow another request on the session.
  var mayServeAnother: Bool {
    passage.answer != .early && response.isKeepAlive && forwarding.upgrade == nil && !forwarding.isLast
  }

  // MARK: deciding

  /// Nothing of an earlier head, or of half a one, may be taken for the one that was never whole; the method is known.
  mutating func discardHead() {
    let method = head.method
    head = RequestHead()
    head.method = method
    head.isKeepAlive = false
    target = CanonicalTarget()
  }

  /// Makes it as new, but for storage, unless that has become large: the next exchange may be another caller's.
  mutating func forget() {
    head.forget()
    reset()
    response.forget()
    target.forget()
    forwarding = RequestForwarding()
    reading.options.forget()
    reading.body.begin(.none)
  }

  /// Forgets the last exchange but keeps its storage. The head has just been read.
  mutating func reset() {
    decision.forget()
    record = AccessRecord()
    record.method = head.method
    requestBody.begin(head.bodyLength)
    authRetry.reset()
    form.reset()
    session = SessionUse()
    passage = ResponsePassage()
  }

  /// Admission, canonical target, rules, fields: nil when the request may go out.
  mutating func decide(by snapshot: Snapshot, at arrival: Arrival) -> Refusal? {
    var trace: [RuleVerdict]?
    return decide(by: snapshot, at: arrival, trace: &trace)
  }

  /// Decides a request; `trace` (when not nil) says of every rule why it won or lost.
  mutating func decide(by snapshot: Snapshot, at arrival: Arrival, trace: inout [RuleVerdict]?) -> Refusal? {
    if decision.snapshot != nil { decision.forget() }
    decision.snapshot = snapshot
    decision.caller = arrival.caller
    record.route = nil
    record.generation = snapshot.generation
    guard let listener = snapshot.index(of: arrival.listener) else { return .plain(.listenerRemoved) }
    let bytes = head.bytes
    do throws(PolicyRefusal) {
      let gate = snapshot.gate(at: listener, isLocalSocket: arrival.isLocalSocket)
      let admitted = try gate.admit(
        head, caller: arrival.caller, listener: listener, localEnd: arrival.localEnd, hash: snapshot.tokenHash)
      decision.admitted = admitted
      // Not before: a stranger shall not have us take a long list apart.
      forwarding.readOptions(of: head)
      if admitted.caller.client != nil {
        decision.caller = admitted.caller
        record.caller = admitted.caller
      }
      try readTarget(bytes.span.extracting(head.target))
      if listener == snapshot.metricsListener {
        try checkScrape()
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
      let refusal = forwarding.judge(head, admitted: admitted, target: target, route: route, snapshot: snapshot)
      if refusal == nil, forwarding.maxForwards == 0 { answerLocally() }
      return refusal
    } catch {
      // A request that was not admitted has no path that was read: the last one's must not stand in the log for it.
      if decision.admitted == nil { target = CanonicalTarget() }
      if error.isOfClientToken { recordSoughtService(by: snapshot, at: arrival, listener) }
      // Its Host was not looked at.
      if decision.admitted == nil, error.isOfKnownPage, head.method != .connect {
        decision.refusedPage = snapshot.admissions[listener].pages.page(of: head)
      }
      return .policy(error)
    }
  }

  /// One that cannot be read stands in the log as it came.
  private mutating func readTarget(_ bytes: Span<UInt8>) throws(PolicyRefusal) {
    do throws(PolicyRefusal) {
      try target.read(bytes)
    } catch {
      if error == .forbiddenCharacter { record.fault.character = forbiddenCharacter(in: bytes) }
      target.keep(unreadable: bytes)
      throw error
    }
  }

  /// Returns the character for which the target was refused. Its position counts from the start of the whole request-target, which
  /// for an absolute-form target begins with a scheme and an authority.
  private func forbiddenCharacter(in bytes: Span<UInt8>) -> TargetCharacter? {
    guard let found = CanonicalTarget.forbiddenCharacter(in: bytes) else { return nil }
    guard let authority = head.absoluteAuthority else { return found }
    // The reader puts a slash before a target without a path.
    let isCompleted = head.target.lowerBound != authority.upperBound
    let before = authority.upperBound &- head.methodRange.upperBound &- (isCompleted ? 2 : 1)
    return TargetCharacter(found.byte, at: found.position &+ before, isEscaped: found.isEscaped)
  }

  /// A person who has given a program no token, or a wrong one, looks for it by what the program asked for. As it came, and up
  /// to its query: for those without a token no path is taken apart.
  private mutating func recordSoughtService(by snapshot: Snapshot, at arrival: Arrival, _ listener: Int) {
    let bytes = head.bytes
    target.keep(unreadable: bytes.span.extracting(head.target))
    let gate = snapshot.gate(at: listener, isLocalSocket: arrival.isLocalSocket)
    let host = gate.name(of: head, localEnd: arrival.localEnd)
    record.sought = snapshot.rules.service(host: host, path: target.path, listener: listener)
  }

  /// There is one thing to ask for, and reading is all that can be done to it.
  private mutating func checkScrape() throws(PolicyRefusal) {
    guard head.method == .get || head.method == .head, target.path.elementsEqual("/metrics".utf8) else {
      throw .noService
    }
    decision.ownAnswer = .scrape
  }

  /// Would the request be decided well that the page asks about? It has no fields yet that could be judged.
  private mutating func checkPreflight(
    _ name: Span<UInt8>, _ admitted: AdmittedRequest, _ snapshot: Snapshot, _ trace: inout [RuleVerdict]?
  ) throws(PolicyRefusal) {
    // On a listener that wants tokens, none has come yet, and a caller without one shall not learn what the rules say.
    if snapshot.admissions[admitted.listener].clients.isEmpty {
      _ = try snapshot.rules.decide(admitted, method: Method(name), methodName: name, target: target, trace: &trace)
    }
    decision.ownAnswer = .preflight
  }

  /// No service has a part in it.
  private mutating func answerLocally() {
    decision.ownAnswer = .finalRecipient
    decision.route = nil
    record.route = nil
  }
}
