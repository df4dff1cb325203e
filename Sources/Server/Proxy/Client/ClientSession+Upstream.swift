internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Providers
internal import Generations
internal import System
internal import TLS
internal import Transport

extension ClientSession: UpstreamRunDelegate {
  func connection(_ connection: UpstreamConnection, didReceive plaintext: Span<UInt8>) {
    guard connection === upstream.connection else { return }
    if let buffered = upstream.response.bytes {
      upstream.response.bytes = PendingBytes.adding(plaintext, to: buffered)
      upstream.response.bytes = nil
      let bytes = buffered.bytes
      receiveResponse(bytes.span)
    } else {
      receiveResponse(plaintext)
    }
    settle()
  }

  func receiveResponse(_ input: Span<UInt8>) {
    var position = 0
    let buffer = worker.borrowOutput()
    let now = worker.loop.now
    dispatch(&buffer.output) { [redactor = slot?.redactor] machine, output in
      machine.receivedFromUpstream(input, position: &position, redaction: redactor, now: now, output: &output)
    }
    perform(input, &buffer.output)
    let continuesLater = buffer.output.actions.contains(.continueLater)
    worker.returnOutput(buffer)
    if position < input.count, upstream.connection != nil {
      upstream.response.bytes = PendingBytes.adding(input.extracting(position...), to: upstream.response.bytes)
      if continuesLater { searchLater() }
    }
    updateRedactionTimer()
  }

  private func searchLater() {
    guard !upstream.response.isSearching else { return }
    upstream.response.isSearching = true
    worker.loop.onNextTurn { [weak self] in self?.continueSearch() }
  }

  private func continueSearch() {
    guard upstream.response.isSearching else { return }
    upstream.response.isSearching = false
    processBufferedResponse()
  }

  /// Whether a part of the response is buffered.
  var isResponseBuffered: Bool { summary.isAwaitingRenewal || upstream.response.isSearching }

  func connectionEnded(_ connection: UpstreamConnection, isClean: Bool) {
    guard connection === upstream.connection else { return connection.close() }
    if isResponseBuffered { return upstream.response.end = .ended(isClean: isClean) }
    let details = [isClean ? nil : "closed without close_notify", connection.tlsAdvice].compactMap(\.self)
    attempt.failureDetail = details.isEmpty ? nil : details.joined(separator: ": ")
    step { [redactor = slot?.redactor, now = worker.loop.now] machine, output in
      machine.upstreamEnded(isClean: isClean, redaction: redactor, now: now, output: &output)
    }
    settle()
  }

  func connection(_ connection: UpstreamConnection, didFail refusal: RefusalCode, detail: String) {
    guard connection === upstream.connection else { return }
    if isResponseBuffered { return upstream.response.end = .failed(refusal, detail) }
    attempt.failureDetail = detail
    step { [now = worker.loop.now] machine, output in machine.upstreamFailed(refusal, now: now, output: &output) }
    settle()
  }

  func connectionDidDrain(_ connection: UpstreamConnection) { settle() }

  func endUpstream(reuse: Bool, isCut: Bool = false) {
    cancelOpening()
    endRedaction()
    upstream.response.isSearching = false
    guard let connection = upstream.connection else { return }
    upstream.connection = nil
    upstream.response = PendingResponse()
    if reuse { slot?.machine.withExchange { connection.announcedIdle = $0.announcedIdle } }
    if reuse, connection.isDedicated { return keepDedicated(connection) }
    if reuse { connection.release(self) } else { connection.cancel(self, isCut: isCut) }
  }
}

extension AuthorizationError {
  var refusal: RefusalCode {
    switch reason {
    case .unavailable: .credentialUnavailable
    case .originNotGranted, .callerNotGranted, .unknownGrant, .wrongSession: .grantDenied
    case .pinsNotMatched: .pinMismatch
    case .proofExpired: .certificateExpired
    case .sessionFailed: .upstreamClosed
    }
  }
}
