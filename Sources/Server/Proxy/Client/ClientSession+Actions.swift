internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import Primitives
internal import Generations
internal import System
internal import Transport

extension ClientSession {
  /// Carries out the actions in `output`. Afterwards, call `settle`.
  func perform(_ input: Span<UInt8>, _ output: inout Output) {
    let actions = output.actions
    if actions.isEmpty { return }
    if actions.concernResponseHead {
      if actions.contains(.offerCookie) { offerFreshCookie() }
      if actions.contains(.keepCookies) { keepCookies() }
      if actions.contains(.restartDeadline) { flow.lastDeadline = nil }
      if actions.contains(.inspectResponse) { inspectResponse(status: output.upstreamStatus, output.verdict) }
    }
    if actions.contains(.sendHead) {
      if !sendHead(input, &output) { return }
    } else if actions.contains(.sendBody), let upstream = upstream.connection {
      upstream.send(output.toUpstream.storage.span.extracting(first: output.toUpstream.count))
      upstream.send(input.extracting(output.upstreamBody))
    }
    if actions.contains(.sendToClient) {
      // A client that sees the end of the response may send its next request, even to a different worker.
      if actions.contains(.record) { attempt.returnQuota() }
      stream.write(
        output.toClient.storage.span.extracting(first: output.toClient.count), input.extracting(output.clientBody))
    }
    if actions.contains(.sendMetrics) { sendMetrics() }
    if actions.contains(.sendDiscovery) { sendDiscovery() }
    if actions.contains(.shutdownUpstream) { upstream.connection?.shutdown() }
    if actions.contains(.dedicateUpstream) { upstream.connection?.dedicate() }
    if actions.contains(.releaseUpstream) { endUpstream(reuse: true) }
    if actions.contains(.dropUpstream) { endUpstream(reuse: false) }
    if actions.contains(.resetUpstream) { endUpstream(reuse: false, isCut: true) }
    if actions.contains(.record) { record() }
    guard actions.concernConnections else { return }
    if actions.contains(.openUpstream) { SendSteps(self).begin(isFresh: false) }
    if actions.contains(.openFreshUpstream) { SendSteps(self).begin(isFresh: true) }
    if actions.concernRepetition {
      if actions.contains(.renewCredential) { renewCredential() }
      if actions.contains(.replaceCredential) { replaceCredential() }
      if actions.contains(.prepareRetry) { prepareRetry() }
    }
    if actions.contains(.shutdownClient) { stream.shutdown() }
    if actions.contains(.reset) { close(reset: true) } else if actions.contains(.close) { close() }
  }

  /// Processes the latency, the challenges and the credential's verdict of a response head.
  private func inspectResponse(status: Int, _ verdict: CredentialVerdict?) {
    if timing.headSentAt != 0, summary.hasResponseHead {
      timing.responseHeadTook = Clock.monotonicMicroseconds &- timing.headSentAt
      timing.headSentAt = 0
    }
    if attempt.challenge != nil { recordChallenge(status: status) }
    if attempt.hasBreaker { attempt.recordVerdict(verdict, log: worker.log) }
    if !attempt.helperValues.isEmpty { report(verdict) }
  }

  private func sendMetrics() {
    guard let slot else { return }
    let response = slot.machine.metricsResponse(worker.metricsText(worker.allCounts ?? WorkerCounts(of: worker)))
    stream.write(response.contents.span)
  }

  private func sendDiscovery() {
    guard let slot, let admitted = slot.machine.exchange.admitted else { return }
    let authority = Discovery.authority(of: slot.machine.exchange.head)
    let document = worker.discoveryDocument(for: admitted.caller, at: client.listener, authority: authority)
    let response = slot.machine.discoveryResponse(document, for: admitted)
    stream.write(response.contents.span)
  }

  /// Sends the request head with its credential, and the first bytes of the body. If this fails, passes the refusal to
  /// the state machine of the exchange, and returns `false`.
  private func sendHead(_ input: Span<UInt8>, _ output: inout Output) -> Bool {
    guard let upstream = upstream.connection else { return true }
    let keyring = worker.generation.keyring
    let grant = output.grant?.value(inGeneration: worker.generation.snapshot.generation)
    // A request is never sent without its credential (T40).
    guard (grant == nil) == (output.grant == nil) else {
      step { machine, output in machine.upstreamRefused(.plain(.grantDenied), output: &output) }
      return false
    }
    if let grant, let refusal = acquireBreakerPermit(forGrant: grant) {
      step { machine, output in machine.upstreamRefused(refusal, output: &output) }
      return false
    }
    do throws(AuthorizationError) {
      openCookieJar(forGrant: grant, isAsked: output.isChallenged)
      let body = output.upstreamBody
      let challenge: ChallengeAttempt?
      if output.toUpstream.isEmpty {
        challenge = try upstream.send(
          output.upstreamRequest, grant: grant, cookies: attempt.jarTicket, caller: output.caller,
          isChallenged: output.isChallenged,
          body: input.extracting(body), keyring: keyring)
      } else {
        challenge = try upstream.send(
          output.upstreamRequest, grant: grant, cookies: attempt.jarTicket, caller: output.caller,
          isChallenged: output.isChallenged,
          body: output.toUpstream.storage.span.extracting(first: output.toUpstream.count),
          keyring: keyring)
        upstream.send(input.extracting(body))
      }
      beginRedaction()
      if let grant, keyring.wantsFeedback(grant: grant) {
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
      let (refusal, now) = (refusal(of: error), worker.loop.now)
      step { machine, output in machine.upstreamRefused(refusal, now: now, output: &output) }
      return false
    }
  }
}
