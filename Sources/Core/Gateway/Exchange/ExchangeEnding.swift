internal import HTTP1
internal import Policy

// How an exchange ends, and whether its connection goes on.
extension ClientConnection {
  mutating func finish(output: inout Output) {
    output.actions.formUnion(exchange.leavesUpstreamReusable ? exchange.leavingActions : .dropUpstream)
    output.actions.insert(.record)
    // The client may have ended, or draining begun, when the head had already gone out without saying so.
    if exchange.answerClosesClient || clientHasEnded || isDraining {
      end(output: &output)
    } else {
      phase = .awaitingHead
    }
  }

  /// Answers with a refusal if nothing was answered yet, else breaks off so that the client can tell.
  mutating func abort(_ refusal: Refusal, output: inout Output) {
    output.discardRequest()
    output.actions.insert(breakingOff)
    if exchange.hasAnswered {
      exchange.record.isAborted = true
      exchange.record.refusal = refusal
      output.actions.formUnion([.record, .reset])
      phase = .closed
    } else {
      refuse(refusal, closes: !exchange.isRequestComplete, output: &output)
    }
  }

  /// How a session is left whose exchange did not come to its end: only an upgraded one could be taken for ended.
  var breakingOff: Actions { phase == .upgraded ? .resetUpstream : .dropUpstream }

  mutating func refuse(_ refusal: Refusal, closes: Bool, output: inout Output) {
    let closes = closes || mustCloseAfterOwnAnswer
    exchange.refuse(refusal, closes: closes, output: &output)
    output.actions.insert(.record)
    if closes { end(output: &output) } else { phase = .awaitingHead }
  }

  /// A scrape every few seconds would drown the log: it leaves no line.
  mutating func answerScrape(output: inout Output) {
    exchange.passage.end(closes: mustCloseAfterOwnAnswer || !exchange.isRequestComplete)
    output.actions.insert(.sendMetrics)
    if exchange.answerClosesClient { end(output: &output) } else { phase = .awaitingHead }
  }

  mutating func answerOptions(output: inout Output) {
    let closes = mustCloseAfterOwnAnswer || !exchange.isRequestComplete
    exchange.answerOptions(closes: closes, output: &output)
    output.actions.insert(.record)
    if closes { end(output: &output) } else { phase = .awaitingHead }
  }

  /// An HTTP/1.0 client would have to be told that the connection stays; it is simpler to end it.
  private var mustCloseAfterOwnAnswer: Bool {
    isDraining || clientHasEnded || !exchange.head.isKeepAlive || exchange.head.version == .http10
  }

  /// The last answer is on its way: what the client still sends would turn it into a reset, so it is read and discarded.
  private mutating func end(output: inout Output) {
    if clientHasEnded {
      close(output: &output)
    } else {
      output.actions.insert(.shutdownClient)
      phase = .lingering
    }
  }

  mutating func close(output: inout Output) {
    output.actions.insert(.close)
    phase = .closed
  }
}
