internal import HTTP1
package import Policy
internal import Primitives

// The end of a request, and the decision whether its connections are kept.
extension RequestMachine {
  mutating func finish(output: inout Output) {
    output.actions.formUnion(isUpstreamReusable ? relay.exchange.releaseActions : .dropUpstream)
    output.actions.insert(.record)
    // The client may have ended, or draining begun, after the head was sent without `Connection: close`.
    if relay.clientEdge.closesAfterResponse || connectionState.clientHasEnded || connectionState.isDraining {
      endClient(output: &output)
    }
    phase = .ended
  }

  /// Whether another request can use the connection to the upstream (T17, T26).
  private var isUpstreamReusable: Bool {
    relay.exchange.isComplete && relay.upstreamEdge.received != .surplus && relay.exchange.mayServeAnother
  }

  /// Sends a refusal if no response has begun. Otherwise ends a gRPC call with a status, or resets the client's connection.
  mutating func abort(_ refusal: Refusal, output: inout Output) {
    output.discardRequest()
    output.actions.insert(abortAction)
    if relay.exchange.hasResponded {
      relay.exchange.record.isAborted = true
      relay.exchange.record.refusal = refusal
      if relay.endCall(refusal, output: &output) {
        output.actions.insert(.record)
        if relay.clientEdge.closesAfterResponse || connectionState.isDraining { endClient(output: &output) }
      } else {
        output.actions.formUnion([.record, .reset])
      }
      phase = .ended
    } else {
      refuse(refusal, closes: !relay.exchange.isRequestComplete, output: &output)
    }
  }

  /// The action that closes the upstream's connection of an aborted exchange.
  var abortAction: Actions { phase == .upgraded ? .resetUpstream : .dropUpstream }

  mutating func refuse(_ refusal: Refusal, closes: Bool, output: inout Output) {
    relay.refuse(refusal, closes: closes || mustCloseAfterLocalResponse, output: &output)
    endLocal(output: &output)
  }

  mutating func respondToOptions(output: inout Output) {
    relay.respondToOptions(closes: mustCloseAfterLocalResponse || !relay.exchange.isRequestComplete, output: &output)
    endLocal(output: &output)
  }

  /// Prepares a response of bearerd itself whose body the worker brings with `writeMetrics` or `writeDiscovery`.
  mutating func prepareLocal(_ actions: Actions, output: inout Output) {
    relay.prepareLocal(closes: mustCloseAfterLocalResponse || !relay.exchange.isRequestComplete)
    output.actions.formUnion(actions)
    endLocal(output: &output)
  }

  /// Writes the response to a scrape, for the action `sendMetrics`.
  package mutating func writeMetrics(_ body: [UInt8], to output: inout Output) {
    relay.writeMetrics(body, to: &output)
  }

  /// Writes the response to a discovery request, for the action `sendDiscovery`.
  package mutating func writeDiscovery(_ body: [UInt8], for admitted: AdmittedRequest, to output: inout Output) {
    relay.writeDiscovery(body, for: admitted, to: &output)
  }

  /// Whether to close the client's connection after a response that bearerd itself creates.
  private var mustCloseAfterLocalResponse: Bool {
    connectionState.isDraining || connectionState.clientHasEnded || !relay.exchange.head.isKeepAlive
      || relay.exchange.head.version == .http10
  }

  private mutating func endLocal(output: inout Output) {
    if relay.clientEdge.closesAfterResponse { endClient(output: &output) }
    phase = .ended
  }

  /// Ends the client's connection after its last response.
  private func endClient(output: inout Output) {
    output.actions.insert(connectionState.clientHasEnded ? .close : .shutdownClient)
  }

  mutating func close(output: inout Output) {
    output.actions.insert(.close)
    phase = .ended
  }
}
