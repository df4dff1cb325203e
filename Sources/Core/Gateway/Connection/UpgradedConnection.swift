// After a 101: bytes both ways, unread, until both sides have ended or one of them broke off.
extension ClientConnection {
  /// The answer's head is on its way; what came behind it is no HTTP any more.
  mutating func beginUpgraded(
    _ input: Span<UInt8>, position: inout Int, redaction: (any Redaction)?, output: inout Output
  ) {
    phase = .upgraded
    // All that it sent has been offered, and none of it is held: an end is heard of behind what came before it.
    if clientHasEnded { output.actions.insert(.shutdownUpstream) }
    carryDown(input, position: &position, redaction: redaction, output: &output)
  }

  mutating func carryUp(_ input: Span<UInt8>, position: inout Int, output: inout Output) {
    defer { position = input.count }
    guard position < input.count, !clientHasEnded else { return }
    exchange.record.bytesUp &+= UInt64(input.count - position)
    output.upstreamBody = position..<input.count
    output.actions.insert(.sendBody)
  }

  mutating func carryDown(
    _ input: Span<UInt8>, position: inout Int, redaction: (any Redaction)?, output: inout Output
  ) {
    if upstreamHasEnded { position = input.count }
    let stepsBefore = redaction?.steps ?? 0
    while position < input.count {
      let piece = position..<(position + min(input.count - position, exchange.passage.treatment.largestPiece))
      position = piece.upperBound
      if let refusal = exchange.pass(input, piece, redaction, output: &output) {
        position = input.count
        return abort(refusal, output: &output)
      }
      if let redaction, position < input.count, redaction.steps &- stepsBefore >= SearchBudget.mostSteps {
        return _ = output.actions.insert(.continueLater)
      }
    }
  }

  /// One direction is over: its receiver is told, and the other direction goes on.
  mutating func endHalf(_ action: Actions, output: inout Output) {
    if clientHasEnded, upstreamHasEnded { endUpgraded(output: &output) } else { output.actions.insert(action) }
  }

  /// Nothing more will come, and nothing was cut off.
  mutating func endUpgraded(output: inout Output) {
    output.actions.formUnion([.dropUpstream, .record])
    close(output: &output)
  }
}
