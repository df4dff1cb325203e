internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Policy
internal import Redaction
internal import Settings
internal import Generations

extension Redactor: Redaction {
  func decode(_ coding: ContentCoding) -> Bool {
    switch coding {
    case .gzip: decode(Coding.gzip)
    case .deflate: decode(Coding.deflate)
    }
  }
}

extension ClientSession {
  /// Maximum milliseconds to hold back response bytes that could begin a secret.
  static let maximumRedactionDelay: UInt64 = 20

  func beginRedaction() {
    guard let grant = currentGrant else { return }
    let sent = worker.generation.keyring.popSentPatterns(ofGrant: grant)
    guard summary.redacts, let slot else { return }
    slot.redactor.begin(sent)
    slot.redactor.mostDecoded = worker.limits.decodedError
  }

  /// Starts the timer if the redactor holds back bytes that could begin a secret, otherwise stops it.
  func updateRedactionTimer() {
    guard let redactor = slot?.redactor else { return }
    // No timer if later bytes have already arrived and are about to be searched.
    if redactor.isBuffering, !isClosed, !upstream.response.isSearching {
      let timer = upstream.redactionTimer ?? RedactionTimer(self)
      upstream.redactionTimer = timer
      worker.deadlines.schedule(timer, at: worker.loop.now + ClientSession.maximumRedactionDelay)
    } else if let holdTimer = upstream.redactionTimer {
      worker.deadlines.schedule(holdTimer, at: .max)
    }
  }

  func redactionTimerFired() {
    guard let redactor = slot?.redactor, redactor.isBuffering else { return }
    step { machine, output in machine.bufferDeadlinePassed(redaction: redactor, output: &output) }
    settle()
  }

  func endRedaction() {
    slot?.redactor.end()
    if let holdTimer = upstream.redactionTimer { worker.deadlines.cancel(holdTimer) }
  }
}

final class RedactionTimer: DeadlineOwner {
  private weak var session: ClientSession?

  init(_ session: ClientSession) { self.session = session }

  override func deadlinePassed() { session?.redactionTimerFired() }
}
