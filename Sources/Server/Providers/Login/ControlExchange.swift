package import Configuration

/// One command about one credential, for as long as it takes: lines while it goes on, then its end.
///
/// The code that carries it out holds on to this; when the client goes away first, `onCancel` is called, and nothing that is
/// said afterwards reaches anybody.
package final class ControlExchange {
  /// The client has gone, or the daemon ends. Called at most once, and never after `end`.
  var onCancel: (() -> Void)?
  private var say: ((Said) -> Void)?

  package enum Said {
    case progress(String)
    case end(Result<[UInt8], StartError>)
  }

  package init(say: @escaping (Said) -> Void) { self.say = say }

  /// Sends one line to the client that waits. No secret, and nothing that a server has said but what was checked to be shown.
  func tell(_ line: String) { say?(.progress(line)) }

  /// Ends it; what comes behind is not said.
  package func end(_ result: Result<[UInt8], StartError>) {
    let say = say
    self.say = nil
    onCancel = nil
    say?(.end(result))
  }

  package func cancel() {
    let onCancel = onCancel
    self.onCancel = nil
    say = nil
    onCancel?()
  }
}
