package import HTTP1
package import Policy

/// One request and its answer: decided by policy, forwarded, answered. Bytes in, bytes out.
package struct Exchange: ~Copyable, Sendable {
  package var head = RequestHead()
  package private(set) var target = CanonicalTarget()
  package private(set) var route: Route?
  package private(set) var snapshot: Snapshot?
  package private(set) var caller: Caller?
  package var record = AccessRecord()

  /// Nothing is left of an earlier exchange that `reset` would have to forget.
  private var isClear = true
  /// The client came by a unix socket.
  var isLocalSocket = false
  /// The address that `Host` may name besides the listener's names; nil: no other.
  var localEnd: LocalEnd?
  var admitted: AdmittedRequest?
  /// The listed page that asks, of a request that was not admitted for another reason.
  var refusedPage: [UInt8]?
  var forwarding = RequestForwarding()
  var options = ConnectionOptions()
  var requestBody: BodyReader
  var isRequestChunked = false

  var responsePhase = ResponsePhase.head
  package internal(set) var response = ResponseHead()
  /// A head that the upstream never finished leaves it in the middle: `begin` sees to it.
  var responseReader: HeadReader
  var isWithinResponseHead = false
  var responseOptions = ConnectionOptions()
  var limits: HeadLimits
  var responseBody: BodyReader
  var authRetry = AuthRetry()
  /// A newer value of the credential's cookie, in the head of the answer.
  var freshCookie: SetCookie?
  /// Lines for the jar, in the head of the answer.
  var hasJarCookies = false
  var form = FormGathering()
  /// How the body goes on to this client.
  var responseFraming = BodyLength.none
  var bodyTreatment = BodyTreatment.asItIs
  var withheldBytes = 0
  var informational = 0
  /// Of the places that interim answers name.
  var interimRoom = PlaceRoom()
  var isReused = false
  var hasResponseBytes = false
  /// Set by the connection before a response is taken: the answer has to end it.
  var closesClient = false
  /// The answer began before the request was whole.
  var isEarly = false
  /// The upstream sent more than the answer.
  var hasSurplus = false
  /// One side of it logs in on the connection, or wants to.
  var hasConnectionLogin = false
  /// A head has gone, or is going, to the client.
  var hasAnswered = false
  package internal(set) var answerClosesClient = false
  /// It is a scrape, and admitted: the answer is our own.
  package private(set) var isScrape = false
  /// It is the preflight of a page that may ask: the answer is our own.
  package private(set) var isPreflight = false
  /// It may go out, but no further than to us (RFC 9110 §7.6.2): the answer is our own.
  package private(set) var isFinalRecipient = false

  /// More interim answers than this are a flood (T26).
  static let maximumInformational = 32

  init(limits: HeadLimits) {
    self.limits = limits
    responseReader = HeadReader(limits: limits)
    requestBody = BodyReader(.none, limits: limits)
    responseBody = BodyReader(.none, limits: limits)
  }

  // MARK: what the connection asks

  var isRequestComplete: Bool { requestBody.isComplete }
  var isResponseComplete: Bool { responsePhase == .done }
  var isUpgraded: Bool { responsePhase == .upgraded }
  var isComplete: Bool { isRequestComplete && isResponseComplete }

  @inline(__always) var deadline: Deadline {
    switch responsePhase {
    case .head: isRequestComplete ? .responseHead : .silence
    case .held: .none
    case .judged, .body, .upgraded, .done: .silence
    }
  }

  /// The session ended exactly where its answer did, and both sides may go on (T17, T26). Where it was asked to switch,
  /// not everybody behind the upstream need agree that it did not; after a body that it may have left unread, nobody knows.
  var leavesUpstreamReusable: Bool {
    isComplete && !hasSurplus && mayServeAnother
  }

  /// What is known of the request, and of the head of its answer, speaks for another request on the session.
  var mayServeAnother: Bool {
    !isEarly && response.isKeepAlive && forwarding.upgrade == nil && !forwarding.isLast
  }

  // MARK: deciding

  /// Nothing of an earlier head, or of half a one, may be taken for the one that was never whole; the method is known.
  mutating func forgetHead() {
    let method = head.method
    head = RequestHead()
    head.method = method
    head.isKeepAlive = false
    target = CanonicalTarget()
  }

  /// As new, but for storage, unless that has become large: the next one may be somebody else's.
  mutating func forget() {
    if !isClear { clear() }
    head.forget()
    response.forget()
    target.forget()
    caller = nil
    isLocalSocket = false
    if localEnd != nil { localEnd = nil }
    options.forget()
    forwarding = RequestForwarding()
    responseOptions.forget()
    requestBody.begin(.none)
    responseBody.begin(.none)
    responseFraming = .none
    isRequestChunked = false
  }

  /// Forgets the last exchange but keeps its storage. The head has just been read.
  mutating func reset() {
    if !isClear { clear() }
    isClear = false
    record.method = head.method
    requestBody.begin(head.bodyLength)
    isRequestChunked = head.hasChunkedBody
  }

  private mutating func clear() {
    isClear = true
    record = AccessRecord()
    route = nil
    snapshot = nil
    if case .some = admitted { admitted = nil }
    refusedPage = nil
    authRetry.reset()
    freshCookie = nil
    hasJarCookies = false
    form.reset()
    responsePhase = .head
    bodyTreatment = .asItIs
    withheldBytes = 0
    informational = 0
    interimRoom = PlaceRoom()
    isReused = false
    hasResponseBytes = false
    closesClient = false
    isEarly = false
    hasSurplus = false
    hasConnectionLogin = false
    hasAnswered = false
    answerClosesClient = false
    isScrape = false
    isPreflight = false
    isFinalRecipient = false
  }

  /// Admission, canonical target, rules, fields: nil when the request may go out.
  mutating func decide(by snapshot: Snapshot, listener: Int, caller: Caller?) -> Refusal? {
    var trace: [RuleVerdict]?
    return decide(by: snapshot, listener: listener, caller: caller, trace: &trace)
  }

  /// The same, and `trace` (when not nil) says of every rule why it won or lost.
  mutating func decide(
    by snapshot: Snapshot, listener: Int, caller: Caller?, trace: inout [RuleVerdict]?
  ) -> Refusal? {
    self.snapshot = snapshot
    self.caller = caller
    if case .some = admitted { admitted = nil }
    route = nil
    record.route = nil
    record.generation = snapshot.generation
    guard snapshot.admissions.indices.contains(listener) else { return .plain(.internalError) }
    let bytes = head.bytes
    do throws(PolicyRefusal) {
      let gate = snapshot.admission(ofListener: listener, isLocalSocket: isLocalSocket)
      let admitted = try gate.admit(
        head, caller: caller, listener: listener, localEnd: localEnd, hash: snapshot.tokenHash)
      self.admitted = admitted
      // Not before: a stranger shall not have us take a long list apart.
      options.read(head.fields, of: head.bytes, isNeeded: head.hasConnectionOptions)
      if admitted.caller.client != nil {
        self.caller = admitted.caller
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
      self.route = route
      record.route = route
      let refusal = forwarding.judge(
        head, admitted: admitted, target: target, options: options, route: route, snapshot: snapshot)
      if refusal == nil, forwarding.maxForwards == 0 { keepHere() }
      return refusal
    } catch {
      // Of a request that was not admitted no path was read: the last one's must not stand in the log for it.
      if admitted == nil { target = CanonicalTarget() }
      if error.isOfClientToken { noteWhatWasSought(by: snapshot, listener: listener) }
      // Its Host was not looked at.
      if admitted == nil, error.isOfKnownPage, head.method != .connect {
        refusedPage = snapshot.admissions[listener].pages.page(of: head)
      }
      return .policy(error)
    }
  }

  /// One that cannot be read stands in the log as it came.
  private mutating func readTarget(_ bytes: Span<UInt8>) throws(PolicyRefusal) {
    do throws(PolicyRefusal) {
      try target.read(bytes)
    } catch {
      target.keep(unreadable: bytes)
      throw error
    }
  }

  /// Whoever has given a program no token, or a wrong one, looks for it by what the program asked for. As it came, and up to its
  /// query: for those without a token no path is taken apart.
  private mutating func noteWhatWasSought(by snapshot: Snapshot, listener: Int) {
    let bytes = head.bytes
    target.keep(unreadable: bytes.span.extracting(head.target))
    let gate = snapshot.admission(ofListener: listener, isLocalSocket: isLocalSocket)
    let host = gate.name(of: head, localEnd: localEnd)
    record.sought = snapshot.rules.service(host: host, path: target.path, listener: listener)
  }

  /// There is one thing to ask for, and reading is all that can be done to it.
  private mutating func checkScrape() throws(PolicyRefusal) {
    guard head.method == .get || head.method == .head, target.path.elementsEqual("/metrics".utf8) else {
      throw .noService
    }
    isScrape = true
  }

  /// Would the request be decided well that the page asks about? It has no fields yet that could be judged.
  private mutating func checkPreflight(
    _ name: Span<UInt8>, _ admitted: AdmittedRequest, _ snapshot: Snapshot, _ trace: inout [RuleVerdict]?
  ) throws(PolicyRefusal) {
    // Where tokens are wanted, none has come yet, and whoever has none shall not learn what the rules say.
    if snapshot.admissions[admitted.listener].clients.isEmpty {
      _ = try snapshot.rules.decide(admitted, method: Method(name), methodName: name, target: target, trace: &trace)
    }
    isPreflight = true
  }

  /// No service has a part in it.
  private mutating func keepHere() {
    isFinalRecipient = true
    route = nil
    record.route = nil
  }
}
