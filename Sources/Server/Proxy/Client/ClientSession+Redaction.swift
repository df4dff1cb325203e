internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Policy
internal import Redaction
internal import Setup

extension Redactor: Redaction {
  func decode(_ coding: ContentCoding) -> Bool {
    switch coding {
    case .gzip: decode(Coding.gzip)
    case .deflate: decode(Coding.deflate)
    }
  }
}

extension ClientSession {
  /// Milliseconds for which the end of a piece is held back that could be the beginning of a secret. Who waits for an answer
  /// to it would wait for ever.
  static let longestHold: UInt64 = 20

  /// The request has just been authorised: what went out with it is looked for from now on.
  func beginRedaction() {
    guard let grant = currentGrant else { return }
    let sent = worker.generation.keyring.takeSent(ofGrant: grant)
    guard summary.redacts, let slot else { return }
    slot.redactor.begin(sent)
    slot.redactor.mostDecoded = worker.limits.decodedError
  }

  /// Whenever something came from the upstream.
  func resolveHeld() {
    guard let redactor = slot?.redactor else { return }
    // The following bytes are here already, and are searched in a moment.
    if redactor.isHolding, !isClosed, !upstream.response.isSearching {
      let timer = upstream.holdTimer ?? HoldTimer(self)
      upstream.holdTimer = timer
      worker.deadlines.schedule(timer, at: worker.loop.now + ClientSession.longestHold)
    } else if let holdTimer = upstream.holdTimer {
      worker.deadlines.schedule(holdTimer, at: .max)
    }
  }

  func heldLongEnough() {
    guard let redactor = slot?.redactor, redactor.isHolding else { return }
    step { machine, output in machine.heldLongEnough(redaction: redactor, output: &output) }
    settle()
  }

  func endRedaction() {
    slot?.redactor.end()
    if let holdTimer = upstream.holdTimer { worker.deadlines.cancel(holdTimer) }
  }
}

/// The time after which what is held back goes on.
final class HoldTimer: Timed {
  private weak var session: ClientSession?

  init(_ session: ClientSession) { self.session = session }

  override func deadlinePassed() { session?.heldLongEnough() }
}
