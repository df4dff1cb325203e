internal import HTTP1
internal import Policy

extension Exchange {
  enum ResponsePhase {
    case head
    /// Whether the credential has expired, the body says, which is not all there.
    case judged
    /// The head says that the credential has expired, and waits for what comes of that.
    case held
    case body, upgraded, done
  }

  /// Bytes of the answer on their way down. nil, or why it cannot be passed on.
  mutating func takeResponse(
    _ input: Span<UInt8>, position: inout Int, redaction: (any Redaction)?, output: inout Output
  ) -> Refusal? {
    if position < input.count { hasResponseBytes = true }
    do throws(MessageError) {
      while responsePhase == .head {
        guard position < input.count else { return nil }
        isWithinResponseHead = true
        guard let taken = try responseReader.readResponse(input.extracting(position...), into: &response) else {
          return nil
        }
        isWithinResponseHead = false
        position += taken
        noteFreshCookie(output: &output)
        noteJarCookies(output: &output)
        guard redactHead(redaction) else { return .plain(.internalError) }
        if let refusal = takeHead(redaction, output: &output) { return refusal }
      }
      if responsePhase == .judged { judgeBody(input.extracting(position...), output: &output) }
      if responsePhase == .held {
        guard authRetry.isRefused else { return nil }
        if let refusal = takeHead(redaction, output: &output) { return refusal }
      }
      let stepsBefore = redaction?.steps ?? 0
      while responsePhase == .body {
        if responseBody.isComplete {
          if let refusal = endBody(input, redaction, output: &output) { return refusal }
          break
        }
        if let redaction, position < input.count, redaction.steps &- stepsBefore >= SearchTurn.mostSteps {
          output.actions.insert(.continueLater)
          return nil
        }
        let end = position + min(input.count - position, bodyTreatment.largestPiece)
        switch try responseBody.next(input.extracting(first: end), position: &position) {
        case .needsMore: if position == input.count { return nil }
        case .data(let range):
          if let refusal = pass(input, range, redaction, output: &output) { return refusal }
        case .end: break
        }
      }
      return nil
    } catch {
      record.answerProblem = error.reason
      return .plain(.upstreamMalformed)
    }
  }

  /// The upstream closed in good order: the end of an answer that is delimited by it. False: the answer is cut short.
  mutating func endResponseAtClose(redaction: (any Redaction)?, output: inout Output) -> Bool {
    guard responsePhase == .body else { return false }
    do throws(MessageError) {
      try responseBody.inputEnded()
    } catch {
      return false
    }
    let nothing: [UInt8] = []
    return endBody(nothing.span, redaction, output: &output) == nil
  }

  private mutating func takeHead(_ redaction: (any Redaction)?, output: inout Output) -> Refusal? {
    if response.status == 101 { return takeSwitch(output: &output) }
    if response.status < 200 { return takeInterim(output: &output) }
    if ConnectionLogin.isWanted(by: response) { hasConnectionLogin = true }
    if mayWantSecondTry(output: &output) { return nil }
    if isExpiryForOthers { output.actions.insert(.replaceCredential) }
    noteStatus(output: &output)
    guard let route, let snapshot else { return .plain(.internalError) }

    let length = response.bodyLength(answering: head.method)
    responseBody.begin(length)
    guard chooseTreatment(length, redaction) else { return .plain(.encodedAnswer) }
    responseFraming = framing(of: length)
    if case .untilClose = responseFraming { closesClient = true }
    // An answer before the end of its request: the rest is taken, but nothing else can follow it here (T17).
    isEarly = !isRequestComplete
    answerClosesClient = closesClient || !head.isKeepAlive || isEarly
    responseOptions.read(response.fields, of: response.bytes, isNeeded: response.hasConnectionOptions)
    let context = context(route, snapshot)
    if context.injected, response.status == 401 || response.status == 407 {
      record.isRejected = true
      if snapshot.rules.services[route.service].rejected == .badGateway { return .plain(.credentialRejected) }
    }
    if let refusal = ResponseForwarding.write(
      response, framing: responseFraming, options: responseOptions, context: context, admitted: admitted,
      to: &output.toClient)
    {
      return refusal
    }
    if bodyTreatment == .withheld { sendEncodedAnswer(output: &output) }
    record.status = response.status
    hasAnswered = true
    output.actions.insert(.sendToClient)
    responsePhase = .body
    return nil
  }

  private mutating func noteStatus(output: inout Output) {
    record.upstreamStatus = response.status
    output.upstreamStatus = response.status
    output.actions.insert(.inspectResponse)
  }

  /// 101: of use only if it switches to what was asked for, and the request is out (RFC 9110 §7.8).
  private mutating func takeSwitch(output: inout Output) -> Refusal? {
    guard let route, let snapshot, let upgrade = forwarding.upgrade, isRequestComplete else {
      return .plain(.unrequestedUpgrade)
    }
    responseOptions.read(response.fields, of: response.bytes, isNeeded: response.hasConnectionOptions)
    guard Upgrading.isGranted(upgrade, by: response, options: responseOptions), !hasExtensionsAgainstOurWish else {
      return .plain(.unrequestedUpgrade)
    }
    noteStatus(output: &output)
    // What follows are no chunks, whatever the answer before it was.
    responseFraming = .none
    bodyTreatment = redact == .all ? .searched : .asItIs
    var context = context(route, snapshot)
    context.upgrade = upgrade
    if let refusal = ResponseForwarding.write(
      response, framing: .none, options: responseOptions, context: context, admitted: admitted,
      to: &output.toClient)
    {
      return refusal
    }
    record.status = response.status
    hasAnswered = true
    output.actions.insert(.sendToClient)
    responsePhase = .upgraded
    return nil
  }

  /// 1xx: on to clients that can know what it is (RFC 9110 §15.2).
  private mutating func takeInterim(output: inout Output) -> Refusal? {
    informational += 1
    guard informational <= Exchange.maximumInformational else { return .plain(.tooManyInformational) }
    guard head.version == .http11, response.status != 100 || head.expectsContinue else { return nil }
    guard let route, let snapshot else { return .plain(.internalError) }
    responseOptions.read(response.fields, of: response.bytes, isNeeded: response.hasConnectionOptions)
    if ResponseForwarding.writeInterim(
      response, options: responseOptions, context: context(route, snapshot), room: &interimRoom, to: &output.toClient)
    {
      output.actions.insert(.sendToClient)
    }
    return nil
  }

  // Mutating, as the others: a function that only looks would be lent a copy of the whole exchange.
  private mutating func context(_ route: Route, _ snapshot: Snapshot) -> ResponseForwarding.Context {
    ResponseForwarding.Context(
      route: route, snapshot: snapshot, path: target.path, injected: grant != nil, closes: answerClosesClient,
      saysKeepAlive: head.version == .http10, body: bodyTreatment)
  }

  private mutating func framing(of length: BodyLength) -> BodyLength {
    switch length {
    case _ where bodyTreatment == .withheld: return .length(UInt64(Problem.encodedAnswer(response.status).count))
    // How long it is decoded is not known before its end.
    case .length where bodyTreatment == .decoded: return framing(of: .untilClose)
    case .none:
      // HEAD and 304 may state the length that a GET would have had.
      if response.status != 204, case .length(let count) = response.declaredLength { return .length(count) }
      return .none
    case .length(let count): return .length(count)
    case .chunked, .untilClose: return head.version == .http11 ? .chunked : .untilClose
    }
  }

  /// What `output` has of changed bytes, then these of the input.
  mutating func sendDown(_ input: Span<UInt8>, _ range: Range<Int>, output: inout Output) {
    let changed = output.changed
    if range.isEmpty, changed.isEmpty { return }
    output.actions.insert(.sendToClient)
    switch responseFraming {
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

  /// nil, or why what came is not its end: something is missing of what it was decoded from, or its trailers could not be
  /// searched.
  private mutating func endBody(
    _ input: Span<UInt8>, _ redaction: (any Redaction)?, output: inout Output
  ) -> Refusal? {
    releaseHeld(input, redaction, output: &output)
    if bodyTreatment == .decoded, redaction?.isWhole != true { return .plain(.encodedAnswer) }
    if case .chunked = responseFraming {
      output.toClient.append("0\r\n")
      if !responseBody.trailers.isEmpty, let route, let snapshot {
        guard redactTrailers(redaction) else { return .plain(.internalError) }
        ResponseForwarding.writeTrailers(
          responseBody, after: response, options: responseOptions, context: context(route, snapshot),
          to: &output.toClient)
      }
      MessageWriter.endOfHead(to: &output.toClient)
      output.actions.insert(.sendToClient)
    }
    responsePhase = .done
    return nil
  }

  /// What goes on in the place of a body that is withheld.
  private mutating func sendEncodedAnswer(output: inout Output) {
    let body = Problem.encodedAnswer(response.status)
    output.toClient.append(contentsOf: body.contents)
    record.bytesDown = UInt64(body.count)
    record.isWithheld = true
  }

  /// Our own answer instead of an upstream's.
  mutating func refuse(_ refusal: Refusal, closes: Bool, output: inout Output) {
    output.toClient.removeAll()
    output.clientBody = 0..<0
    let count = Problem.write(
      refusal, of: head, admitted: admitted, page: refusedPage, closes: closes, to: &output.toClient)
    output.actions.insert(.sendToClient)
    record.bytesDown = UInt64(count)
    record.status = refusal.row.status
    record.refusal = refusal
    responsePhase = .done
    hasAnswered = true
    answerClosesClient = closes
  }

  /// Our own answer to an OPTIONS: to a page that asks whether it may send a request, it may; and to whom nobody but us shall
  /// answer.
  mutating func answerOptions(closes: Bool, output: inout Output) {
    guard let admitted else { return }
    output.toClient.append("HTTP/1.1 204 No Content\r\n")
    if isPreflight {
      CrossOrigin.writePreflight(head, admitted, to: &output.toClient)
    } else {
      output.toClient.append(Problem.allowedMethods)
      output.toClient.append("Cache-Control: no-store\r\n")
      CrossOrigin.write(for: admitted, to: &output.toClient)
    }
    if closes { output.toClient.append("Connection: close\r\n") }
    MessageWriter.endOfHead(to: &output.toClient)
    output.actions.insert(.sendToClient)
    record.status = 204
    record.isPreflight = isPreflight
    responsePhase = .done
    hasAnswered = true
    answerClosesClient = closes
  }
}
