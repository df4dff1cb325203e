internal import HTTP1
internal import Policy
internal import Primitives

extension Exchange {
  /// Forwards bytes of the upstream's response. Returns `nil`, or a refusal if the response cannot be forwarded.
  /// - Parameters:
  ///   - isLast: whether the client's connection ends with this response.
  ///   - now: the loop's time, in milliseconds.
  mutating func receiveResponse(
    _ input: Span<UInt8>, position: inout Int, isLast: Bool, redaction: (any Redaction)?, now: UInt64,
    output: inout Output
  ) -> Refusal? {
    if position < input.count, session.received == .nothing { session.received = .bytes }
    do throws(MessageError) {
      while passage.phase == .head {
        guard position < input.count else { return nil }
        reading.isWithinHead = true
        guard let consumed = try reading.reader.readResponse(input.extracting(position...), into: &response) else {
          return nil
        }
        reading.isWithinHead = false
        position += consumed
        if !response.repairs.isEmpty { recordRepairs() }
        if session.isRepaired { response.isKeepAlive = false }
        if response.status < 200, response.status != 101 {
          guard passage.interimBudget.spend(consumed, at: now) else { return .plain(.tooManyInformational) }
          output.actions.insert(.restartDeadline)
        }
        recordFreshCookie(output: &output)
        recordJarCookies(output: &output)
        guard redactHead(redaction) else { return .plain(.internalError) }
        if let refusal = processHead(isLast: isLast, redaction, now: now, output: &output) { return refusal }
      }
      if passage.phase == .inspectingBody { inspectBody(input.extracting(position...), output: &output) }
      if passage.phase == .awaitingRenewal {
        guard authRetry.isRefused else { return nil }
        if let refusal = processHead(isLast: isLast, redaction, now: now, output: &output) { return refusal }
      }
      let stepsBefore = redaction?.steps ?? 0
      while passage.phase == .body {
        if reading.body.isComplete {
          if let refusal = endBody(input, redaction, output: &output) { return refusal }
          break
        }
        if let redaction, position < input.count, redaction.steps &- stepsBefore >= SearchBudget.maximumSteps {
          output.actions.insert(.continueLater)
          return nil
        }
        let end = position + min(input.count - position, passage.treatment.largestPiece)
        switch try reading.body.next(input.extracting(first: end), position: &position) {
        case .needsMore: if position == input.count { return nil }
        case .data(let range):
          if let refusal = pass(input, range, redaction, output: &output) { return refusal }
        case .end: break
        }
      }
      return nil
    } catch {
      recordFault(error, in: input.extracting(position...), redaction)
      return .plain(.upstreamMalformed)
    }
  }

  /// Ends a response that is delimited by the end of the connection. Returns `false` if the response is incomplete.
  mutating func endResponseAtClose(redaction: (any Redaction)?, output: inout Output) -> Bool {
    guard passage.phase == .body, (try? reading.body.inputEnded()) != nil else { return false }
    let nothing: [UInt8] = []
    return endBody(nothing.span, redaction, output: &output) == nil
  }

  private mutating func processHead(
    isLast: Bool, _ redaction: (any Redaction)?, now: UInt64, output: inout Output
  ) -> Refusal? {
    if response.status == 101 { return receiveSwitch(output: &output) }
    if response.status < 200 { return receiveInterim(output: &output) }
    if ConnectionLogin.isOffered(by: response) { session.hasLogin = true }
    if mayNeedRetry(output: &output) { return nil }
    if isExpiryWithoutRetry { output.actions.insert(.replaceCredential) }
    guard let route, let snapshot else { return .plain(.internalError) }
    if let policy = snapshot.rules.services[route.service].retry, retriesResponse(policy, isLast: isLast, now: now) {
      passage.phase = .discarded
      return nil
    }
    recordStatus(output: &output)

    let length = response.bodyLength(respondingTo: head.method)
    reading.body.begin(length)
    let fieldCount = response.fields.count
    guard chooseTreatment(length, redaction) else { return .plain(.encodedAnswer) }
    if response.fields.count < fieldCount { record.dropped.insert(.aboutBody) }
    passage.framing = framing(of: length)
    let clientResponse = clientResponse(isLast: isLast)
    reading.options.read(response.fields, of: response.bytes, isNeeded: response.hasConnectionOptions)
    let context = context(route, snapshot, closes: clientResponse != .keepsConnection)
    if case .replaced = passage.challenges {
      record.isRejected = true
      if snapshot.options(of: route).onRejected == .status502 { return .plain(.credentialRejected) }
    }
    if let refusal = ResponseForwarding.write(
      response, framing: passage.framing, options: reading.options, context: context, admitted: decision.admitted,
      dropped: &record.dropped, to: &output.toClient)
    {
      return refusal
    }
    if passage.treatment == .replaced { sendEncodedAnswer(output: &output) }
    record.status = response.status
    passage.clientResponse = clientResponse
    output.actions.insert(.sendToClient)
    passage.phase = .body
    return nil
  }

  private mutating func clientResponse(isLast: Bool) -> ClientResponse {
    // The response began before the end of the request. The rest is read, but no further request is possible (T17).
    if !isRequestComplete { return .early }
    if case .untilClose = passage.framing { return .closesConnection }
    return isLast || !head.isKeepAlive ? .closesConnection : .keepsConnection
  }

  private mutating func recordStatus(output: inout Output) {
    record.upstreamStatus = response.status
    evaluateCredential(output: &output)
    output.upstreamStatus = response.status
    output.actions.insert(.inspectResponse)
  }

  /// Handles a 101 response. Refuses it unless the request is complete and asked for this protocol (RFC 9110 §7.8).
  private mutating func receiveSwitch(output: inout Output) -> Refusal? {
    guard let route, let snapshot, let upgrade = forwarding.upgrade, isRequestComplete else {
      return .plain(.unrequestedUpgrade)
    }
    reading.options.read(response.fields, of: response.bytes, isNeeded: response.hasConnectionOptions)
    let isGranted = UpgradeNegotiation.isGranted(upgrade, by: response, options: reading.options)
    let hasOffered = forwarding.hasOffered(response, to: head, route: route, snapshot: snapshot)
    guard isGranted, hasOffered, !hasUnofferedExtensions else {
      return .plain(.unrequestedUpgrade)
    }
    recordStatus(output: &output)
    passage.treatment = redact == .all ? .searched : .asItIs
    var context = context(route, snapshot, closes: false)
    context.upgrade = upgrade
    if let refusal = ResponseForwarding.write(
      response, framing: .none, options: reading.options, context: context, admitted: decision.admitted,
      dropped: &record.dropped, to: &output.toClient)
    {
      return refusal
    }
    record.status = response.status
    passage.clientResponse = .keepsConnection
    output.actions.insert(.sendToClient)
    passage.phase = .upgraded
    return nil
  }

  /// Forwards a 1xx response to clients that support interim responses (RFC 9110 §15.2).
  private mutating func receiveInterim(output: inout Output) -> Refusal? {
    guard head.version == .http11, response.status != 100 || head.expectsContinue else { return nil }
    guard let route, let snapshot else { return .plain(.internalError) }
    reading.options.read(response.fields, of: response.bytes, isNeeded: response.hasConnectionOptions)
    if ResponseForwarding.writeInterim(
      response, options: reading.options, context: context(route, snapshot, closes: false), room: &passage.interimRoom,
      dropped: &record.dropped, to: &output.toClient)
    {
      output.actions.insert(.sendToClient)
      passage.hasForwardedInterim = true
    }
    return nil
  }

  // Mutating, because a nonmutating function would get a copy of the whole exchange.
  private mutating func context(_ route: Route, _ snapshot: Snapshot, closes: Bool) -> ResponseForwarding.Context {
    ResponseForwarding.Context(
      route: route, snapshot: snapshot, path: target.path, authority: clientAuthority, injected: grant != nil,
      closes: closes,
      saysKeepAlive: head.version == .http10, tunneledPort: decision.admitted?.tunneledPort, body: passage.treatment,
      challenges: grant == nil ? .passes : passage.challenges)
  }

  private var clientAuthority: ArraySlice<UInt8> {
    mutating get {
      guard let authority = head.absoluteAuthority ?? head.host else { return [] }
      return head.bytes[authority]
    }
  }

  private mutating func framing(of length: BodyLength) -> BodyLength {
    switch length {
    case _ where passage.treatment == .replaced: return .length(UInt64(Problem.encodedAnswer(response.status).count))
    // The decoded length is known only at the end.
    case .length where passage.treatment == .decoded: return framing(of: .untilClose)
    case .none:
      // A response to HEAD, or a 304, may state the length that a GET would return.
      if response.status != 204, case .length(let count) = response.declaredLength { return .length(count) }
      return .none
    case .length(let count): return .length(count)
    case .chunked, .untilClose: return head.version == .http11 ? .chunked : .untilClose
    }
  }

  /// Sends `output.changed` to the client, and then `range` of the input.
  mutating func sendDown(_ input: Span<UInt8>, _ range: Range<Int>, output: inout Output) {
    let changed = output.changed
    if range.isEmpty, changed.isEmpty { return }
    output.actions.insert(.sendToClient)
    switch passage.framing {
    case .chunked: MessageWriter.chunk(changed.span, input.extracting(range), to: &output.toClient)
    case .none, .length, .untilClose:
      if !changed.isEmpty {
        output.toClient.append(input.extracting(output.clientBody))
        output.toClient.append(changed.span)
        output.clientBody = range
      } else if output.clientBody.isEmpty {
        output.clientBody = range
      } else if output.clientBody.upperBound == range.lowerBound {
        output.clientBody = output.clientBody.lowerBound..<range.upperBound
      } else {
        output.toClient.append(input.extracting(output.clientBody))
        output.clientBody = range
      }
    }
  }

  /// Ends the response body. Returns `nil`, or a refusal if the body is incomplete or could not be searched.
  private mutating func endBody(
    _ input: Span<UInt8>, _ redaction: (any Redaction)?, output: inout Output
  ) -> Refusal? {
    releaseBuffered(input, redaction, output: &output)
    if passage.treatment == .decoded, redaction?.isWhole != true { return .plain(.encodedAnswer) }
    if case .chunked = passage.framing {
      output.toClient.append("0\r\n")
      if !reading.body.trailers.isEmpty, let route, let snapshot {
        guard redactTrailers(redaction) else { return .plain(.internalError) }
        ResponseForwarding.writeTrailers(
          reading.body, after: response, options: reading.options,
          context: context(route, snapshot, closes: responseClosesClient), dropped: &record.dropped,
          to: &output.toClient)
      }
      MessageWriter.lineEnd(to: &output.toClient)
      output.actions.insert(.sendToClient)
    } else if !reading.body.trailers.isEmpty {
      record.dropped.insert(.trailer)
    }
    if reading.body.hasDroppedTrailers { record.dropped.insert(.trailer) }
    passage.phase = .done
    return nil
  }

  private mutating func sendEncodedAnswer(output: inout Output) {
    let body = Problem.encodedAnswer(response.status)
    output.toClient.append(contentsOf: body.contents)
    record.bytesDown = UInt64(body.count)
    record.isBodyReplaced = true
  }

  mutating func refuse(_ refusal: Refusal, closes: Bool, output: inout Output) {
    output.toClient.removeAll()
    output.clientBody = 0..<0
    if let timeout = RequestTimeout(refusal) { record.timeout = timeout }
    let count = Problem.write(
      refusal, of: head, admitted: decision.admitted, detail: message(of: refusal), page: decision.refusedPage,
      fault: record.fault,
      timeout: record.timeout, response: responseFault(refusal), closes: closes, to: &output.toClient)
    output.actions.insert(.sendToClient)
    record.bytesDown = UInt64(count)
    record.status = refusal.row.status
    record.refusal = refusal
    passage.end(closes: closes)
  }

  /// Returns the text of the rule that refuses the request. `nil` if there is none.
  private func message(of refusal: Refusal) -> String? {
    guard case .policy(.denied(let service, let rule)) = refusal, let rules = decision.snapshot?.rules else {
      return nil
    }
    return rules.services[service].rules?[rule].message
  }

  /// Responds to OPTIONS locally: to a page's preflight, or to a request with `Max-Forwards: 0`.
  mutating func respondToOptions(closes: Bool, output: inout Output) {
    guard let admitted = decision.admitted else { return }
    output.toClient.append("HTTP/1.1 204 No Content\r\n")
    let isPreflight = decision.localResponse == .preflight
    if isPreflight {
      CrossOrigin.writePreflight(head, admitted, to: &output.toClient)
    } else {
      output.toClient.append(Problem.allowedMethods)
      output.toClient.append("Cache-Control: no-store\r\n")
      CrossOrigin.write(for: admitted, to: &output.toClient)
    }
    if closes { output.toClient.append("Connection: close\r\n") }
    MessageWriter.lineEnd(to: &output.toClient)
    output.actions.insert(.sendToClient)
    record.status = 204
    record.isPreflight = isPreflight
    passage.end(closes: closes)
  }
}
