internal import HTTP1

// The end of an exchange, and the decision whether its connection is kept.
extension ClientConnection {
  mutating func finish(output: inout Output) {
    output.actions.formUnion(exchange.isUpstreamReusable ? exchange.releaseActions : .dropUpstream)
    output.actions.insert(.record)
    // The client may have ended, or draining begun, after the head was sent without `Connection: close`.
    if exchange.responseClosesClient || clientHasEnded || isDraining {
      end(output: &output)
    } else {
      phase = .awaitingHead
    }
  }

  /// Sends a refusal if no response has begun. Otherwise resets the connection.
  mutating func abort(_ refusal: Refusal, output: inout Output) {
    output.discardRequest()
    output.actions.insert(abortAction)
    if exchange.hasResponded {
      exchange.record.isAborted = true
      exchange.record.refusal = refusal
      output.actions.formUnion([.record, .reset])
      phase = .closed
    } else {
      refuse(refusal, closes: !exchange.isRequestComplete, output: &output)
    }
  }

  /// The action that closes the session of an aborted exchange.
  var abortAction: Actions { phase == .upgraded ? .resetUpstream : .dropUpstream }

  mutating func refuse(_ refusal: Refusal, closes: Bool, output: inout Output) {
    let closes = closes || mustCloseAfterLocalResponse
    exchange.refuse(refusal, closes: closes, output: &output)
    output.actions.insert(.record)
    if closes { end(output: &output) } else { phase = .awaitingHead }
  }

  mutating func respondToScrape(output: inout Output) {
    exchange.passage.end(closes: mustCloseAfterLocalResponse || !exchange.isRequestComplete)
    output.actions.insert(.sendMetrics)
    if exchange.responseClosesClient { end(output: &output) } else { phase = .awaitingHead }
  }

  mutating func respondToDiscovery(output: inout Output) {
    exchange.record.status = 200
    exchange.passage.end(closes: mustCloseAfterLocalResponse || !exchange.isRequestComplete)
    output.actions.formUnion([.sendDiscovery, .record])
    if exchange.responseClosesClient { end(output: &output) } else { phase = .awaitingHead }
  }

  mutating func respondToOptions(output: inout Output) {
    let closes = mustCloseAfterLocalResponse || !exchange.isRequestComplete
    exchange.respondToOptions(closes: closes, output: &output)
    output.actions.insert(.record)
    if closes { end(output: &output) } else { phase = .awaitingHead }
  }

  /// Whether to close the connection after a response that bearerd itself creates.
  private var mustCloseAfterLocalResponse: Bool {
    isDraining || clientHasEnded || !exchange.head.isKeepAlive || exchange.head.version == .http10
  }

  /// Ends the connection after its last response. Further bytes of the client are discarded.
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
