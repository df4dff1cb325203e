internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import Primitives
internal import Setup
internal import System
internal import Transport

extension ClientSession {
  /// Carries out what the machine wants done, in the order that `Actions` lists.
  /// Returns what opening a connection came to, if it was wanted and that is known at once.
  func perform(_ input: Span<UInt8>, _ output: inout Output) -> Opened? {
    let actions = output.actions
    if actions.isEmpty { return nil }
    if actions.concernResponseHead {
      if actions.contains(.offerCookie) { offerFreshCookie() }
      if actions.contains(.keepCookies) { keepCookies() }
      if actions.contains(.restartDeadline) { flow.lastDeadline = nil }
      if actions.contains(.inspectResponse) { inspectResponse(status: output.upstreamStatus, output.verdict) }
    }
    if actions.contains(.sendHead) {
      if !sendHead(input, &output) { return nil }
    } else if actions.contains(.sendBody), let upstream = upstream.session {
      upstream.send(output.toUpstream.storage.span.extracting(first: output.toUpstream.count))
      upstream.send(input.extracting(output.upstreamBody))
    }
    if actions.contains(.sendToClient) {
      // A client that sees the end of the answer may ask once more, and another worker at that.
      if actions.contains(.record) { attempt.returnQuotaEarly() }
      stream.write(
        output.toClient.storage.span.extracting(first: output.toClient.count), input.extracting(output.clientBody))
    }
    if actions.contains(.sendMetrics) { sendMetrics() }
    if actions.contains(.shutdownUpstream) { upstream.session?.shutdown() }
    if actions.contains(.dedicateUpstream) { upstream.session?.dedicate() }
    if actions.contains(.releaseUpstream) { endUpstream(reuse: true) }
    if actions.contains(.dropUpstream) { endUpstream(reuse: false) }
    if actions.contains(.resetUpstream) { endUpstream(reuse: false, isCut: true) }
    if actions.contains(.record) { record() }
    guard actions.concernConnections else { return nil }
    var opened: Opened?
    if actions.contains(.openUpstream) { opened = open(fresh: false) }
    if actions.contains(.openFreshUpstream) { opened = open(fresh: true) }
    if actions.contains(.renewCredential) { renewCredential() }
    if actions.contains(.replaceCredential) { replaceCredential() }
    if actions.contains(.shutdownClient) { stream.shutdown() }
    if actions.contains(.reset) { close(reset: true) } else if actions.contains(.close) { close() }
    return opened
  }

  /// The upstream has answered, and so has judged what went out.
  private func inspectResponse(status: Int, _ verdict: CredentialVerdict?) {
    if timing.headSentAt != 0, summary.hasResponseHead {
      timing.responseHeadTook = Clock.monotonicMicroseconds &- timing.headSentAt
      timing.headSentAt = 0
    }
    if attempt.challenge != nil { recordChallenge(status: status) }
    if attempt.hasBreaker { attempt.answered(verdict, log: worker.log) }
    if !attempt.helperValues.isEmpty { report(verdict) }
  }

  private func sendMetrics() {
    guard let slot else { return }
    var answer = ByteBuffer()
    MetricsAnswer.write(
      worker.metricsText(worker.allCounts ?? WorkerCounts(of: worker)),
      isHead: slot.machine.exchange.head.method == .head,
      closes: slot.machine.exchange.answerClosesClient, to: &answer)
    let contents = answer.contents
    stream.write(contents.span)
  }

  /// Returns false when the credential could not be written: the machine has been told.
  private func sendHead(_ input: Span<UInt8>, _ output: inout Output) -> Bool {
    guard let upstream = upstream.session else { return true }
    let keyring = worker.generation.keyring
    let grant = output.grant?.value(inGeneration: worker.generation.snapshot.generation)
    // A request never goes out without the credential that it was decided to have.
    guard (grant == nil) == (output.grant == nil) else {
      step { machine, output in machine.upstreamRefused(.plain(.grantDenied), output: &output) }
      return false
    }
    if let grant, let refusal = acquireBreakerPermit(forGrant: grant) {
      step { machine, output in machine.upstreamRefused(refusal, output: &output) }
      return false
    }
    do throws(AuthorizationError) {
      openCookieJar(forGrant: grant, isAsked: output.isAsked)
      let body = output.upstreamBody
      let head = output.upstreamHead.storage.span.extracting(first: output.upstreamHead.count)
      let challenge: ChallengeAttempt?
      if output.toUpstream.isEmpty {
        challenge = try upstream.send(
          head: head, grant: grant, cookies: attempt.jarTicket, caller: output.caller, isAsked: output.isAsked,
          body: input.extracting(body), keyring: keyring)
      } else {
        challenge = try upstream.send(
          head: head, grant: grant, cookies: attempt.jarTicket, caller: output.caller, isAsked: output.isAsked,
          body: output.toUpstream.storage.span.extracting(first: output.toUpstream.count),
          keyring: keyring)
        upstream.send(input.extracting(body))
      }
      beginRedaction()
      if let grant, keyring.hasListeners(grant: grant) {
        attempt.helperValues = keyring.helperValues(ofGrant: grant)
      }
      attempt.spendRate(at: worker.loop.now)
      if let grant { recordToken(grant) }
      note(challenge)
      timing.headSentAt = Clock.monotonicMicroseconds
      return true
    } catch {
      attempt.returnBreaker()
      attempt.failureDetail = error.description
      worker.log.denied(
        error, route: summary.route?.value(inGeneration: generation.snapshot.generation), generation: generation)
      let refusal = refusal(of: error)
      step { machine, output in machine.upstreamRefused(refusal, output: &output) }
      return false
    }
  }
}
