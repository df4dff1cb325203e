internal import Credentials
internal import EventLoop
internal import Gateway
internal import Redaction

/// Masks a request's credential in its response, and limits how long bytes are held back that could begin a secret.
final class ResponseRedaction: DeadlineOwner {
  let redactor = Redactor()
  /// The run to notify. `nil` unless bytes were held back.
  private weak var run: RequestRun?
  private var hasTimer = false

  /// Maximum milliseconds to hold back response bytes that could begin a secret.
  static let maximumDelay: UInt64 = 20

  /// - Parameter isDue: whether nothing else continues the search, so that bytes that are held back need a timer.
  func update(for run: RequestRun, isDue: Bool) {
    let deadlines = run.worker.deadlines
    if redactor.isBuffering, isDue {
      (hasTimer, self.run) = (true, run)
      deadlines.schedule(self, at: run.worker.loop.now + ResponseRedaction.maximumDelay)
    } else if hasTimer {
      deadlines.schedule(self, at: .max)
    }
  }

  func end(for run: RequestRun) {
    redactor.end()
    guard hasTimer else { return }
    (hasTimer, self.run) = (false, nil)
    run.worker.deadlines.cancel(self)
  }

  override func deadlinePassed() {
    if redactor.isBuffering { run?.redactionDelayPassed() }
  }
}

extension Redactor: Redaction {
  func decode(_ coding: ContentCoding) -> Bool {
    switch coding {
    case .gzip: decode(Coding.gzip)
    case .deflate: decode(Coding.deflate)
    }
  }
}
