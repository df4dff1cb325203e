internal import EventLoop
internal import Gateway
internal import Policy
internal import Generations
internal import Transport

/// Additional attempts after upstream failures (`retry` of a service).
extension ClientSession {
  func prepareRetry() { attempt.prepareRetry() }

  /// The milliseconds until the next attempt.
  var retryWait: UInt64 {
    let (due, now) = (slot?.machine.exchange.retryDue ?? 0, worker.loop.now)
    return due > now ? due - now : 0
  }

  /// Counts the attempt that begins now. Ends the exchange and returns `true` if the client is gone.
  func endsBeforeRetry() -> Bool {
    if isClientGone {
      step { machine, output in machine.clientClosed(output: &output) }
      return true
    }
    if let service = routeContext?.route.service { generation.tally.services[service].count(.upstreamRetries) }
    return false
  }

  /// Whether the client has closed its connection while bearerd does not read from it, because a request is pending.
  private var isClientGone: Bool {
    guard flow.pending != nil, stream.isUnix || worker.context.diagnostics != nil else { return false }
    return Peer.isGone(stream, diagnostics: worker.context.diagnostics)
  }
}
