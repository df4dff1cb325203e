// After a 101 response: forwards bytes in both directions until both sides have ended or one side fails.
extension RequestMachine {
  mutating func beginUpgraded(
    _ input: Span<UInt8>, position: inout Int, redaction: (any Redaction)?, output: inout Output
  ) {
    phase = .upgraded
    // All bytes of the client have been offered, and none are buffered, so its end can be passed on now.
    if connectionState.clientHasEnded { output.actions.insert(.shutdownUpstream) }
    carryDown(input, position: &position, redaction: redaction, output: &output)
  }

  mutating func carryUp(_ input: Span<UInt8>, position: inout Int, output: inout Output) {
    defer { position = input.count }
    guard position < input.count, !connectionState.clientHasEnded else { return }
    relay.exchange.record.bytesUp &+= UInt64(input.count - position)
    output.results.upstreamBody = position..<input.count
    output.actions.insert(.sendBody)
  }

  mutating func carryDown(
    _ input: Span<UInt8>, position: inout Int, redaction: (any Redaction)?, output: inout Output
  ) {
    if connectionState.upstreamHasEnded { position = input.count }
    let stepsBefore = redaction?.steps ?? 0
    while position < input.count {
      let piece = position..<(position + min(input.count - position, relay.exchange.passage.treatment.largestPiece))
      position = piece.upperBound
      if let refusal = relay.exchange.pass(input, piece, redaction, output: &output) {
        position = input.count
        return abort(refusal, output: &output)
      }
      relay.clientEdge.writeBody(input, to: &output)
      if let redaction, position < input.count, redaction.steps &- stepsBefore >= SearchBudget.maximumSteps {
        return _ = output.actions.insert(.continueLater)
      }
    }
  }

  /// Requests `action` after the end of one direction. Ends the connection if both directions have ended.
  mutating func endHalf(_ action: Actions, output: inout Output) {
    if connectionState.clientHasEnded, connectionState.upstreamHasEnded {
      endUpgraded(output: &output)
    } else {
      output.actions.insert(action)
    }
  }

  mutating func endUpgraded(output: inout Output) {
    output.actions.formUnion([.dropUpstream, .record])
    close(output: &output)
  }
}
