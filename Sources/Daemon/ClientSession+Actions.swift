internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import System
internal import TLS

extension ClientSession {
  /// Carries out what the machine wants done, in the order that `Actions` lists.
  func perform(_ input: Span<UInt8>) {
    let actions = worker.output.actions
    if actions.isEmpty { return }
    if actions.contains(.sendHead) {
      if !sendHead(input) { return }
    } else if actions.contains(.sendBody), let upstream {
      if !worker.output.toUpstream.isEmpty {
        let staged = worker.output.toUpstream
        upstream.send(staged.span)
      }
      upstream.send(input.extracting(worker.output.upstreamBody))
    }
    if actions.contains(.sendToClient) { sendToClient(input) }
    if actions.contains(.shutdownUpstream) { upstream?.shutdown() }
    if actions.contains(.releaseUpstream) { endUpstream(reuse: true) }
    if actions.contains(.dropUpstream) { endUpstream(reuse: false) }
    if actions.contains(.resetUpstream) { endUpstream(reuse: false, isCut: true) }
    if actions.contains(.record) { record() }
    guard actions.concernConnections else { return }
    if actions.contains(.openUpstream) { open(fresh: false) }
    if actions.contains(.openFreshUpstream) { open(fresh: true) }
    if actions.contains(.shutdownClient) { stream.shutdown() }
    if actions.contains(.reset) { close(reset: true) } else if actions.contains(.close) { close() }
  }

  func sendToClient(_ input: Span<UInt8>) {
    let staged = worker.output.toClient
    let body = worker.output.clientBody
    if body.isEmpty, staged.isEmpty {
      if machine.exchange.isScrape { sendMetrics() }
    } else if body.isEmpty {
      stream.write(staged.span)
    } else if staged.isEmpty {
      stream.write(input.extracting(body))
    } else {
      stream.write(staged.span, input.extracting(body))
    }
  }

  private func sendMetrics() {
    var answer: [UInt8] = []
    MetricsAnswer.write(
      MetricsReport.bytes(of: worker), isHead: machine.exchange.head.method == .head,
      closes: machine.exchange.answerClosesClient, to: &answer)
    stream.write(answer.span)
  }

  /// Returns false when the credential could not be written: the machine has been told.
  func sendHead(_ input: Span<UInt8>) -> Bool {
    guard let upstream else { return true }
    if let grant = machine.exchange.grant, let refusal = takePass(forGrant: grant) {
      step { machine, output in machine.upstreamRefused(refusal, output: &output) }
      return false
    }
    do throws(Denied) {
      beginRedaction()
      let body = worker.output.upstreamBody
      let staged = worker.output.toUpstream
      if staged.isEmpty {
        try upstream.send(
          head: worker.output.upstreamHead, grant: machine.exchange.grant, caller: machine.exchange.caller,
          body: input.extracting(body), keyring: worker.generation.keyring)
      } else {
        try upstream.send(
          head: worker.output.upstreamHead, grant: machine.exchange.grant, caller: machine.exchange.caller,
          body: staged.span, keyring: worker.generation.keyring)
        upstream.send(input.extracting(body))
      }
      spendRate()
      headSentAt = Clock.monotonicMicroseconds
      return true
    } catch {
      returnPass()
      failureDetail = error.description
      worker.journal.denied(error, exchange: machine.exchange, generation: generation)
      step { machine, output in machine.upstreamRefused(error.refusal, output: &output) }
      return false
    }
  }
}
