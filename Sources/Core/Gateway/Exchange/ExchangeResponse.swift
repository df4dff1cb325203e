// Called by `Relay`, with what `UpstreamEdge` has read.
// Calls `ResponseForwarding` and a `Redaction`.

internal import HTTP1
internal import Policy
internal import Primitives

extension Exchange {
  /// What the client gets after a response head has arrived. Its head is `output.response`.
  enum HeadOutcome {
    /// Nothing yet, because the response is not forwarded or still has to be inspected.
    case nothing
    case interim
    case final
    case refused(Refusal)
  }

  /// Receives the head `response`.
  /// - Parameters:
  ///   - size: the size of the head in bytes.
  ///   - isLast: whether the client's connection ends with this response.
  ///   - now: the loop's time, in milliseconds.
  mutating func receiveHead(
    size: Int, isLast: Bool, redaction: (any Redaction)?, now: UInt64, output: inout Output
  ) -> HeadOutcome {
    if !response.repairs.isEmpty { recordRepairs() }
    if response.status < 200, response.status != 101 {
      guard passage.interimBudget.spend(size, at: now) else { return .refused(.plain(.tooManyInformational)) }
      output.actions.insert(.restartDeadline)
    }
    recordFreshCookie(output: &output)
    recordJarCookies(output: &output)
    guard redactHead(redaction) else { return .refused(.plain(.internalError)) }
    return processHead(isLast: isLast, redaction, now: now, output: &output)
  }

  /// Processes the head `response`, again if it was held back for a credential that could not be renewed.
  mutating func processHead(
    isLast: Bool, _ redaction: (any Redaction)?, now: UInt64, output: inout Output
  ) -> HeadOutcome {
    if response.status == 101 { return receiveSwitch(output: &output) }
    if response.status < 200 { return receiveInterim(output: &output) }
    if isGRPC { record.callStatus = GRPCCall.status(response.fields, of: response.bytes.span) }
    if ConnectionLogin.isOffered(by: response) { session.hasLogin = true }
    if mayNeedRetry(output: &output) { return .nothing }
    if isExpiryWithoutRetry { output.actions.insert(.replaceCredential) }
    guard let route, let snapshot else { return .refused(.plain(.internalError)) }
    if let policy = snapshot.rules.services[route.service].retry, retriesResponse(policy, isLast: isLast, now: now) {
      passage.phase = .discarded
      return .nothing
    }
    recordStatus(output: &output)

    let length = bodyLength
    let fieldCount = response.fields.count
    guard chooseTreatment(length, redaction) else { return .refused(.plain(.encodedAnswer)) }
    if response.fields.count < fieldCount { record.dropped.insert(.aboutBody) }
    responseOptions.read(response.fields, of: response.bytes, isNeeded: response.hasConnectionOptions)
    let context = context(route, snapshot)
    if case .replaced = passage.challenges { record.isRejected = true }
    if record.isRejected, snapshot.options(of: route).onRejected == .status502 {
      return .refused(.plain(.credentialRejected))
    }
    if let refusal = ResponseForwarding.write(
      response, options: responseOptions, context: context, admitted: decision.admitted,
      dropped: &record.dropped, to: &output.response)
    {
      return .refused(refusal)
    }
    output.response.length = forwardedLength(length)
    if passage.treatment == .replaced { sendEncodedAnswer(output: &output) }
    record.status = response.status
    (passage.hasResponded, passage.isEarly) = (true, !isRequestComplete)
    passage.phase = .body
    return .final
  }

  /// The length of the upstream's response body.
  var bodyLength: BodyLength { response.bodyLength(respondingTo: head.method) }

  private mutating func recordStatus(output: inout Output) {
    record.upstreamStatus = response.status
    evaluateCredential(output: &output)
    output.results.upstreamStatus = response.status
    output.actions.insert(.inspectResponse)
  }

  /// Handles a 101 response. Refuses it unless the request is complete and asked for this protocol (RFC 9110 §7.8).
  private mutating func receiveSwitch(output: inout Output) -> HeadOutcome {
    guard let route, let snapshot, let upgrade = forwarding.upgrade, isRequestComplete else {
      return .refused(.plain(.unrequestedUpgrade))
    }
    responseOptions.read(response.fields, of: response.bytes, isNeeded: response.hasConnectionOptions)
    let isGranted = UpgradeNegotiation.isGranted(upgrade, by: response, options: responseOptions)
    let hasOffered = forwarding.hasOffered(response, to: head, route: route, snapshot: snapshot)
    guard isGranted, hasOffered, !hasUnofferedExtensions else { return .refused(.plain(.unrequestedUpgrade)) }
    recordStatus(output: &output)
    passage.treatment = redact == .all ? .searched : .asItIs
    var context = context(route, snapshot)
    context.upgrade = upgrade
    if let refusal = ResponseForwarding.write(
      response, options: responseOptions, context: context, admitted: decision.admitted,
      dropped: &record.dropped, to: &output.response)
    {
      return .refused(refusal)
    }
    record.status = response.status
    passage.hasResponded = true
    passage.phase = .upgraded
    return .final
  }

  /// Forwards a 1xx response to clients that support interim responses (RFC 9110 §15.2).
  private mutating func receiveInterim(output: inout Output) -> HeadOutcome {
    guard head.version == .http11, response.status != 100 || head.expectsContinue else { return .nothing }
    guard let route, let snapshot else { return .refused(.plain(.internalError)) }
    responseOptions.read(response.fields, of: response.bytes, isNeeded: response.hasConnectionOptions)
    guard
      ResponseForwarding.writeInterim(
        response, options: responseOptions, context: context(route, snapshot), room: &passage.interimRoom,
        dropped: &record.dropped, to: &output.response)
    else { return .nothing }
    passage.hasForwardedInterim = true
    return .interim
  }

  // Mutating, because a nonmutating function would get a copy of the whole exchange.
  private mutating func context(_ route: Route, _ snapshot: Snapshot) -> ResponseForwarding.Context {
    ResponseForwarding.Context(
      route: route, snapshot: snapshot, path: target.path, authority: clientAuthority, injected: grant != nil,
      tunneledPort: decision.admitted?.tunneledPort, body: passage.treatment,
      challenges: grant == nil ? .passes : passage.challenges)
  }

  private var clientAuthority: ArraySlice<UInt8> {
    mutating get {
      guard let authority = head.absoluteAuthority ?? head.host else { return [] }
      return head.bytes[authority]
    }
  }

  /// The length of the body that the client gets.
  private mutating func forwardedLength(_ length: BodyLength) -> BodyLength {
    switch length {
    case .length where passage.treatment == .decoded: return .untilClose
    case .none:
      // A response to HEAD, or a 304, may state the length that a GET would return.
      if response.status != 204, case .length(let count) = response.declaredLength { return .length(count) }
      return .none
    case .length, .chunked, .untilClose: return length
    }
  }

  /// Ends the response's body. The client gets `output.changed` and then the trailers `output.trailers`.
  /// - Parameter takesTrailers: whether trailers can be sent to the client.
  /// - Returns: `nil`, or a refusal if the body could not be searched.
  mutating func endBody(
    _ trailers: consuming Trailers?, takesTrailers: Bool, _ redaction: (any Redaction)?, output: inout Output
  ) -> Refusal? {
    releaseBuffered(redaction, output: &output)
    if passage.treatment == .decoded, redaction?.isWhole != true { return .plain(.encodedAnswer) }
    let trailers = consume trailers
    if isGRPC, let refusal = receiveCallStatus(in: trailers, output: &output) { return refusal }
    passage.phase = .done
    output.trailers.removeAll()
    guard var trailers else { return nil }
    if trailers.hasDropped { record.dropped.insert(.trailer) }
    if trailers.isEmpty { return nil }
    guard takesTrailers, let route, let snapshot else {
      record.dropped.insert(.trailer)
      return nil
    }
    guard redact(&trailers, redaction) else { return .plain(.internalError) }
    ResponseForwarding.writeTrailers(
      trailers, after: response, options: responseOptions, context: context(route, snapshot),
      dropped: &record.dropped, to: &output.trailers)
    return nil
  }

  private mutating func sendEncodedAnswer(output: inout Output) {
    output.response.append(content: Problem.encodedAnswer(response.status).contents)
    record.bytesDown = UInt64(output.response.content.count)
    record.isBodyReplaced = true
  }

  /// Writes the error response to `output.response`.
  mutating func refuse(_ refusal: Refusal, output: inout Output) {
    output.results.clientBody = 0..<0
    if let timeout = RequestTimeout(refusal) { record.timeout = timeout }
    if isGRPC {
      refuseCall(refusal, output: &output)
    } else {
      Problem.write(
        refusal, of: head, admitted: decision.admitted, detail: message(of: refusal), page: decision.refusedPage,
        fault: record.fault, timeout: record.timeout, response: responseFault(refusal), to: &output.response)
      record.bytesDown = head.method == .head ? 0 : UInt64(output.response.content.count)
    }
    record.status = refusal.row.status
    record.refusal = refusal
    passage.end()
  }

  /// Returns the text of the rule that refuses the request. `nil` if there is none.
  func message(of refusal: Refusal) -> String? {
    guard case .policy(.denied(let service, let rule)) = refusal, let rules = decision.snapshot?.rules else {
      return nil
    }
    return rules.services[service].rules?[rule].message
  }

  /// Responds to OPTIONS locally: to a page's preflight, or to a request with `Max-Forwards: 0`.
  mutating func respondToOptions(output: inout Output) {
    guard let admitted = decision.admitted else { return }
    output.response.begin(204, reason: "No Content")
    let isPreflight = decision.localResponse == .preflight
    if isPreflight {
      CrossOrigin.writePreflight(head, admitted, to: &output.response.fields)
    } else {
      output.response.fields.append(Problem.allowedMethods)
      output.response.fields.append("Cache-Control: no-store\r\n")
      CrossOrigin.write(for: admitted, to: &output.response.fields)
    }
    record.status = 204
    record.isPreflight = isPreflight
    passage.end()
  }
}
