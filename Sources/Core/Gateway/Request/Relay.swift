// Called by `RequestMachine`.
// Calls `ClientEdge` and `UpstreamEdge`, which read and write bytes, and `Exchange`.

internal import HTTP1
internal import Policy
internal import Primitives

/// One exchange and its two edges: passes what the edges read to the exchange, and lets the edges write what the exchange
/// forwards.
///
/// `RequestMachine` calls it. It does not know the phases of a request.
package struct Relay: ~Copyable {
  package var exchange: Exchange
  package internal(set) var clientEdge: ClientEdge
  var upstreamEdge: UpstreamEdge

  init(limits: HeadLimits) {
    exchange = Exchange()
    clientEdge = ClientEdge(limits: limits)
    upstreamEdge = UpstreamEdge(limits)
  }

  /// Overwrites the buffers with zeros, and keeps them for another request.
  mutating func renew() {
    exchange.renew()
    clientEdge.renew()
    upstreamEdge.renew()
  }

  // MARK: the body of the request

  /// Prepares the upstream's edge for the request, and sends the whole body if it is kept.
  mutating func begin(isReused: Bool, over applicationProtocol: ApplicationProtocol, output: inout Output) {
    exchange.record.upstreamProtocol = applicationProtocol
    exchange.begin(isReused: isReused, output: &output)
    guard let route = exchange.route, let snapshot = exchange.snapshot else { return }
    let repairs = snapshot.options(of: route).responses == .repair
    upstreamEdge.begin(
      snapshot.responseLimits, repairs: repairs, length: output.upstreamRequest.bodyLength, over: applicationProtocol)
    if case .http2 = applicationProtocol, let lines = exchange.webSocketLines { upstreamEdge.expectSwitch(lines) }
    if let body = exchange.wholeBody {
      upstreamEdge.writeWhole(body, to: &output)
    } else if let body = exchange.sentBody {
      upstreamEdge.writeKept(body, to: &output)
    }
  }

  /// Forwards body bytes of the client. Returns `nil`, or a refusal if the framing is invalid.
  mutating func forwardBody(_ input: Span<UInt8>, position: inout Int, output: inout Output) -> Refusal? {
    do throws(MessageError) {
      while true {
        switch try clientEdge.readBody(input, position: &position) {
        case .needsMore: return nil
        case .data(let range):
          exchange.receivedBody(input.extracting(range))
          upstreamEdge.writeBody(input, range, to: &output)
        case .end:
          if !exchange.isRequestComplete { exchange.requestEnded(clientEdge.takeTrailers()) }
          if upstreamEdge.owesEnd {
            upstreamEdge.writeEnd(exchange.forwardedTrailers, of: exchange.requestTrailers.bytes, to: &output)
          }
          return nil
        }
      }
    } catch {
      exchange.record.fault = error.fault
      return .malformed(error.reason)
    }
  }

  /// Begins to buffer a form. Sends 100 (Continue) to a client that expects it.
  mutating func beginForm(output: inout Output) {
    if !exchange.form.isUnderWay, exchange.head.expectsContinue {
      output.response.begin(100, reason: "Continue")
      clientEdge.writeInterim(output.response, to: &output)
    }
    exchange.form.begin()
  }

  /// Buffers bytes of the form. Returns `nil`, or a refusal if the body is invalid or too long.
  mutating func gatherForm(_ input: Span<UInt8>, position: inout Int) -> Refusal? {
    do throws(MessageError) {
      while true {
        switch try clientEdge.readBody(input, position: &position) {
        case .needsMore: return nil
        case .data(let range):
          exchange.record.bytesUp &+= UInt64(range.count)
          guard exchange.form.keep(input.extracting(range)) else { return .plain(.formTooLarge) }
        case .end:
          exchange.requestEnded(clientEdge.takeTrailers())
          exchange.form.end()
          return nil
        }
      }
    } catch {
      exchange.record.fault = error.fault
      return .malformed(error.reason)
    }
  }

  // MARK: the response

  /// Forwards bytes of the response. Returns `nil`, or a refusal if the response cannot be forwarded.
  /// - Parameter isLast: whether the client's connection ends with this response.
  mutating func forwardResponse(
    _ input: Span<UInt8>, position: inout Int, isLast: Bool, redaction: (any Redaction)?, now: UInt64,
    output: inout Output
  ) -> Refusal? {
    if position < input.count, upstreamEdge.received == .nothing { upstreamEdge.received = .bytes }
    do throws(MessageError) {
      while exchange.passage.phase == .head {
        let size = try upstreamEdge.readHead(
          input, position: &position, into: &exchange.response, text: &output.headText)
        guard let size else { return nil }
        if clientEdge.isMistakable(exchange.response.status) { return .plain(.upstreamMalformed) }
        let outcome = exchange.receiveHead(
          size: size, isLast: isLast, redaction: redaction, now: now, output: &output)
        if let refusal = writeHead(outcome, isLast: isLast, output: &output) { return refusal }
      }
      if exchange.passage.phase == .inspectingBody {
        let rest = input.extracting(position...)
        exchange.inspectBody(
          upstreamEdge.preview(rest, exchange.bodyLength, limit: Exchange.longestSign), output: &output)
      }
      if exchange.passage.phase == .awaitingRenewal {
        guard exchange.authRetry.isRefused else { return nil }
        let outcome = exchange.processHead(isLast: isLast, redaction, now: now, output: &output)
        if let refusal = writeHead(outcome, isLast: isLast, output: &output) { return refusal }
      }
      return try forwardResponseBody(input, position: &position, redaction, output: &output)
    } catch {
      exchange.recordFault(error, in: input.extracting(position...), redaction)
      return .plain(.upstreamMalformed)
    }
  }

  /// Writes the head `output.response` for the client. Returns the refusal of the outcome, if there is one.
  @inline(__always)
  private mutating func writeHead(_ outcome: Exchange.HeadOutcome, isLast: Bool, output: inout Output) -> Refusal? {
    switch outcome {
    case .nothing: return nil
    case .refused(let refusal): return refusal
    case .interim: clientEdge.writeInterim(output.response, to: &output)
    case .final:
      clientEdge.writeHead(to: exchange.head, isEarly: exchange.passage.isEarly, isLast: isLast, output: &output)
      upstreamEdge.beginBody(exchange.bodyLength)
    }
    return nil
  }

  @inline(__always)
  private mutating func forwardResponseBody(
    _ input: Span<UInt8>, position: inout Int, _ redaction: (any Redaction)?, output: inout Output
  ) throws(MessageError) -> Refusal? {
    let stepsBefore = redaction?.steps ?? 0
    while exchange.passage.phase == .body {
      if upstreamEdge.isBodyComplete { return try endResponseBody(input, redaction, output: &output) }
      if let redaction, position < input.count, redaction.steps &- stepsBefore >= SearchBudget.maximumSteps {
        output.actions.insert(.continueLater)
        return nil
      }
      let end = position + min(input.count - position, exchange.passage.treatment.largestPiece)
      switch try upstreamEdge.readBody(input.extracting(first: end), position: &position) {
      case .needsMore: if position == input.count { return nil }
      case .data(let range):
        if exchange.passage.awaitsMessage { exchange.receiveMessage(output: &output) }
        if let refusal = exchange.pass(input, range, redaction, output: &output) { return refusal }
        clientEdge.writeBody(input, to: &output)
        if exchange.passage.abandonsBody { upstreamEdge.abandonBody() }
      case .end: break
      }
    }
    return nil
  }

  private mutating func endResponseBody(
    _ input: Span<UInt8>, _ redaction: (any Redaction)?, output: inout Output
  ) throws(MessageError) -> Refusal? {
    let refusal = exchange.endBody(
      try upstreamEdge.takeTrailers(), takesTrailers: clientEdge.takesTrailers, redaction, output: &output)
    clientEdge.writeBody(input, to: &output)
    if refusal == nil { clientEdge.writeEnd(to: &output) }
    return refusal
  }

  /// Ends a response that is delimited by the end of the connection. Returns `false` if the response is incomplete.
  mutating func endResponseAtClose(_ redaction: (any Redaction)?, output: inout Output) -> Bool {
    guard exchange.passage.phase == .body, upstreamEdge.endBodyAtClose() else { return false }
    let nothing: [UInt8] = []
    do throws(MessageError) {
      guard try endResponseBody(nothing.span, redaction, output: &output) == nil else { return false }
    } catch {
      return false
    }
    upstreamEdge.received = .surplus
    return true
  }

  /// Sends response bytes that were buffered because they could begin a secret.
  mutating func releaseBuffered(_ redaction: (any Redaction)?, output: inout Output) {
    exchange.releaseBuffered(redaction, output: &output)
    let nothing: [UInt8] = []
    clientEdge.writeBody(nothing.span, to: &output)
  }

  // MARK: responses of bearerd itself

  /// Sends an error response.
  mutating func refuse(_ refusal: Refusal, closes: Bool, output: inout Output) {
    output.discardResponse()
    exchange.refuse(refusal, output: &output)
    sendLocal(closes: closes, output: &output)
  }

  /// Ends a gRPC call whose response has begun. Returns `false` if the response cannot end with a status.
  mutating func endCall(_ refusal: Refusal, output: inout Output) -> Bool {
    guard clientEdge.takesTrailers, exchange.endCall(refusal, output: &output) else { return false }
    clientEdge.writeEnd(to: &output)
    return true
  }

  mutating func respondToOptions(closes: Bool, output: inout Output) {
    exchange.respondToOptions(output: &output)
    sendLocal(closes: closes, output: &output)
  }

  private mutating func sendLocal(closes: Bool, output: inout Output) {
    clientEdge.writeLocal(to: exchange.head.method, closes: closes, output: &output)
    output.actions.insert(.record)
  }

  /// Prepares a response whose body the worker brings with `writeMetrics` or `writeDiscovery`.
  mutating func prepareLocal(closes: Bool) {
    exchange.record.status = 200
    exchange.passage.end()
    clientEdge.prepareLocal(closes: closes)
  }

  mutating func writeMetrics(_ body: [UInt8], to output: inout Output) {
    MetricsResponse.write(body, to: &output.response)
    writePrepared(to: &output)
  }

  mutating func writeDiscovery(_ body: [UInt8], for admitted: AdmittedRequest, to output: inout Output) {
    Discovery.write(body, admitted: admitted, to: &output.response)
    writePrepared(to: &output)
  }

  private mutating func writePrepared(to output: inout Output) {
    clientEdge.writeLocal(to: exchange.head.method, closes: clientEdge.closesAfterResponse, output: &output)
  }
}
