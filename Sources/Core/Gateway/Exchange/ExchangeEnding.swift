internal import HTTP1
package import Policy
package import Primitives

// The end of an exchange, and the decision whether its connection is kept.
extension ClientConnection {
  mutating func finish(output: inout Output) {
    output.actions.formUnion(isUpstreamReusable ? exchange.releaseActions : .dropUpstream)
    output.actions.insert(.record)
    // The client may have ended, or draining begun, after the head was sent without `Connection: close`.
    if client.closesAfterResponse || clientHasEnded || isDraining {
      end(output: &output)
    } else {
      phase = .awaitingHead
    }
  }

  /// Whether another exchange can use the connection to the upstream (T17, T26).
  private var isUpstreamReusable: Bool {
    exchange.isComplete && upstream.received != .surplus && exchange.mayServeAnother
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
    output.toClient.removeAll()
    exchange.refuse(refusal, output: &output)
    output.actions.insert(.record)
    sendLocal(closes: closes || mustCloseAfterLocalResponse, output: &output)
  }

  mutating func respondToOptions(output: inout Output) {
    exchange.respondToOptions(output: &output)
    output.actions.insert(.record)
    sendLocal(closes: mustCloseAfterLocalResponse || !exchange.isRequestComplete, output: &output)
  }

  /// Sends `output.response`, which is a response of bearerd itself.
  private mutating func sendLocal(closes: Bool, output: inout Output) {
    client.writeLocal(output.response, to: exchange.head.method, closes: closes, into: &output.toClient)
    output.actions.insert(.sendToClient)
    if closes { end(output: &output) } else { phase = .awaitingHead }
  }

  /// Prepares a response of bearerd itself whose body the worker brings with `metricsResponse` or `discoveryResponse`.
  mutating func prepareLocal(_ actions: Actions, output: inout Output) {
    exchange.record.status = 200
    exchange.passage.end()
    client.endResponse(closes: mustCloseAfterLocalResponse || !exchange.isRequestComplete)
    output.actions.formUnion(actions)
    if client.closesAfterResponse { end(output: &output) } else { phase = .awaitingHead }
  }

  /// Returns the response to a scrape, for the action `sendMetrics`.
  package func metricsResponse(_ body: [UInt8]) -> ByteBuffer {
    var response = OutgoingResponse()
    MetricsResponse.write(body, to: &response)
    return local(response)
  }

  /// Returns the response to a discovery request, for the action `sendDiscovery`.
  package func discoveryResponse(_ body: [UInt8], for admitted: AdmittedRequest) -> ByteBuffer {
    var response = OutgoingResponse()
    Discovery.write(body, admitted: admitted, to: &response)
    return local(response)
  }

  private func local(_ response: OutgoingResponse) -> ByteBuffer {
    var bytes = ByteBuffer()
    HTTP1ClientEdge.writeLocal(
      response, to: exchange.head.method, closes: client.closesAfterResponse, into: &bytes)
    return bytes
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
